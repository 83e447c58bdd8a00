internal import Foundation

/// A file that is written piece by piece.
struct OutputFile {
    private let handle: FileHandle
    let path: String

    /// - Parameter isContinued: adds to what is there instead of replacing it.
    /// - Throws: `usage` when it cannot be written.
    init(_ path: String, isContinued: Bool = false) throws(CommandFailure) {
        self.path = path
        let files = FileManager.default
        if !isContinued || !files.fileExists(atPath: path) { _ = files.createFile(atPath: path, contents: nil) }
        guard let handle = FileHandle(forWritingAtPath: path) else { throw .usage("cannot write \(path)") }
        if isContinued { _ = try? handle.seekToEnd() }
        self.handle = handle
    }

    /// - Throws: `failed` when the disk is full, for one.
    func write(_ text: String) throws(CommandFailure) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            throw .failed("cannot write \(path): \(error)")
        }
    }

    /// - Throws: `failed` when what was written cannot be kept under that name.
    func finish(as name: String) throws(CommandFailure) {
        do {
            try handle.close()
            try? FileManager.default.removeItem(atPath: name)
            try FileManager.default.moveItem(atPath: path, toPath: name)
        } catch {
            throw .failed("cannot write \(name): \(error)")
        }
    }
}
