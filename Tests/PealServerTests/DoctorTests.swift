import Foundation
import NIOCore
import NIOPosix
import PealCore
import PealTesting
import Testing

@testable import PealServer

@Suite("The doctor")
struct DoctorTests {
    /// A configuration with a database that may not exist.
    private func configuration(
        _ path: String, _ environment: [String: String] = [:]
    ) async throws -> ServerConfiguration {
        try await ServerConfiguration.load(
            arguments: [], environment: ["PEAL_STORE_URL": "sqlite:\(path)"].merging(environment) { $1 })
    }

    private func examine(
        _ configuration: ServerConfiguration, at time: ManualTime = ManualTime()
    ) async -> Diagnosis {
        var diagnosis = Diagnosis()
        await Doctor(configuration, time: time).examine(&diagnosis)
        return diagnosis
    }

    /// A closed database with one app and these credentials.
    private func closedStore(_ credentials: [(CredentialExamination, CredentialRecord.Health)]) async throws
        -> TestStore
    {
        let file = try await StoreUnderTest.sqlite.open()
        let app = try await file.makeApp("Cheese")
        let store: any Store = file.store
        try await store.write(.control) { store in
            for (number, (examination, health)) in credentials.enumerated() {
                let environment = Environment.allCases[number]
                _ = try store.putCredential(
                    examination, at: CredentialSlot(app: app.key, provider: .apns, environment: environment),
                    now: Timestamp(milliseconds: 0))
                try store.setHealth(health, at: CredentialSlot(app: app.key, provider: .apns, environment: environment))
            }
        }
        try file.close()
        return file
    }

    private static func certificate(endingIn days: Int64, at time: ManualTime) -> CredentialExamination {
        CredentialExamination(
            credential: .apnsCertificate(
                .init(identity: .init(certificates: "c", privateKey: "k"), bundleID: "com.example")),
            facts: .init(), expiresAt: time.now + .seconds(days * 86_400 + 60))
    }

    @Test("names a folder in which no database can be created")
    func folder() async throws {
        let diagnosis = await examine(try await configuration("/nowhere/at/all/peal.db"), at: ManualTime())
        let check = try #require(diagnosis.checks.first { $0.subject == "store" })
        #expect(check.state == .failed && check.detail.contains("/nowhere/at/all"), "\(check)")
    }

    @Test("finds nothing wrong with a healthy store")
    func well() async throws {
        let time = ManualTime()
        let file = try await closedStore([(Self.certificate(endingIn: 90, at: time), .ok(at: time.now))])
        let diagnosis = await examine(try await configuration(file.path), at: time)
        #expect(diagnosis.state == .ok, "\(diagnosis.checks)")
        #expect(diagnosis.checks.map(\.subject).contains { $0.hasPrefix("credential apns production of Cheese (") })
        #expect(diagnosis.credentials?.count == 1)
    }

    @Test(
        "warns about credentials that expire soon, and fails for expired ones",
        arguments: [
            (29, .warning, "expires in 29 days"), (6, .warning, "expires in 6 days"), (-1, .failed, "expired"),
            (31, .ok, "certificate, expires"),
        ] as [(Int64, Diagnosis.State, String)])
    func ends(days: Int64, state: Diagnosis.State, detail: String) async throws {
        let time = ManualTime()
        let file = try await closedStore([(Self.certificate(endingIn: days, at: time), .unknown)])
        let diagnosis = await examine(try await configuration(file.path), at: time)
        let check = try #require(diagnosis.checks.first { $0.subject.hasPrefix("credential") })
        #expect(check.state == state)
        #expect(check.detail.hasPrefix(detail), "\(check.detail)")
    }

    @Test(
        "reports a listener's certificate that clients refuse or soon will",
        arguments: [
            (-40, -1, true, "has expired"), (-40, 0, true, "has expired"), (1, 90, true, "is not valid before"),
            (-1, 29, false, "expires "), (-1, 31, nil, ""),
        ] as [(Int64, Int64, Bool?, String)])
    func certificateLife(begin: Int64, end: Int64, isRefused: Bool?, text: String) {
        let now = ManualTime().now
        let day: Int64 = 86_400
        let life = CertificateLife(begin: now + .seconds(begin * day), end: now + .seconds(end * day))
        let problem = life.problem(at: now)
        #expect(problem?.isRefused == isRefused)
        let shown = problem?.text ?? ""
        #expect(shown.hasPrefix(text), "\(shown)")
    }

    @Test("says why an app is stopped")
    func stopped() async throws {
        let time = ManualTime()
        let file = try await closedStore([
            (Self.certificate(endingIn: 90, at: time), .stopped(at: time.now, reason: "TopicDisallowed"))
        ])
        let diagnosis = await examine(try await configuration(file.path), at: time)
        #expect(diagnosis.state == .failed)
        #expect(diagnosis.checks.last?.detail == "stopped since 2026-11-21T00:00:00Z: TopicDisallowed")
    }

    @Test("creates nothing when there is no database yet")
    func absent() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let diagnosis = await examine(try await configuration(folder.appendingPathComponent("peal.db").path))
        #expect(diagnosis.state == .warning)
        #expect(diagnosis.checks.last?.subject == "store")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test("recognizes a store in use, a file that is not a database, and a wrong master key")
    func stores() async throws {
        let open = try await StoreUnderTest.sqlite.open()
        let inUse = await examine(try await configuration(open.path))
        #expect(inUse.isStoreInUse && inUse.state == .ok && inUse.credentials == nil, "\(inUse.checks)")

        let foreign = FileManager.default.temporaryDirectory.appendingPathComponent("peal-\(UUID().uuidString).db")
        try Data("hello, this is not a database".utf8).write(to: foreign)
        defer { try? FileManager.default.removeItem(at: foreign) }
        let strange = await examine(try await configuration(foreign.path))
        #expect(strange.checks.last?.detail.contains("is not an SQLite database") == true, "\(strange.checks)")
        #expect(strange.state == .failed)

        let file = try await closedStore([])
        let otherKey = Data(repeating: 1, count: 32).base64EncodedString()
        let locked = await examine(try await configuration(file.path, ["PEAL_MASTER_KEY": otherKey]))
        #expect(locked.checks.contains { $0.subject == "master key" && $0.state == .failed }, "\(locked.checks)")
    }

    @Test(
        "warns when the disk has little space, and fails when it is nearly full",
        arguments: [(0, .failed), (255, .failed), (256, .warning), (1023, .warning), (1024, .ok)]
            as [(Int64, Diagnosis.State)])
    func disk(mebibytes: Int64, state: Diagnosis.State) throws {
        var diagnosis = Diagnosis()
        diagnosis.addDisk(freeBytes: mebibytes * 1024 * 1024 + 17, of: "/data")
        let check = try #require(diagnosis.checks.first)
        #expect(check.state == state && check.subject == "disk")
        #expect(check.detail.hasPrefix("\(mebibytes) MiB free in /data"))
        #expect(check.detail.contains("free some space") == (state != .ok))
    }

    @Test("examines the disk of an SQLite database only")
    func disks() async throws {
        let folder = FileManager.default.temporaryDirectory.path
        let embedded = await examine(try await configuration("\(folder)/none-\(UUID()).db"))
        #expect(embedded.checks.contains { $0.subject == "disk" && $0.detail.contains(folder) })
        let elsewhere = await examine(try await configuration("/nowhere/at/all/peal.db"))
        #expect(!elsewhere.checks.contains { $0.subject == "disk" })
    }

    @Test("finds unusable files and a wrong clock")
    func surroundings() async throws {
        let settings = [
            "PEAL_PROVIDERS_CA_FILE": "/nowhere/ca.pem", "PEAL_HTTP_TLS_CERTIFICATE": "/nowhere/c.pem",
            "PEAL_HTTP_TLS_KEY": "/nowhere/k.pem", "PEAL_ADMIN_LISTEN_PORT": "0",
            "PEAL_ADMIN_LISTEN_TLS_CERTIFICATE": "/nowhere/a.pem", "PEAL_ADMIN_LISTEN_TLS_KEY": "/nowhere/a.key",
            "PEAL_ADMIN_LISTEN_TLS_CLIENT_CA": "/nowhere/clients.pem",
        ]
        let diagnosis = await examine(
            try await configuration("/nowhere/peal.db", settings), at: ManualTime(now: Timestamp(milliseconds: 0)))
        let failed = diagnosis.checks.filter { $0.state == .failed }.map(\.subject)
        #expect(
            failed == [
                "clock", "HTTPS certificate", "HTTPS certificate for admins", "roots of admins' certificates",
                "trust roots", "store",
            ])
    }

    /// A clock that is ahead of the machine's, which is also that of the tests' PostgreSQL.
    private struct ShiftedTime: TimeSource {
        let ahead: Duration
        var now: Timestamp { SystemTime().now + ahead }
        var uptime: Duration { SystemTime().uptime }
        func sleep(for duration: Duration) async throws { try await SystemTime().sleep(for: duration) }
    }

    @Test(
        "warns if the machine's clock differs from PostgreSQL's",
        arguments: [
            (0, .ok, "agrees with this machine's"), (3, .warning, "s ahead of the database's"),
            (-3, .warning, "s behind the database's"),
        ] as [(Int64, Diagnosis.State, String)])
    func databaseClock(seconds: Int64, state: Diagnosis.State, detail: String) async throws {
        let test = try await StoreUnderTest.postgres.open()
        let configuration = try await ServerConfiguration.load(
            arguments: [],
            environment: [
                "PEAL_STORE_URL": test.url, "PEAL_MASTER_KEY": Data([UInt8](1...32)).base64EncodedString(),
            ])
        var diagnosis = Diagnosis()
        await Doctor(configuration, time: ShiftedTime(ahead: .seconds(seconds))).examine(&diagnosis)
        let check = try #require(
            diagnosis.checks.first { $0.subject == "clock of the database" }, "\(diagnosis.checks)")
        #expect(check.state == state && check.detail.contains(detail), "\(check)")
        // The server of the tests need not survive a crash.
        let durability = try #require(diagnosis.checks.first { $0.subject == "durability of the database" })
        #expect(durability.state == .warning && durability.detail.hasPrefix("fsync, full_page_writes off"))
    }

    @Test("says why a database does not answer, and does not call it a new one")
    func unanswered() async throws {
        let test = try await StoreUnderTest.postgres.open()
        try PostgresServer.shared().delaySchemaVersion(in: test.databaseName)
        let configuration = try await ServerConfiguration.load(
            arguments: [],
            environment: [
                "PEAL_STORE_URL": test.url, "PEAL_MASTER_KEY": Data([UInt8](1...32)).base64EncodedString(),
            ])
        let diagnosis = await examine(configuration)
        let checks = diagnosis.checks.filter { $0.state == .failed }
        #expect(checks.map(\.subject) == ["store"], "\(diagnosis.checks)")
        #expect(checks.first?.detail.contains("PostgreSQL error 57014") == true, "\(checks)")
        #expect(!diagnosis.checks.contains { $0.subject == "schema" })
    }

    @Test("names the tables on which PostgreSQL's user lacks rights")
    func rights() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let server = try PostgresServer.shared()
        let user = "user_of_\(test.databaseName)"
        for statement in [
            "CREATE ROLE \(user) LOGIN", "GRANT ALL ON ALL TABLES IN SCHEMA public TO \(user)",
            "REVOKE UPDATE ON slice FROM \(user)", "CREATE TABLE other (id BIGINT)",
        ] { try server.execute(statement, in: test.databaseName) }
        let configuration = try await ServerConfiguration.load(
            arguments: [],
            environment: [
                "PEAL_STORE_URL": test.url.replacing("user=peal", with: "user=\(user)"),
                "PEAL_MASTER_KEY": Data([UInt8](1...32)).base64EncodedString(),
            ])
        let checks = await examine(configuration).checks.filter { $0.state == .failed }
        #expect(checks.map(\.subject) == ["rights in the database"], "\(checks)")
        #expect(checks.first?.detail.contains("on slice;") == true, "\(checks)")
    }

    @Test("connects only to the hosts that credentials need")
    func hosts() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let configuration = try await configuration(
            "/nowhere/peal.db",
            [
                "PEAL_PROVIDERS_APNS_PRODUCTION_URL": "https://127.0.0.1:\(port)",
                "PEAL_PROVIDERS_APNS_SANDBOX_URL": "https://127.0.0.1:1",
            ])
        func states(_ environments: [Environment]) async -> [Diagnosis.State] {
            var diagnosis = Diagnosis()
            let records = environments.map { environment in
                CredentialRecord(
                    provider: .apns, environment: environment, kind: "token", fingerprint: "f", facts: .init(),
                    createdAt: Timestamp(milliseconds: 0))
            }
            diagnosis.add(records, app: "Cheese", now: Timestamp(milliseconds: 0))
            await Doctor(configuration, time: ManualTime()).reach(&diagnosis)
            return diagnosis.checks.dropFirst(environments.count).map(\.state)
        }
        #expect(await states([.production]) == [.ok])
        #expect(await states([.production, .sandbox]) == [.ok, .failed])
        try await listener.close()
    }
}
