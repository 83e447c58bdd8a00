import Logging
import NIOCore
import NIOHPACK
import NIOPosix
import PealCore
import Synchronization
import Testing

@testable import PealProviders

/// Accepts every request, uses ids, and requires no proof first.
struct PlainExchange: Exchange {
    var idName: String? { "apns-id" }
    var provesFirst: Bool { false }
    func authorization() -> Authorization? { nil }
    func answer(to response: ProviderResponse) -> ProviderAnswer {
        ProviderAnswer(.verdict(.rejectMessage), reason: "Status\(response.status)", status: response.status)
    }
}

/// A connection that answers its last nine requests late. Used on the server's only event loop.
private final class SilentConnection: @unchecked Sendable {
    var connection: ScriptedServer.Connection?

    func answer() {
        for streamID in stride(from: UInt32(21), to: 39, by: 2) { connection?.write(ServerFrame.headers(streamID)) }
        connection = nil
    }
}

@Suite("A pool and its connections over TLS", .serialized)
struct ConnectionPoolTests {
    private func pool(
        _ server: ScriptedServer, _ time: any TimeSource = RealTime(), streamIDMax: UInt32 = HTTP2Frame.streamIDMax,
        connections: Int = 2
    ) throws -> ConnectionPool {
        ConnectionPool(
            connector: Connector(
                endpoint: RemoteEndpoint(host: "localhost", port: server.port),
                tls: try Connector.context(caFile: server.directory.file("cert.pem")),
                group: MultiThreadedEventLoopGroup.singleton),
            exchange: PlainExchange(),
            settings: .init(
                connectionsMax: connections, openingPause: .milliseconds(5), streamIDMax: streamIDMax,
                tick: .milliseconds(20)),
            time: time, randomness: SeededRandomness(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private static let windows = ServerFrame.settings([(3, 100)]) + ServerFrame.windowUpdate(0, 1_000_000_000)

    private static func isRequest(_ frame: WireFrame?) -> Bool {
        frame?.header.kind == HTTP2Frame.Kind.data && frame?.header.has(HTTP2Frame.Flag.endStream) == true
    }

    @Test("a connection is replaced before its stream ids run out", .timeLimit(.minutes(10)))
    func rotation() async throws {
        let server = try ScriptedServer { connection, frame in
            guard let frame else { return connection.write(Self.windows) }
            if Self.isRequest(frame) { connection.write(ServerFrame.headers(frame.header.streamID)) }
        }
        let pool = try pool(server, streamIDMax: 10_401)
        let orders = (0..<3).map { _ in testOrder(count: 1000) }
        for order in orders { pool.submit(order) }
        for order in orders { await expectTally(order.flight.completed().tally, ["accepted": 1000]) }
        #expect(server.connectionCount >= 9)
        await pool.close()
    }

    @Test(
        "requests without an answer are lost after the time-out, while the connection lives on",
        .timeLimit(.minutes(10))
    )
    func timeout() async throws {
        let time = ManualTime()
        let server = try ScriptedServer { connection, frame in
            guard let frame else { return connection.write(Self.windows) }
            if frame.header.kind == HTTP2Frame.Kind.ping {
                connection.write(ServerFrame.frame(HTTP2Frame.Kind.ping, flags: 1, frame.payload))
            }
            // Every third is never answered.
            if Self.isRequest(frame), frame.header.streamID % 3 != 0 {
                connection.write(ServerFrame.headers(frame.header.streamID))
            }
        }
        let pool = try pool(server, time, connections: 1)
        let order = testOrder(count: 90, deadline: .seconds(100_000))
        pool.submit(order)
        while order.flight.answers.tally["accepted"] != 60, !Task.isCancelled { await Task.yield() }
        try await advance(time, seconds: Limits.requestTimeoutSeconds + 2)
        await expectTally(order.flight.completed().tally, ["accepted": 60, "lost Timeout": 30])
        #expect(server.connectionCount == 1)
        await pool.close()
    }

    @Test(
        "a peer that falls silent gets no more requests, and its open ones are lost after the time-out",
        .timeLimit(.minutes(10))
    )
    func stalled() async throws {
        let time = ManualTime()
        let server = try ScriptedServer { connection, frame in
            guard let frame else { return connection.write(ServerFrame.settings([(3, 10)])) }
            if Self.isRequest(frame), connection.number > 0 || frame.header.streamID < 20 {
                connection.write(ServerFrame.headers(frame.header.streamID))
            }
        }
        let pool = try pool(server, time, connections: 1)
        let order = testOrder(count: 100, deadline: .seconds(100_000))
        pool.submit(order)
        while order.flight.answers.tally["accepted"] != 10, !Task.isCancelled { await Task.yield() }
        try await advance(time, seconds: 12)
        while order.flight.answers.tally["accepted"] != 91, !Task.isCancelled { await Task.yield() }
        expectTally(order.flight.answers.tally, ["accepted": 91])
        try await advance(time, seconds: Limits.requestTimeoutSeconds - 10)
        await expectTally(order.flight.completed().tally, ["accepted": 91, "lost Timeout": 9])
        #expect(server.connectionCount == 2)
        await pool.close()
    }

    @Test("a peer that was silent for a while may still answer, and nothing is sent twice", .timeLimit(.minutes(10)))
    func paused() async throws {
        let time = ManualTime()
        let silent = SilentConnection()
        let server = try ScriptedServer { connection, frame in
            guard let frame else {
                if connection.number == 0 { silent.connection = connection }
                return connection.write(ServerFrame.settings([(3, 10)]))
            }
            guard Self.isRequest(frame) else { return }
            if connection.number > 0 || frame.header.streamID < 20 {
                connection.write(ServerFrame.headers(frame.header.streamID))
            }
            if connection.number > 0 { silent.answer() }
        }
        let pool = try pool(server, time, connections: 1)
        let order = testOrder(count: 100, deadline: .seconds(100_000))
        pool.submit(order)
        while order.flight.answers.tally["accepted"] != 10, !Task.isCancelled { await Task.yield() }
        try await advance(time, seconds: 12)
        await expectTally(order.flight.completed().tally, ["accepted": 100])
        #expect(server.connectionCount == 2)
        await pool.close()
    }

    @Test("a peer that no longer opens its window is abandoned, and every device is sent to", .timeLimit(.minutes(10)))
    func starved() async throws {
        let time = ManualTime()
        // The protocol's first window takes fifteen such bodies and a part of another.
        let server = try ScriptedServer { connection, frame in
            guard let frame else { return connection.write(ServerFrame.settings([(3, 100)])) }
            if Self.isRequest(frame) { connection.write(ServerFrame.headers(frame.header.streamID)) }
            if frame.header.kind == HTTP2Frame.Kind.ping, !frame.header.has(HTTP2Frame.Flag.acknowledgement) {
                connection.write(ServerFrame.frame(HTTP2Frame.Kind.ping, flags: 1, frame.payload))
            }
        }
        let pool = try pool(server, time, connections: 1)
        let order = testOrder(
            count: 20, notifications: [testNotification(bodyBytes: 4096)], deadline: .seconds(100_000))
        pool.submit(order)
        while order.flight.answers.tally["accepted"] != 15, !Task.isCancelled { await Task.yield() }
        try await advance(time, seconds: Limits.requestTimeoutSeconds + 3)
        await expectTally(order.flight.completed().tally, ["accepted": 20])
        #expect(server.connectionCount == 2)
        await pool.close()
    }

    /// Lets the connections' ticks see every second.
    private func advance(_ time: ManualTime, seconds: Int64) async throws {
        for _ in 0..<seconds {
            time.advance(.seconds(1))
            try await MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(30)) {}
                .futureResult.get()
        }
    }

    @Test("a peer that reads slowly gets everything in the end", .timeLimit(.minutes(10)))
    func slowReader() async throws {
        let server = try ScriptedServer { connection, frame in
            guard let frame else {
                connection.write(
                    ServerFrame.settings([(3, 2000), (4, 1_000_000)]) + ServerFrame.windowUpdate(0, 1_000_000_000))
                return
            }
            guard Self.isRequest(frame) else { return }
            if frame.header.streamID % 501 == 0 { connection.pause(.milliseconds(300)) }
            connection.write(ServerFrame.headers(frame.header.streamID))
        }
        let pool = try pool(server)
        let orders = (0..<4).map { _ in testOrder(count: 1000, notifications: [testNotification(bodyBytes: 4096)]) }
        for order in orders { pool.submit(order) }
        for order in orders { await expectTally(order.flight.completed().tally, ["accepted": 1000]) }
        await pool.close()
    }

    /// What a server saw: the ids that it accepted, and a header table per connection to decode them.
    private final class Ledger: Sendable {
        struct State {
            var decoders: [Int: HPACKDecoder] = [:]
            var ids: [Int: [UInt32: String]] = [:]
            var accepted: [String: Int] = [:]
            /// Streams above it are none of a connection's.
            var last: [Int: UInt32] = [:]
        }

        let state = Mutex(State())

        func note(_ connection: Int, _ frame: WireFrame) {
            state.withLock { state in
                var buffer = ByteBuffer(bytes: frame.payload)
                let decoded = try? state.decoders[connection, default: HPACKDecoder(allocator: ByteBufferAllocator())]
                    .decodeHeaders(from: &buffer)
                state.ids[connection, default: [:]][frame.header.streamID] =
                    decoded?.first(name: "apns-id") ?? "undecodable"
            }
        }

        func goAway(_ connection: Int, _ last: UInt32) -> [UInt8] {
            state.withLock { state in
                state.last[connection] = min(last, state.last[connection] ?? last)
                return ServerFrame.goAway(state.last[connection] ?? last)
            }
        }

        func isProcessed(_ connection: Int, _ stream: UInt32) -> Bool {
            state.withLock { stream <= $0.last[connection] ?? .max }
        }

        func accept(_ connection: Int, _ stream: UInt32) {
            state.withLock { state in
                let id = state.ids[connection]?[stream] ?? "unknown \(connection) \(stream)"
                state.accepted[id, default: 0] += 1
            }
        }
    }

    @Test(
        "during random faults every device has one answer, and nothing that was accepted is sent again",
        .timeLimit(.minutes(4)),
        arguments: 1...8)
    func chaos(seed: Int) async throws {
        let ledger = Ledger()
        let randomness = SeededRandomness(UInt64(seed))
        let server = try ScriptedServer { connection, frame in
            guard let frame else { return connection.write(Self.windows) }
            if frame.header.kind == HTTP2Frame.Kind.headers { ledger.note(connection.number, frame) }
            guard Self.isRequest(frame) else { return }
            let stream = frame.header.streamID
            guard ledger.isProcessed(connection.number, stream) else { return }
            func accept() {
                ledger.accept(connection.number, stream)
                connection.write(ServerFrame.headers(stream))
            }
            switch randomness.next() % 300 {
            case 0: connection.close()
            case 1:
                connection.write(
                    ledger.goAway(connection.number, stream > 40 ? stream - 40 : 1) + ServerFrame.reset(1, .noError))
            case 2:
                connection.write(ledger.goAway(connection.number, HTTP2Frame.streamIDMax))
                accept()
            case 3: connection.write(randomness.bytes(40))
            case 4...20: connection.write(ServerFrame.reset(stream, .refusedStream))
            case 21...30: connection.write(ServerFrame.reset(stream, .internalError))
            case 31...40:
                connection.write(
                    ServerFrame.headers(stream, ServerFrame.status(500), ends: false) + ServerFrame.data(stream, "x"))
            case 41...45:
                connection.write(
                    ServerFrame.settings([
                        (3, UInt32(1 + randomness.next() % 100)), (4, UInt32(200 + randomness.next() % 70_000)),
                    ]))
                accept()
                connection.write(ServerFrame.windowUpdate(stream, 1000))
            default: accept()
            }
        }
        let pool = try pool(server)
        let orders = (0..<4).map {
            testOrder(count: 500, deadline: .seconds(20), message: MessageID(high: UInt64($0), low: 1))
        }
        for order in orders { pool.submit(order) }
        var tally: [String: Int] = [:]
        try await advanceOrClose(orders, pool)
        for order in orders { tally.merge(order.flight.answers.tally, uniquingKeysWith: +) }
        #expect(tally.values.reduce(0, +) == 2000)
        #expect(tally["accepted", default: 0] > 0)
        let accepted = ledger.state.withLock { $0.accepted }
        #expect(accepted.filter { $0.value > 1 || $0.key.hasPrefix("un") }.isEmpty)
        #expect(accepted.count >= tally["accepted", default: 0])
        await pool.close()
    }

    /// Closes the pool two seconds after something was accepted: requests that wait for a window that never opens are
    /// lost.
    private func advanceOrClose(_ orders: [PageOrder], _ pool: ConnectionPool) async throws {
        // Unstructured, so that it can be abandoned once everything is answered.
        let closing = Task {
            repeat {
                try await Task.sleep(for: .seconds(2))
            } while orders.allSatisfy {
                $0.flight.answers.tally["accepted", default: 0] == 0
            }
            pool.drain()
            await pool.close()
        }
        for order in orders { _ = await order.flight.completed() }
        closing.cancel()
        _ = await closing.result
    }
}
