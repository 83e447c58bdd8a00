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
    /// While the master key is being replaced, this key can also open what was sealed under the other one.
    private var alsoOpening: [SymmetricKey] = []
    /// Replacing the master key does not change the hashing key: the secrets behind the stored hashes are not known.
    private var hashing: SymmetricKey
    /// Proves that a database belongs to the key.
    private let marking: SymmetricKey

    /// Takes 32 bytes; nil for any other length.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        let master = SymmetricKey(data: bytes)
        sealing = Self.subkey(of: master, for: "peal sealing 1")
        hashing = Self.subkey(of: master, for: "peal hashing 1")
        marking = hashing
    }

    /// Takes 32 bytes in base64, ignoring white space; nil for anything else.
    package init?(base64 text: String) {
        guard let bytes = Base64URL.decode(text.filter { !$0.isWhitespace }) else { return nil }
        self.init(bytes: bytes)
    }

    /// HKDF-SHA256 (RFC 5869): one key for each purpose, so that using one reveals nothing about another.
    private static func subkey(of master: SymmetricKey, for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: master, info: Array(purpose.utf8), outputByteCount: byteCount)
    }

    /// Seals `secret` with AES-256-GCM under a random nonce. It can be opened only with the same `label`, so that a
    /// sealed secret cannot be copied to another row.
    func seal(_ secret: [UInt8], label: String) throws -> [UInt8] {
        let box = try AES.GCM.seal(secret, using: sealing, authenticating: Array(label.utf8))
        guard let combined = box.combined else { throw PealError(.internal, "a secret cannot be sealed") }
        return Array(combined)
    }

    /// - Throws: `internal` when it was sealed with another key or label, or was modified.
    func unseal(_ sealed: [UInt8], label: String) throws -> [UInt8] {
        for key in [sealing] + alsoOpening {
            if let secret = Self.opened(sealed, label: label, with: key) { return secret }
        }
        throw PealError(.internal, "a stored secret cannot be opened: it was sealed under another master key")
    }

    /// Whether the secret is sealed under the key that new secrets are sealed under.
    func isCurrent(_ sealed: [UInt8], label: String) -> Bool {
        Self.opened(sealed, label: label, with: sealing) != nil
    }

    private static func opened(_ sealed: [UInt8], label: String, with key: SymmetricKey) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
        return try? Array(AES.GCM.open(box, using: key, authenticating: Array(label.utf8)))
    }
}

extension MasterKey: KeyHasher {
    package func hash(_ secret: String) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(secret.utf8), using: hashing))
    }
}

extension MasterKey {
    /// Checks that the database was created with this key, or that this key replaces or has replaced the database's
    /// key. Marks a new database with this key.
    /// - Returns: the key, completed with what the database stores about it.
    /// - Throws: `StoreStartFailure` when the database belongs to another key.
    func unlock(_ connection: any SQLConnection) throws -> MasterKey {
        let present = try Self.setting(.mark, connection)
        guard let present else {
            try Self.set(.mark, mark, connection)
            return self
        }
        var key = self
        let next = try Self.setting(.nextMark, connection)
        switch mark {
        case present:
            if next != nil { key = try self.bridged(.toNext, connection, isFormer: true) }
        case next: key = try self.bridged(.toFormer, connection, isFormer: false)
        default: throw Self.foreign
        }
        if let sealed = try Self.setting(.hashing, connection) {
            key.hashing = SymmetricKey(data: try key.unseal(sealed, label: Name.hashing.rawValue))
        }
        return key
    }

    static let foreign = StoreStartFailure("the master key is not the one with which this database was created")

    /// Whether the database was created with this key; nil when it is not marked yet.
    func matches(_ connection: any SQLConnection) throws -> Bool? {
        guard try Self.setting(.mark, connection) != nil else { return nil }
        return (try? unlock(connection)) != nil
    }

    /// The database's settings that concern its key.
    enum Name: String {
        /// The mark of the key.
        case mark = "master_key_check"
        /// The mark of the key that replaces it.
        case nextMark = "master_key_next"
        /// The next sealing key, sealed under the current one, and vice versa.
        case toNext = "master_key_bridge_next"
        case toFormer = "master_key_bridge_former"
        /// The servers that ran when the replacement began, one per line.
        case formerServers = "master_key_former_servers"
        /// The hashing key of the first master key, sealed.
        case hashing = "hashing_key"
    }

    static let markName = Name.mark.rawValue

    private var mark: [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array("peal master key check".utf8), using: marking))
    }

    private static func setting(_ name: Name, _ connection: any SQLConnection) throws -> [UInt8]? {
        try connection.value("SELECT value FROM setting WHERE name = \(name.rawValue)", [UInt8].self)
    }

    private static func set(_ name: Name, _ value: [UInt8]?, _ connection: any SQLConnection) throws {
        guard let value else { return try connection.post("DELETE FROM setting WHERE name = \(name.rawValue)") }
        try connection.post(
            """
            INSERT INTO setting (name, value) VALUES (\(name.rawValue), \(value))
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """)
    }

    /// This key, together with the other key of a replacement in progress. New secrets are sealed under the next key.
    private func bridged(_ name: Name, _ connection: any SQLConnection, isFormer: Bool) throws -> MasterKey {
        guard let sealed = try Self.setting(name, connection) else { throw PealError.damaged("a master key") }
        let other = SymmetricKey(data: try unseal(sealed, label: name.rawValue))
        return MasterKey(
            sealing: isFormer ? other : sealing, alsoOpening: [isFormer ? sealing : other], hashing: hashing,
            marking: marking)
    }

    private init(sealing: SymmetricKey, alsoOpening: [SymmetricKey], hashing: SymmetricKey, marking: SymmetricKey) {
        self.sealing = sealing
        self.alsoOpening = alsoOpening
        self.hashing = hashing
        self.marking = marking
    }

    private static func bytes(_ key: SymmetricKey) -> [UInt8] { key.withUnsafeBytes { Array($0) } }
}

/// The replacement of a master key. Until it ends, a server starts with either key.
extension MasterKey {
    /// Whether this key is the one that replaces another, and the replacement has not ended.
    func isNext(_ connection: any SQLConnection) throws -> Bool {
        try Self.setting(.nextMark, connection) == mark && Self.setting(.mark, connection) != mark
    }

    /// Whether a replacement is in progress.
    static func hasNext(_ connection: any SQLConnection) throws -> Bool {
        try setting(.nextMark, connection) != nil
    }

    /// The servers that ran when the replacement in progress began: they do not know the next key.
    static func formerServers(_ connection: any SQLConnection) throws -> Set<String> {
        let names = try setting(.formerServers, connection) ?? []
        return Set(String(decoding: names, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    /// Begins the replacement of this key, or continues it.
    /// - Throws: `StoreStartFailure` when this is not the current key, or another replacement is in progress.
    func begin(next: MasterKey, _ connection: any SQLConnection) throws {
        guard try Self.setting(.mark, connection) == mark else {
            throw StoreStartFailure("the configured master key is not the current key of the database")
        }
        if let under = try Self.setting(.nextMark, connection) {
            guard under == next.mark else {
                throw StoreStartFailure("another replacement of the master key is in progress; finish it first")
            }
            return
        }
        let servers = try connection.values("SELECT name FROM live_server", String.self)
        try Self.set(.formerServers, Array(servers.joined(separator: "\n").utf8), connection)
        let hashing = Self.bytes(try unlock(connection).hashing)
        try Self.set(.nextMark, next.mark, connection)
        let (own, other) = (Self.bytes(sealing), Self.bytes(next.sealing))
        try Self.set(.toNext, try seal(other, label: Name.toNext.rawValue), connection)
        try Self.set(.toFormer, try next.seal(own, label: Name.toFormer.rawValue), connection)
        try Self.set(.hashing, try next.seal(hashing, label: Name.hashing.rawValue), connection)
    }

    /// Ends the replacement: from now on only this key opens the database.
    func end(_ connection: any SQLConnection) throws {
        try Self.set(.mark, mark, connection)
        for name in [Name.nextMark, .toNext, .toFormer, .formerServers] { try Self.set(name, nil, connection) }
    }
}

extension MasterKey {
    /// The default location of the key of a database at `path`.
    package static func file(besideDatabase path: String) -> String { path + ".key" }

    /// Reads the key next to the database at `path`, or creates it (mode 0600) when neither key nor database exists.
    /// - Throws: `StoreStartFailure` when the file cannot be read or written or does not contain a key, or when the
    ///   database exists but its key does not.
    package static func loadOrCreate(besideDatabase path: String) throws -> MasterKey {
        let file = file(besideDatabase: path)
        if FileManager.default.fileExists(atPath: file) { return try load(file) }
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        // An empty file, such as `mktemp` creates, is not a database yet.
        if let attributes, (attributes[.size] as? Int ?? 1) > 0 {
            throw StoreStartFailure(
                "the master key \(file) is missing next to its database; restore it or configure another file")
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
            throw StoreStartFailure(
                "the master key \(file) is accessible to other users (mode \(shown)); run chmod 600 \(file)")
        }
        guard access(file, R_OK) == 0, let data = FileManager.default.contents(atPath: file) else {
            throw StoreStartFailure("the master key \(file) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard let key = MasterKey(base64: String(decoding: data, as: UTF8.self)) else {
            throw StoreStartFailure("the master key \(file) does not contain 32 bytes in base64")
        }
        return key
    }

    /// Generates a key and writes it to a file (mode 0600), which must not exist.
    /// - Throws: `StoreStartFailure`.
    package static func create(_ file: String) throws -> MasterKey {
        let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
        guard let key = MasterKey(bytes: bytes) else { throw StoreStartFailure("the master key cannot be generated") }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else {
            throw StoreStartFailure(
                "the master key file \(file) cannot be created: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        let text = Array((Data(bytes).base64EncodedString() + "\n").utf8)
        do {
            guard write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0 else {
                throw StoreStartFailure(
                    "the master key \(file) cannot be written: \(String(cString: strerror(errno)))")
            }
            try DurableName.keep(file)
        } catch {
            // Left without a key, the file would prevent every later start.
            unlink(file)
            throw error
        }
        return key
    }
}

/// Makes the name of a file survive a crash. A name is stored in the folder, not in the file.
package enum DurableName {
    /// Flushes the folder of `file` to the disk. Otherwise, a crash of the machine may undo the creation or the
    /// renaming of the file, even if its content was flushed.
    /// - Throws: `StoreStartFailure` if the disk refuses.
    package static func keep(_ file: String) throws {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        // A folder may be writable without being readable, and some file systems cannot flush one.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || [EINVAL, EBADF].contains(errno) else {
            throw StoreStartFailure("\(folder) cannot be written: \(String(cString: strerror(errno)))")
        }
    }
}
