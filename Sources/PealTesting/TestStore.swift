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
    private let composers: ReportComposers

    /// The directory is deleted with the last store in it.
    private final class Directory: Sendable {
        let path: String

        init(_ path: String) { self.path = path }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Path of the database file.
    package var path: String { directory.path + "/peal.db" }

    convenience init(directory: String, composers: ReportComposers) async throws {
        try await self.init(Directory(directory), composers)
    }

    private init(_ directory: Directory, _ composers: ReportComposers) async throws {
        self.directory = directory
        self.composers = composers
        let path = directory.path + "/peal.db"
        masterKey = try MasterKey.loadOrCreate(besideDatabase: path)
        engine = try SQLiteEngine(path: path)
        store = SQLStore(engine: engine, masterKey: masterKey, composers: composers)
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
        return try await TestStore(directory, composers)
    }

    /// Closes the database. Its files stay until this object goes away.
    package func close() throws { try store.close() }

    /// Runs a statement beside the store's own, such as one that makes others fail.
    package func execute(_ statement: String) async throws {
        try await engine.write(.control) { _ = try $0.execute(statement, []) }
    }

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
    /// - Parameter composers: compose the reports and events for webhooks.
    package func open(composers: ReportComposers = .test) async throws -> TestStore {
        switch self {
        case .sqlite: try await TestStore(directory: TestStore.freshDirectory(), composers: composers)
        }
    }
}

/// A plain composer: webhooks of its kind receive an event when a message ends.
package struct TestComposer: ReportComposer {
    package let form: Webhook.Form
    /// Of the messages whose ends are reported; nil = all.
    private let dialect: DialectName?

    package init(_ form: Webhook.Form, dialect: DialectName? = nil) {
        self.form = form
        self.dialect = dialect
    }

    package func reportsEnds(of dialect: DialectName) -> Bool { self.dialect.map { $0 == dialect } ?? true }

    /// State and app; nil for a message without source.
    package func report(_ facts: MessageFacts) -> JSON? {
        facts.source == nil
            ? nil : ["state": .string(facts.report.message.state.name), "app": .string(facts.app.name)]
    }
}

extension ReportComposers {
    /// Kinds of webhooks for tests: `events` hears of the end of every message, `single` of those of dialect `single`,
    /// and `gathered` of none.
    package static let test = ReportComposers([
        TestComposer(.events), TestComposer(.single, dialect: "single"), TestComposer(.gathered, dialect: "none"),
    ])
}

extension Webhook.Form {
    /// One event a request, as Standard Webhooks has it.
    package static let events = Webhook.Form(kind: "events", body: .event, naming: .standard)
    /// One item a request, under headers of its own.
    package static let single = Webhook.Form(
        kind: "single", body: .item, naming: .headers(id: "X-Idempotency-Key", type: nil))
    /// A hundred items a request, gathered for 5 seconds, one request after the other.
    package static let gathered = Webhook.Form(
        kind: "gathered", body: .array, naming: .headers(id: "X-Idempotency-Key", type: "X-Event-Type"),
        secretHeader: "X-Secret", itemsPerRequestMax: 100, gathering: .seconds(5), requestsInFlightMax: 1)
}
