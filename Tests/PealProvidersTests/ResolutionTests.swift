import Logging
import NIOCore
import NIOPosix
import PealCore
import Synchronization
import Testing

@testable import PealProviders

/// Resolves every name to the loopback interface, and counts the lookups.
private final class CountingResolver: Resolver, Sendable {
    private let loop: any EventLoop
    private let note: @Sendable (String) -> Void

    /// - Parameter note: called with each name asked for.
    init(_ loop: any EventLoop, note: @escaping @Sendable (String) -> Void) {
        self.loop = loop
        self.note = note
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        note(host)
        return loop.makeCompletedFuture { [try SocketAddress(ipAddress: "127.0.0.1", port: port)] }
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture([])
    }

    func cancelQueries() {}
}

@Suite("Names of hosts", .serialized)
struct ResolutionTests {
    @Test("are looked up again for every connection", .timeLimit(.minutes(10)))
    func uncached() async throws {
        let asked = Mutex<[String]>([])
        let server = try ScriptedServer { connection, frame in
            if frame == nil { connection.write(ServerFrame.settings([(3, 100)])) }
            guard let frame, frame.header.kind == HTTP2Frame.Kind.data else { return }
            // Each connection answers ten requests and closes.
            connection.write(ServerFrame.headers(frame.header.streamID))
            if frame.header.streamID == 19 { connection.write(ServerFrame.goAway(19)) }
        }
        var connector = Connector(
            endpoint: RemoteEndpoint(host: "localhost", port: server.port),
            tls: try Connector.context(caFile: server.directory.file("cert.pem")),
            group: MultiThreadedEventLoopGroup.singleton)
        connector.makeResolver = { loop in
            CountingResolver(loop) { name in asked.withLock { $0.append(name) } }
        }
        let pool = ConnectionPool(
            connector: connector, exchange: PlainExchange(), settings: .init(connectionsMax: 1), time: RealTime(),
            randomness: SeededRandomness(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let order = testOrder(count: 100)
        pool.submit(order)
        await expectTally(order.flight.completed().tally, ["accepted": 100])
        await pool.close()
        #expect(server.connectionCount >= 10)
        #expect(asked.withLock { $0 } == Array(repeating: "localhost", count: server.connectionCount))
    }
}
