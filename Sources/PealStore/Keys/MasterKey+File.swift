internal import Crypto
internal import FoundationEssentials
internal import PealCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

extension MasterKey {
    /// Where the key of a database at `path` lies when nobody gave one.
    package static func file(besideDatabase path: String) -> String { path + ".key" }

    /// Reads the key beside the database at `path`, or makes it (mode 0600) when there is neither key nor database.
    /// - Throws: `StoreStartFailure` when the file cannot be read or written or holds no key, or when a database
    ///   is there whose key is not.
    package static func loadOrCreate(besideDatabase path: String) throws -> MasterKey {
        let file = file(besideDatabase: path)
        if FileManager.default.fileExists(atPath: file) { return try load(file) }
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        // A file of no bytes, as `mktemp` makes, is no database yet.
        if let attributes, (attributes[.size] as? Int ?? 1) > 0 {
            throw StoreStartFailure("the master key \(file) is missing beside its database: restore it or name another")
        }
        return try create(file)
    }

    /// Reads a key file.
    /// - Throws: `StoreStartFailure` when it cannot be read or does not hold 32 bytes in base64.
    package static func load(_ file: String) throws -> MasterKey {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw StoreStartFailure("the master key \(file) cannot be read")
        }
        guard let key = MasterKey(base64: String(decoding: data, as: UTF8.self)) else {
            throw StoreStartFailure("the master key \(file) does not hold 32 bytes in base64")
        }
        return key
    }

    private static func create(_ file: String) throws -> MasterKey {
        let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        guard let key = MasterKey(bytes: bytes) else { throw StoreStartFailure("no master key can be made") }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else {
            throw StoreStartFailure("the master key \(file) cannot be made: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        let text = Array((Data(bytes).base64EncodedString() + "\n").utf8)
        guard write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0 else {
            throw StoreStartFailure("the master key \(file) cannot be written: \(String(cString: strerror(errno)))")
        }
        return key
    }
}
