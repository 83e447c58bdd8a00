internal import PealStore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Keeps a second process off a database: an exclusive advisory lock (`flock`) on a file beside it, which the system
/// lets go when the process ends, however it ends.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// - Throws: `StoreStartFailure` when another process holds the lock or the file cannot be made.
    init(besideDatabase path: String) throws {
        let file = Self.resolved(path) + ".lock"
        descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreStartFailure("the database \(path) cannot be locked: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw StoreStartFailure("the database \(path) is in use by another process", isInUse: true)
        }
    }

    /// The database's own path: through a link it is the same database and must be the same lock.
    private static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// Lets another process in.
    func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
}
