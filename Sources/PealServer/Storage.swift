internal import Foundation
internal import PealAPI
internal import PealCore
internal import PealDelivery
internal import PealPostgres
internal import PealSQLite
internal import PealStore

/// The open store and its master key.
struct Storage {
    let store: SQLStore
    let masterKey: MasterKey
    /// The database, which also connects the servers that share it; nil when there can be no others.
    let shared: (engine: PostgresEngine, signals: PostgresSignals)?

    /// - Parameter report: receives a line when the database no longer accepts writes or the connection to it is lost,
    ///   and when that has ended, and about each row that cannot be read.
    /// - Throws: `ConfigurationFailure` when the key file or the database cannot be used.
    static func open(
        _ configuration: ServerConfiguration, report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> Storage {
        if case .sqlite(let path) = configuration.store {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            guard FileManager.default.fileExists(atPath: folder) else {
                throw ConfigurationFailure(.storeURL, "the directory \(folder) does not exist")
            }
            try checkFile(path)
            PrivateFiles.closeToOthers([path, path + "-wal", path + "-shm"])
        }
        let masterKey = try masterKey(configuration)
        do {
            let engine = try engine(
                configuration.store, preparesStatements: configuration.preparesStatements, report: report)
            return Storage(
                store: SQLStore(
                    engine: engine, masterKey: masterKey,
                    retention: StoreRetention(
                        messageDays: configuration.retention.messages, deviceDays: configuration.retention.devices,
                        auditDays: configuration.retention.audit),
                    composers: reportComposers, clock: .system, report: report),
                masterKey: masterKey,
                shared: (engine as? PostgresEngine).map { ($0, PostgresSignals($0.settings)) })
        } catch {
            let mayPass = (error as? StoreStartFailure)?.mayPass ?? false
            // SQLite's failures name the file.
            let name = configuration.store.isShared ? "cannot open \(configuration.store): " : ""
            throw ConfigurationFailure(
                .storeURL, "\(name)\(error)", mayPass: mayPass || configuration.store.isShared)
        }
    }

    /// The database at `location`, open.
    /// - Throws: `StoreStartFailure`.
    static func engine(
        _ location: StoreLocation, preparesStatements: Bool,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> any SQLEngine {
        switch location {
        case .sqlite(let path): return try SQLiteEngine(path: path, report: report)
        case .postgres(let url):
            let engine = PostgresEngine(
                PostgresSettings(url: url, preparesStatements: preparesStatements, report: report))
            try engine.check()
            return engine
        }
    }

    /// - Throws: `ConfigurationFailure` when the database is newer than this program, or belongs to another key.
    func migrate(_ configuration: ServerConfiguration) async throws {
        try await naming(configuration) {
            try await store.checkFinished()
            try await store.migrate()
        }
    }

    /// Checks whether `migrate` is possible, and changes nothing.
    /// - Returns: the schema version of the database; 0 for a new one.
    /// - Throws: as `migrate`.
    func checkMigratable(_ configuration: ServerConfiguration) async throws -> Int {
        try await naming(configuration) {
            try await store.checkFinished()
            return try await store.checkMigratable()
        }
    }

    private func naming<R>(_ configuration: ServerConfiguration, _ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let failure as StoreStartFailure {
            throw ConfigurationFailure(.storeURL, "\(configuration.store): \(failure)")
        }
    }

    func close() throws { try store.close() }

    /// - Parameter name: what the error calls the location.
    /// - Throws: `ConfigurationFailure` when the file of an SQLite database does not exist.
    static func checkExists(
        _ location: StoreLocation, named name: String = ConfigurationKey.storeURL.environmentName
    ) throws {
        if case .sqlite(let path) = location, !FileManager.default.fileExists(atPath: path) {
            throw ConfigurationFailure("\(name): there is no database at \(path) that this user can read")
        }
    }

    /// Reports a path that is not a database before its key is needed.
    private static func checkFile(_ path: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return }
        guard !isFolder.boolValue else { throw ConfigurationFailure(.storeURL, "\(path) is a directory") }
        guard let file = FileHandle(forReadingAtPath: path), let start = try? file.read(upToCount: 15) else { return }
        guard start.isEmpty || start == Data("SQLite format 3".utf8) else {
            throw ConfigurationFailure(.storeURL, "\(path) is not an SQLite database")
        }
    }

    /// The master key of an existing store.
    /// - Throws: `ConfigurationFailure` when the file is not a database or its key cannot be read.
    static func checkedKey(_ configuration: ServerConfiguration) throws -> MasterKey {
        if case .sqlite(let path) = configuration.store { try checkFile(path) }
        return try masterKey(configuration)
    }

    private static func masterKey(_ configuration: ServerConfiguration) throws -> MasterKey {
        do {
            if let text = configuration.masterKey, let key = MasterKey(base64: text) { return key }
            if let file = configuration.masterKeyFile { return try MasterKey.load(file) }
            switch configuration.store {
            case .sqlite(let path): return try MasterKey.loadOrCreate(besideDatabase: path)
            case .postgres:
                throw StoreStartFailure("required with PostgreSQL: every server on the database needs the same key")
            }
        } catch {
            throw ConfigurationFailure(configuration.masterKey == nil ? .masterKeyFile : .masterKey, "\(error)")
        }
    }
}

/// Files of the server are for its own user only.
enum PrivateFiles {
    /// New files of this process get mode 0600, new directories 0700.
    static func fromNowOn() { _ = umask(0o077) }

    /// Gives files that root created to the owner of `model`: commands of an administrator must not leave files that
    /// the server, which is another user, cannot open. Other users own what they create.
    static func give(_ paths: [String], toOwnerOf model: String) throws {
        guard geteuid() == 0 else { return }
        let owner = try FileManager.default.attributesOfItem(atPath: model)
        for path in paths {
            let present = try? FileManager.default.attributesOfItem(atPath: path)
            guard present?[.ownerAccountID] as? Int == 0, let user = owner[.ownerAccountID] as? Int, user != 0 else {
                continue
            }
            try FileManager.default.setAttributes(
                [.ownerAccountID: user, .groupOwnerAccountID: owner[.groupOwnerAccountID] ?? user],
                ofItemAtPath: path)
        }
    }

    /// The files of an SQLite database to the owner of their folder.
    static func giveDatabase(_ path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let files = ["", "-wal", "-shm", ".lock"].map { path + $0 } + [MasterKey.file(besideDatabase: path)]
        try give(files, toOwnerOf: folder)
    }

    /// Removes other users' permissions from files that an earlier version or someone else created.
    static func closeToOthers(_ paths: [String]) {
        for path in paths {
            let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? Int
            guard let mode, mode & 0o077 != 0 else { continue }
            try? FileManager.default.setAttributes([.posixPermissions: mode & 0o700], ofItemAtPath: path)
        }
    }
}

/// The token with full access: the configured one, or one that the first start generates, prints once and stores as a
/// hash.
enum AdminToken {
    static func admin(
        _ configuration: ServerConfiguration, storage: Storage, randomness: any Randomness, time: any TimeSource
    ) async throws -> FirstAdmin {
        let (hash, isConfigured) = try await hash(configuration, storage: storage, randomness: randomness)
        return FirstAdmin(hash: hash, isConfigured: isConfigured, time: time)
    }

    /// The token's hash, and whether the token comes from the configuration.
    static func hash(
        _ configuration: ServerConfiguration, storage: Storage, randomness: any Randomness
    ) async throws -> (hash: [UInt8], isConfigured: Bool) {
        if let configured = configuration.adminToken { return (storage.store.hasher.hash(configured), true) }
        return (try await storedHash(storage: storage, randomness: randomness), false)
    }

    private static func storedHash(storage: Storage, randomness: any Randomness) async throws -> [UInt8] {
        let settingName = FirstAdmin.settingName
        if let stored = try await storage.store.read({ try $0.setting(settingName) }) { return stored }
        let made = AdminVerbs.newToken(randomness)
        let hash = storage.store.hasher.hash(made)
        let kept: [UInt8]
        do {
            // Another server may be starting for the first time too.
            kept = try await storage.store.write(.control) { store in
                if let stored = try store.setting(settingName) { return stored }
                try store.setSetting(settingName, hash)
                return hash
            }
        } catch let error as PealError where error.code == .unavailable {
            // If only the answer was lost, no later start shows a token.
            StandardStream.warn("The admin token of this server, unless the next start shows another one: \(made)")
            throw error
        }
        guard kept == hash else { return kept }
        StandardStream.warn("The admin token of this server (shown only once): \(made)")
        return hash
    }
}

/// Migrates the database to this program's schema. Returns a line to print.
package func migrateStore(_ configuration: ServerConfiguration, isDry: Bool) async throws -> String {
    PrivateFiles.fromNowOn()
    let newest = SQLStore.newestSchemaVersion
    if isDry, case .sqlite(let path) = configuration.store, !FileManager.default.fileExists(atPath: path) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        if let problem = Doctor.problem(withFolder: folder) { throw ConfigurationFailure(.storeURL, problem) }
        return "Would create \(path) with schema version \(newest)."
    }
    let storage = try Storage.open(configuration, report: StandardStream.warn)
    if isDry {
        let version = try await storage.checkMigratable(configuration)
        try storage.close()
        return version == newest
            ? "The database is at schema version \(version): nothing to do."
            : "Would migrate the database from schema version \(version) to \(newest)."
    }
    try await storage.migrate(configuration)
    let version = try await storage.store.schemaVersion()
    try storage.close()
    if case .sqlite(let path) = configuration.store { try PrivateFiles.giveDatabase(path) }
    return "The database is at schema version \(version)."
}

/// Copies a store from one database to another, and compares them.
/// - Parameters:
///   - environment: configures the connection to PostgreSQL.
///   - isDry: only checks whether there is a database to copy.
///   - print: receives a line for each table.
/// - Throws: `ConfigurationFailure` for a URL that names no database; otherwise why the copy is not complete.
package func copyStore(
    from: String, to: String, environment: [String: String], isDry: Bool, print: @escaping @Sendable (String) -> Void
) async throws {
    PrivateFiles.fromNowOn()
    let (source, target) = (try StoreLocation(from, named: "--from"), try StoreLocation(to, named: "--to"))
    guard source != target else { throw ConfigurationFailure("--from and --to name the same database") }
    try Storage.checkExists(source, named: "--from")
    let configured = try ConfigurationValues(ConfigurationSource(arguments: [], environment: environment))
    let preparesStatements = configured.text(.preparedStatements) == "true"
    let original = try Storage.engine(
        source, preparesStatements: preparesStatements, report: StandardStream.warn)
    defer { try? original.close() }
    if isDry {
        try await StoreCopy.checkSource(original)
        return print("Would copy \(source) to \(target).")
    }
    let copy = try Storage.engine(target, preparesStatements: preparesStatements, report: StandardStream.warn)
    defer { try? copy.close() }
    if case .sqlite(let path) = target { try PrivateFiles.giveDatabase(path) }
    try await StoreCopy(from: original, to: copy).run { result in
        print("\(result.table): \(Spelling.counted(result.rows, "row")), SHA-256 \(result.sha256)")
    }
    print("The copy in \(target) is complete. It needs the master key of the original.")
}

/// Why a file operation of Foundation failed, in the system's words: Foundation's own texts say less.
package func systemReason(of error: any Error) -> String {
    let error = error as NSError
    // Outside Apple's systems it may be a `POSIXError`, which a cast to `NSError` does not find.
    let cause = (error.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError } ?? error
    guard cause.domain == NSPOSIXErrorDomain else { return error.localizedDescription }
    return String(cString: strerror(Int32(truncatingIfNeeded: cause.code)))
}
