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

/// The key outside the database that protects every secret inside it. Two keys are derived from it: one seals secrets
/// that must be read again, the other hashes secrets that are only compared.
package struct MasterKey: Sendable {
    package static let byteCount = 32

    private let sealing: SymmetricKey
    private let hashing: SymmetricKey

    /// Takes 32 bytes; nil for any other length.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        let master = SymmetricKey(data: bytes)
        sealing = Self.subkey(of: master, for: "peal sealing 1")
        hashing = Self.subkey(of: master, for: "peal hashing 1")
    }

    /// Takes 32 bytes in base64, ignoring white space; nil for anything else.
    package init?(base64 text: String) {
        guard let bytes = Base64URL.decode(text.filter { !$0.isWhitespace }) else { return nil }
        self.init(bytes: bytes)
    }

    /// HKDF-SHA256 (RFC 5869): one key per purpose, so that the use of one reveals nothing about another.
    private static func subkey(of master: SymmetricKey, for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: master, info: Array(purpose.utf8), outputByteCount: byteCount)
    }

    /// Seals `secret` with AES-256-GCM under a random nonce. It can be opened only with the same `place`, so that a
    /// sealed secret cannot be moved to another row.
    func seal(_ secret: [UInt8], place: String) throws -> [UInt8] {
        let box = try AES.GCM.seal(secret, using: sealing, authenticating: Array(place.utf8))
        guard let combined = box.combined else { throw PealError(.internal, "a secret cannot be sealed") }
        return Array(combined)
    }

    /// - Throws: `internal` when it was sealed with another key or place, or was modified.
    func unseal(_ sealed: [UInt8], place: String) throws -> [UInt8] {
        do {
            let box = try AES.GCM.SealedBox(combined: sealed)
            return Array(try AES.GCM.open(box, using: sealing, authenticating: Array(place.utf8)))
        } catch {
            throw PealError(.internal, "a stored secret cannot be opened: it was sealed under another master key")
        }
    }
}

extension MasterKey: KeyHasher {
    package func hash(_ secret: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(secret.utf8), using: hashing))
    }
}

extension MasterKey {
    /// Checks that the database was created with this key, and marks a new database with it.
    /// - Throws: `StoreStartFailure` when it was created with another key.
    func check(_ connection: any SQLConnection) throws {
        switch try matches(connection) {
        case true?: return
        case false?: throw StoreStartFailure("the master key is not the one that this database was made with")
        case nil:
            try connection.post("INSERT INTO setting (name, value) VALUES (\(Self.markName), \(mark))")
        }
    }

    /// Whether the database was created with this key; nil when it is not marked yet.
    func matches(_ connection: any SQLConnection) throws -> Bool? {
        try connection.value("SELECT value FROM setting WHERE name = \(Self.markName)", [UInt8].self)
            .map { $0 == mark }
    }

    static let markName = "master_key_check"
    private var mark: [UInt8] { hash("peal master key check") }
}

extension MasterKey {
    /// The default location of the key of a database at `path`.
    package static func file(besideDatabase path: String) -> String { path + ".key" }

    /// Reads the key beside the database at `path`, or creates it (mode 0600) when neither key nor database exists.
    /// - Throws: `StoreStartFailure` when the file cannot be read or written or does not contain a key, or when the
    ///   database exists but its key does not.
    package static func loadOrCreate(besideDatabase path: String) throws -> MasterKey {
        let file = file(besideDatabase: path)
        if FileManager.default.fileExists(atPath: file) { return try load(file) }
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        // An empty file, such as `mktemp` creates, is not a database yet.
        if let attributes, (attributes[.size] as? Int ?? 1) > 0 {
            throw StoreStartFailure("the master key \(file) is missing beside its database: restore it or name another")
        }
        return try create(file)
    }

    /// Reads a key file.
    /// - Throws: `StoreStartFailure` when it cannot be read, others can read it too, or it does not contain 32 bytes in
    ///   base64.
    package static func load(_ file: String) throws -> MasterKey {
        let mode = (try? FileManager.default.attributesOfItem(atPath: file))?[.posixPermissions] as? Int ?? 0
        guard mode & 0o077 == 0 else {
            let shown = String(mode & 0o777, radix: 8)
            throw StoreStartFailure("the master key \(file) is open to others (mode \(shown)): run chmod 600 \(file)")
        }
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
