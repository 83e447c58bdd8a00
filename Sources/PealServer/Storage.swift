internal import Foundation
internal import PealAPI
internal import PealCore
internal import PealSQLite
internal import PealStore

/// The opened store and the key that seals what is in it.
struct Storage {
    let store: SQLStore
    let masterKey: MasterKey

    /// - Throws: `ConfigurationFailure` when key file or database cannot be used.
    static func open(_ configuration: ServerConfiguration) throws -> Storage {
        let path = configuration.databasePath
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard FileManager.default.fileExists(atPath: folder) else {
            throw ConfigurationFailure(.storeURL, "there is no folder \(folder)")
        }
        try checkFile(path)
        let masterKey = try masterKey(configuration)
        do {
            let engine = try SQLiteEngine(path: path)
            return Storage(
                store: SQLStore(
                    engine: engine, masterKey: masterKey,
                    retentionSeconds: Int64(configuration.retentionDays) * 86_400,
                    composers: reportComposers),
                masterKey: masterKey)
        } catch {
            throw ConfigurationFailure(.storeURL, "cannot open \(path): \(error)")
        }
    }

    /// - Throws: `ConfigurationFailure` when the database is newer than this program or was made under another key.
    func migrate(_ configuration: ServerConfiguration) async throws {
        do {
            try await store.migrate()
        } catch let failure as StoreStartFailure {
            throw ConfigurationFailure(.storeURL, "\(configuration.databasePath): \(failure)")
        }
    }

    func close() throws { try store.close() }

    /// Says of a path that is something else what it is, before its key is looked for.
    private static func checkFile(_ path: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return }
        guard !isFolder.boolValue else { throw ConfigurationFailure(.storeURL, "\(path) is a folder") }
        guard let file = FileHandle(forReadingAtPath: path), let start = try? file.read(upToCount: 15) else { return }
        guard start.isEmpty || start == Data("SQLite format 3".utf8) else {
            throw ConfigurationFailure(.storeURL, "\(path) is not an SQLite database")
        }
    }

    /// The key of a store that is there.
    /// - Throws: `ConfigurationFailure` when the database cannot be one or its key cannot be read.
    static func checkedKey(_ configuration: ServerConfiguration) throws -> MasterKey {
        try checkFile(configuration.databasePath)
        return try masterKey(configuration)
    }

    private static func masterKey(_ configuration: ServerConfiguration) throws -> MasterKey {
        do {
            if let text = configuration.masterKey, let key = MasterKey(base64: text) { return key }
            if let file = configuration.masterKeyFile { return try MasterKey.load(file) }
            return try MasterKey.loadOrCreate(besideDatabase: configuration.databasePath)
        } catch {
            throw ConfigurationFailure(configuration.masterKey == nil ? .masterKeyFile : .masterKey, "\(error)")
        }
    }
}

/// The token with every right: the configured one, or one that the first start makes, shows once and stores as a hash.
enum AdminToken {
    private static let settingName = "admin_token_hash"

    static func hash(
        _ configuration: ServerConfiguration, storage: Storage, randomness: any Randomness, time: any TimeSource
    ) async throws -> [UInt8] {
        if let configured = configuration.adminToken { return storage.masterKey.hash(configured) }
        if let stored = try await storage.store.read({ try $0.setting(settingName) }) { return stored }
        let made = "peal-admin-" + Base64URL.encode(randomness.bytes(32))
        let hash = storage.masterKey.hash(made)
        try await storage.store.write(.control) { try $0.setSetting(settingName, hash) }
        let note = "The admin token of this server, shown only now: \(made)\n"
        FileHandle.standardError.write(Data(note.utf8))
        return hash
    }
}
