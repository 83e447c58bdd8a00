internal import FoundationEssentials
package import PealCore
package import PealSQLite
package import PealStore

/// A store on a temporary database, which is deleted with this object.
package final class TestStore: Sendable {
    package let store: SQLStore
    package let engine: SQLiteEngine
    package let masterKey: MasterKey
    private let directory: Directory
    private let noticeWriter: (any MomentNoticeWriter)?

    /// The directory is deleted with the last store in it.
    private final class Directory: Sendable {
        let path: String

        init(_ path: String) { self.path = path }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Path of the database file.
    package var path: String { directory.path + "/peal.db" }

    convenience init(directory: String, noticeWriter: (any MomentNoticeWriter)?) async throws {
        try await self.init(Directory(directory), noticeWriter)
    }

    private init(_ directory: Directory, _ noticeWriter: (any MomentNoticeWriter)?) async throws {
        self.directory = directory
        self.noticeWriter = noticeWriter
        let path = directory.path + "/peal.db"
        masterKey = try MasterKey.loadOrCreate(besideDatabase: path)
        engine = try SQLiteEngine(path: path)
        store = SQLStore(engine: engine, masterKey: masterKey, noticeWriter: noticeWriter)
        try await store.migrate()
    }

    static func freshDirectory() throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "peal-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Closes the database and opens it again, as a restart would.
    package func reopened() async throws -> TestStore {
        try store.close()
        return try await TestStore(directory, noticeWriter)
    }

    /// Closes the database. Its files stay until this object goes away.
    package func close() throws { try store.close() }

    /// Stores an app and returns it.
    package func makeApp(_ name: String = "Test", randomness: SeededRandomness = .init()) async throws -> App {
        let app = App(id: randomness.identifier(), key: 0, name: name, createdAt: Timestamp(milliseconds: 0))
        return try await store.write(.control) { try $0.insertApp(app) }
    }
}

/// The database engines to test the store on; an argument of test suites.
package enum StoreUnderTest: String, CaseIterable, Sendable {
    /// A file in a temporary directory.
    case sqlite

    /// A fresh database with this program's schema.
    /// - Parameter noticeWriter: writes the webhook events about moments.
    package func open(noticeWriter: (any MomentNoticeWriter)? = nil) async throws -> TestStore {
        switch self {
        case .sqlite: try await TestStore(directory: TestStore.freshDirectory(), noticeWriter: noticeWriter)
        }
    }
}
