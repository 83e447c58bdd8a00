internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
package import PealCore
internal import PealPostgres
internal import PealSQLite
internal import PealStore
internal import Synchronization

/// Checks everything that a server needs, without starting one. It creates, changes and sends nothing.
package struct Doctor: Sendable {
    let configuration: ServerConfiguration
    let time: any TimeSource

    package init(_ configuration: ServerConfiguration) {
        self.init(configuration, time: SystemTime())
    }

    init(_ configuration: ServerConfiguration, time: any TimeSource) {
        self.configuration = configuration
        self.time = time
    }

    /// The time of the diagnosis.
    package var now: Timestamp { time.now }

    /// A clock that shows a time before this version's first release is wrong.
    private static let beginning = Timestamp(rfc3339: "2026-01-01T00:00:00Z")

    /// Checks the clock, the files, the disk, and the store and its content.
    package func examine(_ diagnosis: inout Diagnosis) async {
        checkClock(&diagnosis)
        checkFiles(&diagnosis)
        checkDisk(&diagnosis)
        await checkStore(&diagnosis)
    }

    /// With a wrong clock, APNs refuses provider tokens, and valid certificates look expired or not yet valid.
    private func checkClock(_ diagnosis: inout Diagnosis) {
        let now = time.now
        let isPlausible = Self.beginning.map { now >= $0 } ?? true
        diagnosis.add(
            isPlausible ? .ok : .failed, "clock",
            isPlausible ? "\(now)" : "\(now) is before this version was released; set the clock")
    }
}

extension Doctor {
    /// Opens the store as a server would and checks its content. Creates nothing.
    func checkStore(_ diagnosis: inout Diagnosis) async {
        let location = configuration.store
        if case .sqlite(let path) = location {
            guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int, size > 0 else {
                let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
                if let problem = Self.problem(withFolder: folder) { return diagnosis.add(.failed, "store", problem) }
                return diagnosis.add(.warning, "store", "no database at \(path) yet; the first start creates it")
            }
        }
        // The engine reports why a database is not available; its errors do not contain the reason.
        let reports = Mutex<[String]>([])
        do {
            let masterKey = try Storage.checkedKey(configuration)
            diagnosis.add(.ok, "master key", "readable")
            let engine = try Storage.engine(location, preparesStatements: configuration.preparesStatements) { line in
                reports.withLock { $0.append(line) }
            }
            let store = SQLStore(engine: engine, masterKey: masterKey)
            defer { try? store.close() }
            diagnosis.add(.ok, "store", "\(location) can be opened")
            if let shared = engine as? PostgresEngine {
                await checkDurability(of: shared, &diagnosis)
                await checkRights(on: shared, &diagnosis)
                await compareClock(with: shared, &diagnosis)
            }
            try await look(into: store, &diagnosis)
        } catch let failure as StoreStartFailure where failure.isInUse {
            diagnosis.isStoreInUse = true
            diagnosis.add(.ok, "store", "in use by a running server: \(location)")
        } catch {
            let isUnexplained = (error as? PealError)?.code == .unavailable
            diagnosis.add(.failed, "store", (isUnexplained ? reports.withLock(\.last) : nil) ?? "\(error)")
        }
    }

    private func checkDurability(of engine: PostgresEngine, _ diagnosis: inout Diagnosis) async {
        guard let names = try? await engine.unsafeSettings() else { return }
        let subject = "durability of the database"
        guard !names.isEmpty else { return diagnosis.add(.ok, subject, "fsync and full_page_writes are on") }
        diagnosis.add(
            .warning, subject,
            "\(names.joined(separator: ", ")) off: a crash may lose messages that were accepted; set to on")
    }

    private func checkRights(on engine: PostgresEngine, _ diagnosis: inout Diagnosis) async {
        guard let lacking = try? await engine.tablesWithoutRights(among: SQLStore.tableNames), !lacking.isEmpty else {
            return
        }
        diagnosis.add(
            .failed, "rights in the database",
            "the user lacks SELECT, INSERT, UPDATE or DELETE on \(lacking.joined(separator: ", ")); grant all of them")
    }

    /// Servers follow the database's clock, but tokens for push networks have this machine's time.
    private func compareClock(with engine: PostgresEngine, _ diagnosis: inout Diagnosis) async {
        // The first answer waits for a connection.
        guard (try? await engine.serverTime()) != nil else { return }
        let start = time.now
        guard let database = try? await engine.serverTime() else { return }
        let end = time.now
        let ahead = (database < start ? start - database : database > end ? end - database : .zero).milliseconds
        let subject = "clock of the database"
        guard abs(ahead) > DatabaseTime.toleranceMilliseconds else {
            return diagnosis.add(.ok, subject, "agrees with this machine's")
        }
        let seconds = Double(abs(ahead)) / 1000
        diagnosis.add(
            .warning, subject,
            "this machine's clock is \(seconds) s \(ahead > 0 ? "ahead of" : "behind") the database's; set both clocks")
    }

    /// Why the server could not create a database there.
    static func problem(withFolder folder: String) -> String? {
        guard FileManager.default.fileExists(atPath: folder) else { return "the directory \(folder) does not exist" }
        guard access(folder, W_OK | X_OK) != 0 else { return nil }
        return "the directory \(folder) is not writable for this user; run this as the server's user, or with sudo"
    }

    /// - Throws: when the database does not answer.
    private func look(into store: SQLStore, _ diagnosis: inout Diagnosis) async throws {
        guard let version = try await store.knownSchemaVersion() else {
            let isNew = if case .postgres = configuration.store { true } else { false }
            return diagnosis.add(
                isNew ? .warning : .failed, "schema",
                "\(configuration.store) is not a Peal database\(isNew ? " yet; the first start makes it one" : "")")
        }
        let newest = SQLStore.newestSchemaVersion
        guard version == newest else {
            let isOld = version < newest
            let advice = isOld ? "run peal migrate, or start the server" : "use a newer version of Peal"
            return diagnosis.add(
                isOld ? .warning : .failed, "schema", "version \(version), but this program needs \(newest): \(advice)")
        }
        diagnosis.add(.ok, "schema", "version \(version)")
        try await store.checkFinished()
        guard try await store.masterKeyMatches() != false else {
            return diagnosis.add(
                .failed, "master key", "does not match the database; configure the key with which it was created")
        }
        try await store.learnKey()
        try await checkCredentials(in: store, &diagnosis)
        try await checkSlices(in: store, &diagnosis)
    }

    /// Names the messages with devices whose results cannot be stored.
    private func checkSlices(in store: SQLStore, _ diagnosis: inout Diagnosis) async throws {
        for slice in try await store.read({ try $0.quarantinedSlices(limit: Limits.listItemsMax) }) {
            diagnosis.add(
                .failed, "quarantined slice of message \(slice.message)",
                "app \(slice.app), \(slice.route), \(Spelling.counted(slice.devices, "device")): \(slice.reason)")
        }
    }

    /// Checks the credentials of every app, and that each can be decrypted.
    private func checkCredentials(in store: SQLStore, _ diagnosis: inout Diagnosis) async throws {
        var last: AppID?
        repeat {
            let page = try await store.read { [last] in try $0.apps(after: last, limit: Limits.listItemsMax) }
            for app in page {
                let (records, sealed) = try await store.read { store in
                    let records = try store.credentialRecords(app: app.key)
                    return (records, records.filter { !store.opens($0, app: app.key) })
                }
                diagnosis.add(records, app: "\(app.name) (\(app.id))", now: time.now)
                for record in sealed {
                    diagnosis.add(
                        .failed, "credential \(record.provider.rawValue) of \(app.name) (\(app.id))",
                        "cannot be decrypted with this master key")
                }
            }
            last = page.count == Limits.listItemsMax ? page.last?.id : nil
        } while last != nil
        diagnosis.endCredentials()
    }
}

extension StoreReading {
    fileprivate func opens(_ record: CredentialRecord, app: AppKey) -> Bool {
        (try? credential(
            at: CredentialSlot(app: app, provider: record.provider, environment: record.environment))) != nil
    }
}

extension Doctor {
    /// Checks the files that the configuration names.
    func checkFiles(_ diagnosis: inout Diagnosis) {
        if let files = configuration.http.tls {
            diagnosis.add("HTTPS certificate", of: files, now: time.now)
        }
        if let files = configuration.adminListener?.tls {
            diagnosis.add("HTTPS certificate for admins", of: files, now: time.now)
        }
        if let file = configuration.adminListener?.clientCA {
            diagnosis.add("roots of admins' certificates", in: file, .adminListenClientCA)
        }
        if let file = configuration.caFile { diagnosis.add("trust roots", in: file, .caFile) }
    }
}

extension Diagnosis {
    /// Checks a file with root certificates.
    fileprivate mutating func add(_ subject: String, in file: String, _ key: ConfigurationKey) {
        do {
            add(.ok, subject, "\(try PEMFiles.certificates(file, key).count) in \(file)")
        } catch {
            add(.failed, subject, "\(error)")
        }
    }

    /// Checks the certificate and key of a listener.
    fileprivate mutating func add(_ subject: String, of files: ServerConfiguration.TLSFiles, now: Timestamp) {
        do {
            guard let life = CertificateLife(try files.load().chain) else {
                return add(.failed, subject, "the file contains no certificate")
            }
            guard let problem = life.problem(at: now) else { return add(.ok, subject, "expires \(life.end)") }
            add(problem.isRefused ? .failed : .warning, subject, problem.text)
        } catch {
            add(.failed, subject, "\(error)")
        }
    }
}

extension Doctor {
    /// Checks the free space on the disk of an SQLite database.
    private func checkDisk(_ diagnosis: inout Diagnosis) {
        guard case .sqlite(let path) = configuration.store else { return }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder)
        guard let free = (attributes?[.systemFreeSize] as? NSNumber)?.int64Value else { return }
        diagnosis.addDisk(freeBytes: free, of: folder)
    }
}

extension Diagnosis {
    private static let mebibyte: Int64 = 1024 * 1024
    /// Below this, there may be no room for the write-ahead log.
    private static let freeMebibytesMin: Int64 = 256
    private static let freeMebibytesLow: Int64 = 1024

    /// - Parameter free: bytes that the user of this process may still write.
    mutating func addDisk(freeBytes free: Int64, of folder: String) {
        let mebibytes = free / Self.mebibyte
        let state: State =
            mebibytes < Self.freeMebibytesMin ? .failed : mebibytes < Self.freeMebibytesLow ? .warning : .ok
        let advice = state == .ok ? "" : "; free some space: on a full disk, requests that write get 503"
        add(state, "disk", "\(mebibytes) MiB free in \(folder)\(advice)")
    }
}

extension Doctor {
    private static let connectSeconds: Int64 = 5

    /// Connects to the hosts that the credentials need, and sends nothing. Without credentials it tries every host, and
    /// an unreachable one is only a warning.
    package func reach(_ diagnosis: inout Diagnosis) async {
        let known = diagnosis.credentials ?? []
        let hosts = ServerNetwork.builtIn.flatMap { $0.hosts(configuration) }.filter { host in
            known.isEmpty || known.contains(where: host.isNeeded)
        }
        let failures = await withTaskGroup(of: Reached.self) { group in
            for (index, host) in hosts.enumerated() {
                group.addTask { Reached(index: index, failure: await Self.failure(of: host)) }
            }
            var failures = [String?](repeating: nil, count: hosts.count)
            for await reached in group { failures[reached.index] = reached.failure }
            return failures
        }
        for (index, host) in hosts.enumerated() {
            let subject = "\(host.provider.rawValue) at \(host.host):\(host.port)"
            if let failure = failures[index] {
                diagnosis.add(known.isEmpty ? .warning : .failed, subject, "unreachable: \(failure)")
            } else {
                diagnosis.add(.ok, subject, "reachable")
            }
        }
    }

    private struct Reached: Sendable {
        let index: Int
        let failure: String?
    }

    private static let nameless = "the name has no address; check the DNS of this machine"

    /// Why the connection failed; nil when it succeeded.
    private static func failure(of host: ProviderHost) async -> String? {
        do {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(connectSeconds)).connect(host: host.host, port: host.port).get()
            try await channel.close()
            return nil
        } catch is SocketAddressError.UnknownHost {
            return nameless
        } catch let error as NIOConnectionError where error.dnsAError != nil || error.dnsAAAAError != nil {
            return nameless
        } catch let error as NIOConnectionError {
            let first = error.connectionErrors.first?.error
            if let failure = first as? IOError { return String(cString: strerror(failure.errnoCode)) }
            return first is ChannelError ? "it does not answer; check the firewall" : "\(error)"
        } catch {
            return "\(error)"
        }
    }
}
