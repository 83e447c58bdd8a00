import Foundation
import PealPostgres
@testable import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("Signals between processes")
struct PostgresSignalsTests {
    private final class Received: Sendable {
        private let events = Mutex<[PostgresSignals.Event]>([])
        func append(_ event: PostgresSignals.Event) { events.withLock { $0.append(event) } }
        var all: [PostgresSignals.Event] { events.withLock { $0 } }
        var signals: [String] { all.compactMap { if case .signal(let text) = $0 { text } else { nil } } }
    }

    @Test("every other process receives what one sends, in order, and the sender does not")
    func delivery() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let settings = PostgresSettings(url: test.url)
        let nodes = (0..<3).map { _ in (PostgresSignals(settings), Received()) }
        for (signals, received) in nodes { signals.start { received.append($0) } }
        try await Polling.wait(for: "all connections") { nodes.allSatisfy { $0.1.all == [.connected] } }
        let sent = (0..<2000).map { "it's number \($0)" }
        for text in sent { nodes[0].0.send(text) }
        try await Polling.wait(for: "all signals") { nodes.dropFirst().allSatisfy { $0.1.signals.count == 2000 } }
        #expect(nodes[1].1.signals == sent)
        #expect(nodes[2].1.signals == sent)
        #expect(nodes[0].1.signals == [])
        for (signals, _) in nodes { await signals.close() }
    }

    @Test("after a lost connection the receiver learns that it may have missed something")
    func reconnection() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let signals = PostgresSignals(PostgresSettings(url: test.url))
        let received = Received()
        signals.start { received.append($0) }
        try await Polling.wait(for: "a connection") { received.all.count == 1 }
        try PostgresServer.shared().execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """, in: test.databaseName)
        try await Polling.wait(for: "another connection") { received.all == [.connected, .connected] }
        await signals.close()
    }

    @Test("a notification that the database refuses costs no connection")
    func refusal() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let settings = PostgresSettings(url: test.url)
        let nodes = (0..<2).map { _ in (PostgresSignals(settings), Received()) }
        for (signals, received) in nodes { signals.start { received.append($0) } }
        try await Polling.wait(for: "all connections") { nodes.allSatisfy { $0.1.all == [.connected] } }
        // The statement ends in mid-text.
        nodes[0].0.send("\u{0}")
        for number in 1...10 {
            nodes[1].0.send("\(number)")
            try await Polling.wait(for: "a signal") { nodes[0].1.signals.count == number }
        }
        #expect(nodes[0].1.all.count { $0 == .connected } == 1)
        for (signals, _) in nodes { await signals.close() }
    }

    @Test("a server that hangs does not keep a process from ending")
    func hangs() async throws {
        let test = try await StoreUnderTest.postgres.open()
        let signals = PostgresSignals(PostgresSettings(url: test.url))
        let received = Received()
        signals.start { received.append($0) }
        try await Polling.wait(for: "a connection") { received.all.count == 1 }
        let process = try #require(
            try await test.engine.read { connection in
                try connection.value(
                    """
                    SELECT pid::BIGINT FROM pg_stat_activity
                    WHERE datname = current_database() AND query LIKE 'LISTEN%'
                    """, Int64.self)
            })
        kill(pid_t(process), SIGSTOP)
        // As in the test of the engine: while it is stopped, no database can be created or dropped.
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: 30)
            kill(pid_t(process), SIGCONT)
        }
        signals.send("a signal")
        try await Task.sleep(for: .milliseconds(200))
        let took = await ContinuousClock().measure { await signals.close() }
        #expect(took < .seconds(28))
    }
}
