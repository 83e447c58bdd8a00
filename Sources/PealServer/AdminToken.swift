internal import Foundation
internal import PealCore
internal import PealStore

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
