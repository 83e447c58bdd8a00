internal import Foundation
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
        let masterKey = try masterKey(configuration)
        do {
            let engine = try SQLiteEngine(path: path)
            return Storage(
                store: SQLStore(
                    engine: engine, masterKey: masterKey,
                    retentionSeconds: Int64(configuration.retentionDays) * 86_400),
                masterKey: masterKey)
        } catch {
            throw ConfigurationFailure(.storeURL, "cannot open \(path): \(error)")
        }
    }

    func close() throws { try store.close() }

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
