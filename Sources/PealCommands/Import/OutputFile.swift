internal import Foundation
internal import PealServer

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The file system's entry for the file at a path, with symbolic links followed.
struct FileStatus {
    let kind: Kind
    let bytes: Int
    /// The device and the inode, which all names of a file share.
    private let identity: [Int]

    enum Kind { case file, folder, other }

    /// nil when there is no such file, or it cannot be looked up.
    init?(_ path: String) {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        guard let found = try? FileManager.default.attributesOfItem(atPath: String(cString: resolved)) else {
            return nil
        }
        kind =
            switch found[.type] as? FileAttributeType {
            case .typeRegular: .file
            case .typeDirectory: .folder
            default: .other
            }
        bytes = found[.size] as? Int ?? 0
        identity = [FileAttributeKey.systemNumber, .systemFileNumber].map { found[$0] as? Int ?? 0 }
    }

    /// nil when nothing is open there.
    init?(descriptor: Int32) { self.init("/dev/fd/\(descriptor)") }

    /// The file behind standard input.
    static var standardInput: FileStatus? { FileStatus(descriptor: STDIN_FILENO) }

    /// Whether both are one regular file. Others, such as `/dev/null`, have no content that could be lost.
    func isSameFile(as other: FileStatus) -> Bool {
        kind == .file && other.kind == .file && identity == other.identity
    }

    /// Whether two paths lead to one regular file, or would when it is created.
    static func isSameFile(_ one: String, _ other: String) -> Bool {
        switch (FileStatus(one), FileStatus(other)) {
        case (let first?, let second?): return first.isSameFile(as: second)
        case (nil, nil): break
        default: return false
        }
        let (first, second) = (URL(fileURLWithPath: one), URL(fileURLWithPath: other))
        guard first.lastPathComponent == second.lastPathComponent,
            let folder = FileStatus(first.deletingLastPathComponent().path),
            let otherFolder = FileStatus(second.deletingLastPathComponent().path)
        else { return false }
        return folder.identity == otherFolder.identity
    }
}

extension CommandFailure {
    /// The failure of the last system call, with the system's reason.
    fileprivate static func unwritable(_ path: String) -> CommandFailure {
        .usage("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}

/// A file that is written in pieces.
struct OutputFile {
    private let handle: FileHandle
    let path: String

    /// Continues a file, which is created if necessary. Its content stays until `empty`.
    /// - Throws: `usage` when it cannot be written.
    init(_ path: String) throws(CommandFailure) {
        // Other users must not read tokens and user ids.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unwritable(path) }
        self.init(path, descriptor: descriptor)
    }

    fileprivate init(_ path: String, descriptor: Int32) {
        self.path = path
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// - Throws: `failed` when it cannot be written, for example because the disk is full.
    func write(_ text: String) throws(CommandFailure) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            throw .failed("cannot write \(path): \(systemReason(of: error))")
        }
    }

    /// Removes the content. Devices such as `/dev/null` have none.
    /// - Throws: `failed` when it cannot be removed.
    func empty() throws(CommandFailure) {
        guard let status = FileStatus(descriptor: handle.fileDescriptor), status.kind == .file, status.bytes > 0 else {
            return
        }
        do {
            try handle.truncate(atOffset: 0)
        } catch {
            throw .failed("cannot write \(path): \(systemReason(of: error))")
        }
    }

    /// Flushes the content to the disk, and closes the file.
    fileprivate func save() throws(CommandFailure) {
        do {
            try handle.synchronize()
            try handle.close()
        } catch {
            throw .failed("cannot write \(path): \(systemReason(of: error))")
        }
    }
}

/// A file that replaces another when it is complete. Until then, and whenever the process dies, the other is untouched.
struct ReplacementFile {
    /// The file has a new name in the folder of the target, so that no existing file is overwritten and the rename is
    /// atomic.
    private let file: OutputFile
    private let target: String

    /// - Parameter path: the target. A symbolic link is followed; there need not be a file.
    /// - Throws: `usage` when there is something other than a regular file, or the file cannot be written.
    init(_ path: String) throws(CommandFailure) {
        let target = try Self.resolved(path)
        // mkstemp(3) creates a file that did not exist, with mode 0600: others must not read tokens and user ids.
        var name = Array("\(target).partial-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw .unwritable(path) }
        let bytes = name.dropLast().map { UInt8(truncatingIfNeeded: $0) }
        file = OutputFile(String(decoding: bytes, as: UTF8.self), descriptor: descriptor)
        self.target = target
    }

    /// The path without links, because a rename would replace the link.
    private static func resolved(_ path: String) throws(CommandFailure) -> String {
        guard let status = FileStatus(path) else {
            let isLink = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil
            guard !isLink else { throw .usage("\(path) is a link to a file that does not exist") }
            guard !path.isEmpty else { throw .usage("the name of the file to write is empty") }
            return path
        }
        guard status.kind != .folder else { throw .usage("\(path) is a folder") }
        guard status.kind == .file else { throw .usage("\(path) is not a regular file") }
        // A rename replaces even a file that is protected against writing.
        guard access(path, W_OK) == 0, let real = realpath(path, nil) else { throw .unwritable(path) }
        defer { free(real) }
        return String(cString: real)
    }

    /// - Throws: `failed` when it cannot be written, for example because the disk is full.
    func write(_ text: String) throws(CommandFailure) { try file.write(text) }

    /// Replaces the target.
    /// - Throws: `failed` when that is not possible; the target is unchanged.
    func finish() throws(CommandFailure) {
        // Without this the new name could survive a crash of the machine, and the content not.
        try file.save()
        guard rename(file.path, target) == 0 else {
            throw .failed("cannot write \(target): \(String(cString: strerror(errno)))")
        }
    }

    /// Deletes the incomplete file; the target stays as it is.
    func discard() { unlink(file.path) }

    /// Replaces a file with a text.
    /// - Throws: when it cannot be written; the old content remains.
    static func write(_ text: String, to path: String) throws(CommandFailure) {
        let file = try ReplacementFile(path)
        do throws(CommandFailure) {
            try file.write(text)
            try file.finish()
        } catch {
            file.discard()
            throw error
        }
    }
}
