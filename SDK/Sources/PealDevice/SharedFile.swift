package import Foundation

#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A value that app and notification service extension share. Every change is one transaction: it is either durable as
/// a whole or did not happen, and no two run at once. Conformers: `SharedFile` on phones, `SharedMemory` in
/// simulations, and in tests one that dies on demand.
package protocol SharedState<Value>: Sendable {
    associatedtype Value: Sendable

    /// Changes the value. Throws if the state cannot be read or written; then nothing changed.
    func update<Result>(_ change: (inout Value) throws -> Result) throws -> Result
    /// The value as of now.
    func read() throws -> Value
    /// Deletes what was set aside because it could not be decoded.
    func discardUndecodable()
}

extension SharedState {
    package func discardUndecodable() {}
}

/// Why shared state is not available.
package enum SharedFileError: Error, Sendable, Hashable {
    /// A system call failed. Before the first unlock after a restart, files are not readable.
    case system(call: String, code: Int32)
}

/// Shared state in a JSON file. A change writes a second file, makes it durable and renames it, under an exclusive lock
/// on a third; a process that dies anywhere in between leaves the old or the new value, and its lock ends with it.
///
/// A file that cannot be decoded, such as one of a later version, counts as none, because the device would otherwise
/// stay silent until the app is installed again. The next change renames it instead of overwriting it.
package struct SharedFile<Value: Codable & Sendable & Equatable>: SharedState {
    /// The steps of a change, for tests that end the process between two of them.
    package enum Step: CaseIterable, Sendable {
        case locked, written, synced, renamed, folderSynced
    }

    private let url: URL
    private let initial: @Sendable () -> Value
    private let after: @Sendable (Step) throws -> Void
    private let decoded = DecodedFile<Value>()

    /// - Parameters:
    ///   - url: the file; its folder is created.
    ///   - initial: the value before the first change.
    ///   - after: called after each step.
    package init(
        url: URL, initial: @escaping @Sendable () -> Value,
        after: @escaping @Sendable (Step) throws -> Void = { _ in }
    ) {
        (self.url, self.initial, self.after) = (url, initial, after)
    }

    /// Reads without the lock: a rename is atomic, so a reader sees the old or the new file.
    package func read() throws -> Value { try current() ?? initial() }

    package func update<Result>(_ change: (inout Value) throws -> Result) throws -> Result {
        // Each change opens the lock file for itself: locks belong to the open file, so threads exclude each other too.
        let lock = try lockFile()
        defer { lock.close() }
        while flock(lock.number, LOCK_EX) != 0 {
            guard errno == EINTR else { throw SharedFileError.system(call: "flock", code: errno) }
        }
        try after(.locked)
        let stored = try current()
        var value = stored ?? initial()
        let result = try change(&value)
        if value != stored {
            if stored == nil { setAsideUndecodable() }
            try replace(with: value)
        }
        return result
    }

    package func discardUndecodable() { try? FileManager.default.removeItem(atPath: undecodablePath) }

    private var undecodablePath: String { url.path + ".undecodable" }

    /// Keeps the current file, if there is one, next to the new one. Only the last such file is kept.
    private func setAsideUndecodable() {
        guard rename(url.path, undecodablePath) == 0 else { return }
        SystemLog.error("\(url.lastPathComponent) could not be decoded; it was renamed, and a new one begins.")
    }

    private func lockFile() throws -> Descriptor {
        let path = url.path + ".lock"
        do {
            return try Descriptor(path: path, flags: O_CREAT | O_RDWR)
        } catch SharedFileError.system("open", ENOENT) {
            try makeFolder()
            return try Descriptor(path: path, flags: O_CREAT | O_RDWR)
        }
    }

    /// Files in the new folder are readable in the background while the phone is locked. They are not in backups: on
    /// another phone, a restored copy would be the same device.
    private func makeFolder() throws {
        let folder = url.deletingLastPathComponent()
        #if os(iOS)
            let attributes: [FileAttributeKey: Any]? = [
                .protectionKey: FileProtectionType.completeUntilFirstUserAuthentication
            ]
        #else
            let attributes: [FileAttributeKey: Any]? = nil
        #endif
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: attributes)
        #if canImport(Darwin)
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var excluded = folder
            try? excluded.setResourceValues(values)
        #endif
    }

    /// nil if there is no file, or if it cannot be decoded.
    private func current() throws -> Value? {
        let bytes: [UInt8]
        do {
            let file = try Descriptor(path: url.path, flags: O_RDONLY)
            defer { file.close() }
            bytes = try file.readAll()
        } catch SharedFileError.system("open", ENOENT) {
            return nil
        }
        if let value = decoded.value(of: bytes) { return value }
        guard let value = try? JSONDecoder().decode(Value.self, from: Data(bytes)) else { return nil }
        decoded.keep(value, of: bytes)
        return value
    }

    private func replace(with value: Value) throws {
        let temporary = url.path + ".new"
        let file = try Descriptor(path: temporary, flags: O_CREAT | O_TRUNC | O_WRONLY)
        defer { file.close() }
        let bytes = [UInt8](try JSONEncoder().encode(value))
        try file.writeAll(bytes)
        try after(.written)
        guard fsync(file.number) == 0 else { throw SharedFileError.system(call: "fsync", code: errno) }
        #if os(iOS)
            // Readable in the background while the phone is locked.
            try FileManager.default.setAttributes(
                [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: temporary)
        #endif
        try after(.synced)
        guard rename(temporary, url.path) == 0 else { throw SharedFileError.system(call: "rename", code: errno) }
        decoded.keep(value, of: bytes)
        try after(.renamed)
        let folder = try Descriptor(path: url.deletingLastPathComponent().path, flags: O_RDONLY)
        defer { folder.close() }
        guard fsync(folder.number) == 0 else { throw SharedFileError.system(call: "fsync", code: errno) }
        try after(.folderSynced)
    }
}

/// The value that was last decoded, with its bytes. To read and compare the bytes costs a small part of decoding them,
/// and it works whichever process wrote the file.
///
/// `@unchecked Sendable`: `last` is accessed only under `lock`. `Mutex` needs iOS 18.
private final class DecodedFile<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var last: (bytes: [UInt8], value: Value)?

    /// nil if these bytes were not decoded last.
    func value(of bytes: [UInt8]) -> Value? {
        lock.withLock { last.flatMap { $0.bytes == bytes ? $0.value : nil } }
    }

    func keep(_ value: Value, of bytes: [UInt8]) { lock.withLock { last = (bytes, value) } }
}

/// An open file.
private struct Descriptor {
    let number: Int32

    init(path: String, flags: Int32) throws(SharedFileError) {
        number = open(path, flags | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw .system(call: "open", code: errno) }
    }

    func close() {
        #if canImport(Darwin)
            _ = Darwin.close(number)
        #elseif canImport(Glibc)
            _ = Glibc.close(number)
        #elseif canImport(Musl)
            _ = Musl.close(number)
        #endif
    }

    func readAll() throws(SharedFileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 8192)
        while true {
            let count = read(number, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += buffer[..<count]
            } else if errno != EINTR {
                throw .system(call: "read", code: errno)
            }
        }
    }

    func writeAll(_ bytes: [UInt8]) throws(SharedFileError) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
            if count > 0 {
                done += count
            } else if count < 0, errno != EINTR {
                throw .system(call: "write", code: errno)
            }
        }
    }
}

/// Shared state in memory, for a simulated device whose state ends with its process.
///
/// `@unchecked Sendable`: `value` is accessed only under `lock`. `Mutex` needs iOS 18.
package final class SharedMemory<Value: Sendable>: SharedState, @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func read() throws -> Value { lock.withLock { value } }

    package func update<Result>(_ change: (inout Value) throws -> Result) throws -> Result {
        try lock.withLock {
            var changed = value
            let result = try change(&changed)
            value = changed
            return result
        }
    }
}
