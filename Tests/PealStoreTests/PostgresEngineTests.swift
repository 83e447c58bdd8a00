import Foundation
import PealCore
import PealPostgres
@testable import PealStore
import PealTesting
import Synchronization
import Testing

/// What only PostgreSQL has: other processes that use the database, and a network in between.
@Suite("PostgreSQL engine")
struct PostgresEngineTests {
    struct Refusal: Error {}

    #if canImport(Darwin)
        private static let streamSocket = SOCK_STREAM
    #else
        private static let streamSocket = Int32(SOCK_STREAM.rawValue)
    #endif

    final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .relaxed) }
        func set() { value.store(true, ordering: .relaxed) }
    }

    @Test("docs/operations.md says how many connections a server opens")
    func connectionsDocumented() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/operations.md"), encoding: .utf8)
        let count = PostgresEngine.connectionsMax
        #expect(text.contains("Each server opens at most \(count). "))
        #expect(text.contains("Set PostgreSQL's `max_connections` to \(count) times the number of servers"))
    }

    @Test("concurrent transactions of two processes that check and then write are serialized")
    func writeSkew() async throws {
        let first = try await StoreUnderTest.postgres.open()
        let second = try await first.anotherNode()
        // Each adds a row only while there are fewer than ten: without a serial order, both would see nine.
        let added = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<60 {
                let node = number % 2 == 0 ? first : second
                group.addTask {
                    try await node.engine.write(.control) { connection in
                        let count = try connection.count("SELECT COUNT(*) FROM counter WHERE name > 'row'")
                        guard count < 10 else { return false }
                        try connection.post("INSERT INTO counter (name, value) VALUES (\("row \(number)"), 1)")
                        return true
                    }
                }
            }
            return try await group.reduce(0) { $1 ? $0 + 1 : $0 }
        }
        let rows = try await first.engine.read { try $0.count("SELECT COUNT(*) FROM counter WHERE name > 'row'") }
        #expect(rows == 10)
        #expect(added == 10)
    }

    @Test("commits wait for the disk although the database's default is not to", arguments: [true, false])
    func durability(preparesStatements: Bool) async throws {
        let test = try await StoreUnderTest.postgres.open()
        for (value, expected) in [("off", "on"), ("remote_write", "remote_write")] {
            try PostgresServer.shared().execute(
                "ALTER DATABASE \(test.databaseName) SET synchronous_commit = \(value)", in: "postgres")
            let engine = PostgresEngine(PostgresSettings(url: test.url, preparesStatements: preparesStatements))
            defer { try? engine.close() }
            for _ in 0..<2 {
                let used = try await engine.write(.control) { connection in
                    try connection.value("SELECT current_setting('synchronous_commit')", String.self)
                }
                #expect(used == expected)
            }
        }
    }

    @Test("a server that hangs does not block callers forever")
    func hangs() async throws {
        let test = try await StoreUnderTest.postgres.open()
        await #expect(throws: PealError.self) {
            try await test.engine.write(.control) { connection in
                let process = try #require(try connection.value("SELECT pg_backend_pid()::BIGINT", Int64.self))
                kill(pid_t(process), SIGSTOP)
                // A thread of its own lets it go on: while it is stopped, no database can be created or dropped, for
                // which the other tests keep Swift's threads waiting.
                Thread.detachNewThread {
                    Thread.sleep(forTimeInterval: 14)
                    kill(pid_t(process), SIGCONT)
                }
                try connection.execute("DELETE FROM counter WHERE name = 'none'")
            }
        }
        // The next one gets another connection.
        try await test.engine.write(.control) { _ = try $0.execute("DELETE FROM counter WHERE name = 'none'") }
    }

    @Test("nor does one that hangs before it has read all that is sent to it")
    func hangsWhileReading() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let error = await #expect(throws: PealError.self) {
            try await test.engine.write(.control) { connection in
                let process = try #require(try connection.value("SELECT pg_backend_pid()::BIGINT", Int64.self))
                kill(pid_t(process), SIGSTOP)
                // As above. A caller that waited for it would then succeed.
                Thread.detachNewThread {
                    Thread.sleep(forTimeInterval: 14)
                    kill(pid_t(process), SIGCONT)
                }
                let bytes = [UInt8](repeating: 0, count: 32 << 20)
                _ = try connection.value("SELECT length(\(bytes))::BIGINT", Int64.self)
            }
        }
        #expect(error?.code == .unavailable)
    }

    @Test("a statement with more bytes than the socket holds is sent completely")
    func largeStatement() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let bytes = [UInt8](repeating: 7, count: 32 << 20)
        let length = try await test.engine.read { try $0.value("SELECT length(\(bytes))::BIGINT", Int64.self) }
        #expect(length == Int64(bytes.count))
    }

    @Test("the loss of many connections is logged once, and so is its end")
    func lossLog() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let lines = Mutex<[String]>([])
        let engine = PostgresEngine(PostgresSettings(url: test.url) { line in lines.withLock { $0.append(line) } })
        for _ in 0..<2 {
            for lane in ReadLane.allCases {
                _ = try await engine.read(lane) { try $0.value("SELECT 1::BIGINT", Int64.self) }
            }
            try PostgresServer.shared().execute(
                """
                SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = '\(test.databaseName)' AND pid <> pg_backend_pid()
                """, in: "postgres")
        }
        _ = try await engine.read(.brief) { try $0.value("SELECT 1::BIGINT", Int64.self) }
        let lost = lines.withLock { $0.filter { $0.hasPrefix("the connection to the database was lost: ") } }
        let restored = lines.withLock { $0.filter { $0 == "the connection to the database is restored" } }
        #expect(!lost.isEmpty && lost.count == restored.count)
        // On a busy machine, the second loss may be another outage.
        #expect(lost.count < ReadLane.allCases.count, "\(lost)")
        try engine.close()
    }

    @Test("a flood of messages does not delay or refuse the server's own work")
    func controlBesideIntake() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let stop = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    let end = ContinuousClock.now + .seconds(60)
                    while !stop.isSet, .now < end {
                        try await test.engine.write(.intake) { try $0.query("SELECT pg_sleep(0.01)", []) { _ in } }
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(200))
            for _ in 0..<5 {
                let took = try await ContinuousClock().measure {
                    try await test.engine.write(.control) { try $0.query("SELECT 1", []) { _ in } }
                }
                #expect(took < .seconds(10))
            }
            stop.set()
            try await group.waitForAll()
        }
    }

    @Test("control writes are accepted while intake is full")
    func controlBesideFullIntake() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let (mayGo, isFull) = (Flag(), Flag())
        defer { mayGo.set() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Limits.writerItemsWaitingMax + 100 {
                group.addTask {
                    do {
                        try await test.engine.write(.intake) { _ in while !mayGo.isSet { usleep(5000) } }
                    } catch let error as PealError where error.code == .rateLimited {
                        isFull.set()
                    }
                }
            }
            try await Polling.wait(for: "a refusal") { isFull.isSet }
            group.addTask { try await test.engine.write(.control) { try $0.query("SELECT 1", []) { _ in } } }
            try await Task.sleep(for: .milliseconds(100))
            mayGo.set()
            try await group.waitForAll()
        }
    }

    @Test("short reads do not wait for long ones")
    func briefReads() async throws {
        let test = try await StoreUnderTest.postgres.open()
        // Connects.
        try await test.engine.read(.brief) { try $0.query("SELECT 1", []) { _ in } }
        let (hasBegun, mayEnd) = (Flag(), Flag())
        // As many as their lane's connections and more, so that further ones would wait.
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await test.engine.read(.delivery) { _ in
                        hasBegun.set()
                        for _ in 0..<800 where !mayEnd.isSet { usleep(5000) }
                        return mayEnd.isSet
                    }
                }
            }
            try await Polling.wait(for: "a long read") { hasBegun.isSet }
            try await test.engine.read(.brief) { try $0.query("SELECT 1", []) { _ in } }
            mayEnd.set()
            let isIndependent = try await group.allSatisfy { $0 }
            #expect(isIndependent, "the short read waited for long ones")
        }
    }

    @Test("writes and reads continue when the server ends their connections")
    func lostConnections() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let server = try PostgresServer.shared()
        let unavailable = try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    var unavailable = 0
                    for number in 0..<50 {
                        do {
                            try await test.store.write(.intake) { try $0.setSetting("\(worker) \(number)", [1]) }
                        } catch let error as PealError where error.code == .unavailable {
                            // The answer to a COMMIT was lost.
                            unavailable += 1
                        }
                        // A new connection may be ended before it is used.
                        for _ in 0..<100 {
                            if (try? await test.store.read { try $0.setting("0 0") }) != nil { break }
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    }
                    return unavailable
                }
            }
            group.addTask {
                for _ in 0..<5 {
                    try server.execute(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid()
                        """, in: test.databaseName)
                    try await Task.sleep(for: .milliseconds(20))
                }
                return 0
            }
            return try await group.reduce(0, +)
        }
        let count = try await test.engine.read { try $0.count("SELECT COUNT(*) FROM setting WHERE name < ':'") }
        #expect(count >= 200 - unavailable)
    }

    @Test("a failing write undoes itself, and leaves no trace in the next")
    func undone() async throws {
        let test = try await StoreUnderTest.postgres.open()
        await #expect(throws: Refusal.self) {
            try await test.store.write(.settle) { session in
                try session.setSetting("lost", [1])
                throw Refusal()
            }
        }
        let error = await #expect(throws: PealError.self) {
            try await test.engine.write(.settle) { connection in
                // Its failure shows only when the transaction ends.
                try connection.post("INSERT INTO setting (name, value) VALUES ('lost', NULL)")
            }
        }
        #expect(error?.code == .internal)
        let swallowed = await #expect(throws: PealError.self) {
            try await test.engine.write(.settle) { connection in
                _ = try? connection.execute("SELECT nonsense", [])
                _ = try? connection.execute("INSERT INTO setting (name, value) VALUES ('lost', $1)", [.bytes([1])])
            }
        }
        #expect(swallowed?.code == .internal)
        try await test.store.write(.settle) { try $0.setSetting("kept", [1]) }
        #expect(try await test.store.read { try $0.setting("lost") } == nil)
        #expect(try await test.store.read { try $0.setting("kept") } == [1])
    }

    @Test("without prepared statements nothing stays on a connection between transactions")
    func pooler() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let engine = PostgresEngine(PostgresSettings(url: test.url, preparesStatements: false))
        let numbers = try await engine.write(.control) { connection in
            try connection.post("INSERT INTO counter (name, value) VALUES (\("a"), \(1))")
            return try connection.values("SELECT value FROM counter WHERE name = \("a")", Int64.self)
        }
        #expect(numbers == [1])
        let (limit, prepared) = try await engine.read { connection in
            (
                try connection.value("SELECT current_setting('statement_timeout')", String.self),
                try connection.count("SELECT COUNT(*) FROM pg_prepared_statements")
            )
        }
        #expect(limit == "5s")
        #expect(prepared == 0)
        try engine.close()
    }

    @Test("a statement that takes longer than five seconds ends as unavailable")
    func statementTimeout() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let error = await #expect(throws: PealError.self) {
            try await test.engine.read { try $0.query("SELECT pg_sleep(60)", []) { _ in } }
        }
        #expect(error?.code == .unavailable)
    }

    @Test(
        "a temporary failure ends as unavailable, so that no write is blamed for it",
        arguments: ["57014", "25P04", "42501", "53100", "58030"])
    func passing(state: String) async throws {
        let test = try await StoreUnderTest.postgres.open()
        let error = await #expect(throws: PealError.self) {
            try await test.engine.write(.settle) { connection in
                try connection.execute("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '\(state)'; END $$", [])
            }
        }
        #expect(error?.code == .unavailable)
        #expect(state != "42501" || error?.message.contains("lacks a right: PostgreSQL error 42501") == true)
    }

    @Test("the log says once why the database refuses transactions, and callers learn that its disk is full")
    func refusals() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let lines = Mutex<[String]>([])
        let engine = PostgresEngine(PostgresSettings(url: test.url) { line in lines.withLock { $0.append(line) } })
        for lane in [WriteLane.settle, .intake, .settle] {
            let error = await #expect(throws: PealError.self) {
                try await engine.write(lane) { connection in
                    try connection.execute("DO $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END $$", [])
                }
            }
            #expect(error?.code == .unavailable && error?.message == "the database's disk is full")
        }
        #expect(lines.withLock(\.self) == ["the database refused a transaction: PostgreSQL error 53100: no space"])
        try engine.close()
    }

    @Test("a server that accepts connections and does not answer is asked once before a caller learns of it")
    func silentServer() async throws {
        let listener = socket(AF_INET, Self.streamSocket, 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { pointer -> UInt16 in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ =
                    bind(listener, $0, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, $0, &length) == 0
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
        try #require(port > 0)
        let engine = PostgresEngine(PostgresSettings(url: "postgresql://peal@127.0.0.1:\(port)/peal?sslmode=disable"))
        let error = await #expect(throws: PealError.self) { try await engine.write(.settle) { _ in } }
        #expect(error?.code == .unavailable)
        try engine.close()
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        var connections = 0
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }
            close(connection)
            connections += 1
        }
        #expect(connections == 1)
    }

    @Test("a server that cannot be reached is unavailable at once, not after a wait")
    func unreachable() async throws {
        let lines = Mutex<[String]>([])
        let engine = PostgresEngine(
            PostgresSettings(url: "postgresql:///x?host=/nonexistent") { line in lines.withLock { $0.append(line) } })
        for _ in 0..<3 {
            let error = await #expect(throws: PealError.self) { try await engine.write(.settle) { _ in } }
            #expect(error?.code == .unavailable)
        }
        #expect(lines.withLock { $0.count } == 1)
        #expect(throws: StoreStartFailure.self) { try engine.check() }
        try engine.close()
        await #expect(throws: PealError.self) { try await engine.write(.settle) { _ in } }
    }
}
