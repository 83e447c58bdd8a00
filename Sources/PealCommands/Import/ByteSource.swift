internal import Foundation
internal import PealCore

/// Reads a file or standard input byte by byte, with a small buffer.
struct ByteSource {
    private let handle: FileHandle
    private let path: String
    private var piece: [UInt8] = []
    private var position = 0
    private static let pieceBytes = 64 * 1024

    /// - Parameter path: `-` for standard input.
    /// - Throws: `usage` when the file cannot be read.
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

    /// The next byte without consuming it; nil at the end.
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

    /// Puts back bytes that `next` returned.
    mutating func unread(_ bytes: some Collection<UInt8>) {
        piece = Array(bytes) + piece[position...]
        position = 0
    }

    /// Skips a byte order mark.
    mutating func skipByteOrderMark() throws(CommandFailure) {
        guard try peek() == 0xEF, piece.count >= 3, position == 0, piece.starts(with: [0xEF, 0xBB, 0xBF]) else {
            return
        }
        position = 3
    }
}

/// Reads a file line by line, and skips empty lines.
struct LineReader {
    private var source: ByteSource
    private var line = 0

    /// A line; its bytes are nil when it is longer than `Limits.importRecordBytesMax`.
    struct Line: Equatable {
        let number: Int
        let bytes: [UInt8]?
    }

    init(_ source: ByteSource) { self.source = source }

    /// nil at the end.
    mutating func next() throws(CommandFailure) -> Line? {
        if line == 0 { try source.skipByteOrderMark() }
        var bytes: [UInt8] = []
        var isTooLong = false
        while let byte = try source.next() {
            guard byte == 0x0A else {
                isTooLong = isTooLong || bytes.count == Limits.importRecordBytesMax
                if !isTooLong { bytes.append(byte) }
                continue
            }
            line += 1
            if isTooLong { return Line(number: line, bytes: nil) }
            if !Self.isBlank(bytes) { return Line(number: line, bytes: bytes) }
            bytes = []
        }
        guard isTooLong || !Self.isBlank(bytes) else { return nil }
        line += 1
        return Line(number: line, bytes: isTooLong ? nil : bytes)
    }

    private static func isBlank(_ bytes: [UInt8]) -> Bool { bytes.allSatisfy { [0x20, 0x09, 0x0D].contains($0) } }
}
