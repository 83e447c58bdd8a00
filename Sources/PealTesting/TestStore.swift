internal import FoundationEssentials
package import PealCore
internal import PealPostgres
internal import PealSQLite
package import PealStore

/// A store on a temporary database, which is deleted with this object.
package final class TestStore: Sendable {
    package let store: SQLStore
    package let engine: any SQLEngine
    package let masterKey: MasterKey
    private let database: Database
    private let composers: ReportComposers

    /// A database that is deleted with the last store on it.
    private final class Database: Sendable {
        enum Storage {
            case file(directory: String)
            case postgres(PostgresServer, name: String)
        }

        let storage: Storage

        init(_ storage: Storage) { self.storage = storage }

        deinit {
            switch storage {
            case .file(let directory): try? FileManager.default.removeItem(atPath: directory)
            case .postgres(let server, let name): server.dropDatabaseOnThread(name)
            }
        }

        /// Path of the file; empty for PostgreSQL.
        var path: String {
            switch storage {
            case .file(let directory): directory + "/peal.db"
            case .postgres: ""
            }
        }

        /// The value of `PEAL_STORE_URL` for it.
        var url: String {
            switch storage {
            case .file(let directory): "sqlite:\(directory)/peal.db"
            case .postgres(let server, let name): server.url(name)
            }
        }

        func open() throws -> any SQLEngine {
            switch storage {
            case .file: try SQLiteEngine(path: path)
            case .postgres: PostgresEngine(PostgresSettings(url: url))
            }
        }

        func masterKey() throws -> MasterKey {
            switch storage {
            case .file: try MasterKey.loadOrCreate(besideDatabase: path)
            case .postgres: PostgresTemplate.masterKey
            }
        }
    }

    /// Path of the database file; empty for PostgreSQL.
    package var path: String { database.path }

    /// The name of the database on the tests' PostgreSQL server; empty for SQLite.
    package var databaseName: String {
        switch database.storage {
        case .file: ""
        case .postgres(_, let name): name
        }
    }

    /// The value of `PEAL_STORE_URL` for the database.
    package var url: String { database.url }

    convenience init(directory: String, composers: ReportComposers) async throws {
        try await self.init(Database(.file(directory: directory)), composers)
    }

    convenience init(_ server: PostgresServer, name: String, composers: ReportComposers) async throws {
        try await self.init(Database(.postgres(server, name: name)), composers)
    }

    fileprivate convenience init(emptyDirectory directory: String) throws {
        try self.init(empty: Database(.file(directory: directory)))
    }

    fileprivate convenience init(emptyOn server: PostgresServer, name: String) throws {
        try self.init(empty: Database(.postgres(server, name: name)))
    }

    private init(empty database: Database) throws {
        self.database = database
        composers = .test
        masterKey = PostgresTemplate.masterKey
        engine = try database.open()
        store = SQLStore(engine: engine, masterKey: masterKey)
    }

    private init(_ database: Database, _ composers: ReportComposers) async throws {
        self.database = database
        self.composers = composers
        masterKey = try database.masterKey()
        engine = try database.open()
        store = SQLStore(engine: engine, masterKey: masterKey, composers: composers)
        try await store.migrate()
    }

    /// Ends the engine's threads, which would otherwise outlive it.
    deinit {
        if engine.dialect.isShared { try? store.close() }
    }

    static func freshDirectory() throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "peal-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Closes the database and opens it again, as a restart would.
    package func reopened() async throws -> TestStore {
        try store.close()
        return try await TestStore(database, composers)
    }

    /// Opens the same database as another process would. Not possible with SQLite.
    package func anotherNode() async throws -> TestStore { try await TestStore(database, composers) }

    /// Closes the database. Its files stay until this object goes away.
    package func close() throws { try store.close() }

    /// Runs an additional statement, such as one that makes the store's own fail.
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
    /// A database of a server that the test process starts.
    case postgres

    /// The engine of suites that run on one at a time: `PEAL_TEST_STORE` names it; SQLite otherwise.
    package static let selected =
        ProcessInfo.processInfo.environment["PEAL_TEST_STORE"].flatMap(StoreUnderTest.init) ?? .sqlite

    /// A fresh database without any schema.
    package func openEmpty() throws -> TestStore {
        switch self {
        case .sqlite: return try TestStore(emptyDirectory: TestStore.freshDirectory())
        case .postgres:
            let server = try PostgresServer.shared()
            return try TestStore(emptyOn: server, name: server.createDatabase())
        }
    }

    /// A fresh database with this program's schema.
    /// - Parameter composers: compose the reports and events for webhooks.
    package func open(composers: ReportComposers = .test) async throws -> TestStore {
        switch self {
        case .sqlite:
            let directory = try TestStore.freshDirectory()
            try await SQLiteTemplate.shared.copy(to: directory)
            return try await TestStore(directory: directory, composers: composers)
        case .postgres:
            let server = try PostgresServer.shared()
            let name = try await server.createDatabaseOnThread(from: PostgresTemplate.shared.name(on: server))
            return try await TestStore(server, name: name, composers: composers)
        }
    }
}

/// The database with this program's schema that those of tests are copied from.
private actor PostgresTemplate {
    static let shared = PostgresTemplate()
    static let masterKey = MasterKey(bytes: Array(1...32)).unsafelyUnwrapped

    private var creation: Task<String, any Error>?

    func name(on server: PostgresServer) async throws -> String {
        // One creation, for which all tests wait.
        let task =
            creation
            ?? Task {
                let name = try await server.createDatabaseOnThread()
                let engine = PostgresEngine(PostgresSettings(url: server.url(name)))
                try await SQLStore(engine: engine, masterKey: Self.masterKey).migrate()
                try engine.close()
                return name
            }
        creation = task
        return try await task.value
    }
}

/// The files of a database with this program's schema, which those of tests are copied from: creating every table takes
/// longer than most tests.
private actor SQLiteTemplate {
    static let shared = SQLiteTemplate()

    private var creation: Task<[String: Data], any Error>?

    /// Writes the database and its master key, which no other user may read.
    func copy(to directory: String) async throws {
        let task = creation ?? Task { try await Self.files() }
        creation = task
        for (name, data) in try await task.value {
            let path = "\(directory)/\(name)"
            guard FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
        }
    }

    private static func files() async throws -> [String: Data] {
        let directory = try TestStore.freshDirectory()
        let test = try await TestStore(directory: directory, composers: .test)
        // Closing it moves everything from the write-ahead log into the database.
        try test.close()
        // The directory is deleted with the object.
        return try withExtendedLifetime(test) {
            try FileManager.default.contentsOfDirectory(atPath: directory).reduce(into: [:]) { files, name in
                files[name] = FileManager.default.contents(atPath: "\(directory)/\(name)")
            }
        }
    }
}

/// A plain composer: webhooks of its kind receive an event when a message ends.
package struct TestComposer: ReportComposer {
    package let form: Webhook.Form
    /// The dialect of the messages whose ends are reported; nil for all.
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
    /// Kinds of webhooks for tests: `events` receives the end of every message, `single` of those of dialect `single`,
    /// and `gathered` of none.
    package static let test = ReportComposers([
        TestComposer(.events), TestComposer(.single, dialect: "single"), TestComposer(.gathered, dialect: "none"),
    ])
}

extension Webhook.Form {
    /// One event per request, in the form of Standard Webhooks.
    package static let events = Webhook.Form(kind: "events", body: .event, naming: .standard)
    /// One item per request, with its own headers.
    package static let single = Webhook.Form(
        kind: "single", body: .item, naming: .headers(id: "X-Idempotency-Key", type: nil))
    /// A hundred items a request, gathered for 5 seconds, one request after the other.
    package static let gathered = Webhook.Form(
        kind: "gathered", body: .array, naming: .headers(id: "X-Idempotency-Key", type: "X-Event-Type"),
        secretHeader: "X-Secret", itemsPerRequestMax: 100, gathering: .seconds(5), requestsInFlightMax: 1)
}

extension Store {
    /// Changes the settings of an app.
    package func changeSettings(
        of app: AppKey, _ change: @escaping @Sendable (inout AppSettings) -> Void
    ) async throws {
        try await write(.control) { store in
            guard var own = try store.app(key: app) else { return }
            change(&own.settings)
            try store.updateApp(own)
        }
    }
}

extension StoreWriting {
    /// Does what is due for moments, without quiet hours.
    package func fireDueMoments(now: Timestamp, limit: Int) throws -> Int {
        try fireDueMoments(now: now, limit: limit, quiet: .none) + endDueClaims(now: now, limit: limit)
    }

    /// Ends all leases that expired before `now`; nil ends every lease.
    package func takeBackLeases(endedBefore now: Timestamp?) throws -> Int {
        try takeBackLeases(endedBefore: now, keeping: [], by: nil)
    }

    /// Does all kinds of the Pruner's work at once.
    package func prune(now: Timestamp, limit: Int) throws -> Int {
        try prune(PruneStep.allCases, now: now, limit: limit, after: [:])
    }
}
