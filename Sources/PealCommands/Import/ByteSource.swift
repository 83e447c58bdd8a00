internal import Foundation

/// The bytes of a file or of standard input, one after the other, with a small piece of it in memory.
struct ByteSource {
    private let handle: FileHandle
    private let path: String
    private var piece: [UInt8] = []
    private var position = 0
    private static let pieceBytes = 64 * 1024

    /// - Parameter path: `-` = standard input.
    /// - Throws: `usage` when there is no such file.
    init(_ path: String) throws(CommandFailure) {
        self.path = path
        if path == "-" {
            handle = .standardInput
        } else if let file = FileHandle(forReadingAtPath: path) {
            handle = file
        } else {
            throw .usage("cannot read \(path)")
        }
    }

    /// The next byte without taking it; nil at the end.
    mutating func peek() throws(CommandFailure) -> UInt8? {
        if position == piece.count {
            do {
                piece = try handle.read(upToCount: Self.pieceBytes).map { Array($0) } ?? []
            } catch {
                throw .failed("cannot read \(path): \(error)")
            }
            position = 0
        }
        return position < piece.count ? piece[position] : nil
    }

    mutating func next() throws(CommandFailure) -> UInt8? {
        let byte = try peek()
        if byte != nil { position += 1 }
        return byte
    }

    /// Takes bytes back that `next` gave, so that they come again.
    mutating func unread(_ bytes: some Collection<UInt8>) {
        piece = Array(bytes) + piece[position...]
        position = 0
    }

    /// Passes over the mark that some programs begin UTF-8 with.
    mutating func skipByteOrderMark() throws(CommandFailure) {
        guard try peek() == 0xEF, piece.count >= 3, position == 0, piece.starts(with: [0xEF, 0xBB, 0xBF]) else {
            return
        }
        position = 3
    }
}
