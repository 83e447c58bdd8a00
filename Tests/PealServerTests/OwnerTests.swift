import Foundation
import PealCore
@testable import PealServer
import PealStore
import PealTesting
import Testing

/// Commands that root runs beside a server that is another user.
@Suite("Files that root creates", .enabled(if: geteuid() == 0))
struct OwnerTests {
    private static let user = 65_534

    private static func owner(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? Int
    }

    private static func configuration(_ folder: String) async throws -> ServerConfiguration {
        try await ServerConfiguration.load(
            arguments: [], environment: ["PEAL_STORE_URL": "sqlite:\(folder)/peal.db"])
    }

    private static func give(_ path: String) throws {
        try FileManager.default.setAttributes(
            [.ownerAccountID: user, .groupOwnerAccountID: user], ofItemAtPath: path)
    }

    @Test("belong to the owner of the folder after a migration, a restore and a new master key")
    func folder() async throws {
        let folder = NSTemporaryDirectory() + "peal-owner-\(UUID().uuidString)"
        let backup = folder + "-backup"
        defer { for path in [folder, backup] { try? FileManager.default.removeItem(atPath: path) } }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Self.give(folder)
        let configuration = try await Self.configuration(folder)
        _ = try await migrateStore(configuration, isDry: false)
        let names = ["peal.db", "peal.db.lock", "peal.db.key"]
        for name in names { #expect(try Self.owner("\(folder)/\(name)") == Self.user, "\(name)") }

        _ = try await rotateMasterKey(configuration, to: nil, prepares: false, isDry: false)
        for name in names + ["peal.db.key.former", "peal.db.key.lock"] {
            #expect(try Self.owner("\(folder)/\(name)") == Self.user, "\(name)")
        }

        _ = try await backUpStore(configuration, to: backup, isDry: false)
        for name in ["peal.db", "peal.db.lock"] { try FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
        _ = try await restoreStore(configuration, from: backup, isDry: false)
        for name in names { #expect(try Self.owner("\(folder)/\(name)") == Self.user, "\(name)") }
    }

    @Test("keep the owner of what they replace, and of other users' files")
    func model() throws {
        let folder = NSTemporaryDirectory() + "peal-owner-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let (model, made) = ("\(folder)/model", "\(folder)/made")
        for path in [model, made] { #expect(FileManager.default.createFile(atPath: path, contents: nil)) }
        try PrivateFiles.give([made, "\(folder)/missing"], toOwnerOf: model)
        #expect(try Self.owner(made) == 0)
        try Self.give(model)
        try PrivateFiles.give([made, "\(folder)/missing"], toOwnerOf: model)
        #expect(try Self.owner(made) == Self.user)
        try PrivateFiles.give([made], toOwnerOf: folder)
        #expect(try Self.owner(made) == Self.user)
    }
}
