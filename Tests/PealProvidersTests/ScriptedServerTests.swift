import PealCore
import Synchronization
import Testing

@testable import PealProviders

@Suite("Against a server that misbehaves", .serialized)
struct ScriptedServerTests {
    private let time = RealTime()

    private func provider(_ server: ScriptedServer, connections: Int = 2) throws -> APNsProvider {
        try APNsProvider(
            APNsConfiguration(
                production: .init(send: server.url, management: server.url),
                sandbox: .init(send: server.url, management: server.url),
                caFile: server.directory.file("cert.pem"), connectionsPerPoolMax: connections),
            .test(time))
    }

    private func send(_ count: Int, _ script: @escaping ScriptedServer.Script) async throws -> [String: Int] {
        let server = try ScriptedServer(script)
        let provider = try provider(server)
        let order = testOrder(count: count)
        provider.send(order)
        let tally = await order.flight.completed().tally
        await provider.close()
        return tally
    }

    /// Calls `body` with each request's stream once it is complete.
    private static func onRequest(_ frame: WireFrame?, _ body: (UInt32) -> Void) {
        guard let frame, frame.header.kind == HTTP2Frame.Kind.data, frame.header.has(HTTP2Frame.Flag.endStream) else {
            return
        }
        body(frame.header.streamID)
    }

    @Test("GOAWAY in the middle: what it refused is sent again elsewhere", .timeLimit(.minutes(10)))
    func goAway() async throws {
        let tally = try await send(500) { connection, frame in
            if frame == nil {
                connection.write(ServerFrame.settings([(3, 100)]) + ServerFrame.windowUpdate(0, 1_000_000))
            }
            Self.onRequest(frame) { stream in
                guard connection.number == 0 else { return connection.write(ServerFrame.headers(stream)) }
                if stream == 21 { connection.write(ServerFrame.goAway(21, debug: #"{"reason":"Shutdown"}"#)) }
                if stream <= 21 { connection.write(ServerFrame.headers(stream)) }
            }
        }
        #expect(tally == ["accepted": 500])
    }

    @Test(
        "a GOAWAY that names the credential, before any answer, stops the order at once", .timeLimit(.minutes(10)),
        arguments: ["BadCertificate", "InvalidProviderToken"])
    func goAwayCredential(reason: String) async throws {
        let connections = ScriptedServer.Counter()
        let tally = try await send(300) { connection, frame in
            if frame == nil {
                connection.write(ServerFrame.settings([(3, 100)]) + ServerFrame.windowUpdate(0, 1_000_000))
            }
            Self.onRequest(frame) { _ in
                _ = connections.next()
                connection.write(ServerFrame.goAway(0, .noError, debug: #"{"reason":"\#(reason)"}"#))
                connection.close()
            }
        }
        #expect(tally == ["verdict \(reason)": 300])
        #expect(connections.value == 1)
    }

    @Test("a GOAWAY with another reason, before any answer, causes no storm of connections", .timeLimit(.minutes(10)))
    func goAwayStorm() async throws {
        let connections = ScriptedServer.Counter()
        let tally = try await send(300) { connection, frame in
            if frame == nil {
                connection.write(ServerFrame.settings([(3, 100)]) + ServerFrame.windowUpdate(0, 1_000_000))
            }
            Self.onRequest(frame) { _ in
                _ = connections.next()
                connection.write(ServerFrame.goAway(0, .noError, debug: #"{"reason":"Shutdown"}"#))
                connection.close()
            }
        }
        #expect(tally.values.reduce(0, +) == 300)
        #expect(Set(tally.keys).isSubset(of: ["unsent NoConnection", "unsent Refused"]))
        #expect(connections.value <= Limits.resendsMax + 1)
    }

    @Test(
        "a refused topic rejects the messages that chose it, and stops the app or retires the device for the others",
        .timeLimit(.minutes(10)),
        arguments: ["TopicDisallowed", "BadTopic", "MissingTopic", "DeviceTokenNotForTopic"])
    func refusedTopic(reason: String) async throws {
        let server = try ScriptedServer { connection, frame in
            if frame == nil {
                connection.write(ServerFrame.settings([(3, 100)]) + ServerFrame.windowUpdate(0, 1_000_000))
            }
            Self.onRequest(frame) { stream in
                let body = #"{"reason":"\#(reason)"}"#
                connection.write(
                    ServerFrame.headers(stream, ServerFrame.status(400), ends: false)
                        + ServerFrame.data(stream, body, ends: true))
            }
        }
        let provider = try provider(server, connections: 1)
        var content = Content()
        content.platforms[.ios] = .init(
            fields: JSON.Members([("push_type", "voip"), ("payload", ["aps": [:]])]), options: .init())
        let own = try provider.render(APNsRenderingTests.order(content))
        #expect(own.hasOwnTopic)
        let order = testOrder(count: 20, notifications: [own])
        provider.send(order)
        let answers = await order.flight.completed().exceptions.values
        #expect(answers.count == 20 && answers.allSatisfy { $0.result == .verdict(.rejectMessage) })
        #expect(answers.allSatisfy { $0.reason == reason })
        let plain = testOrder(count: 20)
        provider.send(plain)
        let results = Set(await plain.flight.completed().exceptions.values.map(\.result))
        let judgesAddress = reason == "DeviceTokenNotForTopic"
        #expect(results.contains(.verdict(judgesAddress ? .retireAddress(since: nil, isSuspicious: true) : .stopApp)))
        await provider.close()
    }

    @Test("the sandbox's unique id is kept for small messages and not for large ones", .timeLimit(.minutes(10)))
    func uniqueIDs() async throws {
        let server = try ScriptedServer { connection, frame in
            if frame == nil {
                connection.write(ServerFrame.settings([(3, 100)]) + ServerFrame.windowUpdate(0, 1_000_000))
            }
            Self.onRequest(frame) { stream in
                let block = ServerFrame.status(200, [("apns-id", "x"), ("apns-unique-id", "u\(stream)")])
                connection.write(ServerFrame.headers(stream, block))
            }
        }
        let provider = try provider(server, connections: 1)
        let small = testOrder(count: 2, lane: .direct, route: .apnsSandbox)
        provider.send(small)
        let remarks = await small.flight.completed().exceptions.mapValues(\.reason)
        #expect(remarks == [0: "apns-unique-id u1", 1: "apns-unique-id u3"])
        let large = testOrder(count: 200, route: .apnsSandbox)
        provider.send(large)
        #expect(await large.flight.completed().exceptions.isEmpty)
        let production = testOrder(count: 2, lane: .direct)
        provider.send(production)
        #expect(await production.flight.completed().exceptions.isEmpty)
        await provider.close()
    }

    @Test("refused streams are retried, but not forever", .timeLimit(.minutes(10)))
    func refused() async throws {
        let attempts = ScriptedServer.Counter()
        let tally = try await send(40) { connection, frame in
            if frame == nil { connection.write(ServerFrame.settings()) }
            Self.onRequest(frame) { stream in
                // The first is answered, then every other refused.
                let isFirst = attempts.next() == 0
                connection.write(isFirst ? ServerFrame.headers(stream) : ServerFrame.reset(stream, .refusedStream))
            }
        }
        #expect(tally == ["accepted": 1, "unsent Refused": 39])
        #expect(attempts.value == 1 + 39 * (Limits.resendsMax + 1))
    }

    @Test("settings may shrink and grow while requests are in flight", .timeLimit(.minutes(10)))
    func settings() async throws {
        let open = Mutex<[Int: (open: Int, limit: Int, worst: Int)]>([:])
        let tally = try await send(600) { connection, frame in
            if frame == nil {
                open.withLock { $0[connection.number] = (0, 5, 0) }
                return connection.write(ServerFrame.settings([(3, 5), (4, 500), (1, 0)]))
            }
            if frame?.header.kind == HTTP2Frame.Kind.headers {
                open.withLock { $0[connection.number]!.open += 1 }
            }
            Self.onRequest(frame) { stream in
                let (count, worst) = open.withLock { open in
                    let state = open[connection.number]!
                    open[connection.number]!.worst = max(state.worst, state.open)
                    open[connection.number]!.open -= 1
                    return (stream / 2, state.open)
                }
                if worst > 5 { return connection.write(ServerFrame.goAway(0, .protocolError)) }
                let change: [(UInt16, UInt32)] = count % 2 == 0 ? [(4, 100), (1, 4096)] : [(4, 70_000), (1, 64)]
                connection.write(
                    ServerFrame.settings(change) + ServerFrame.windowUpdate(0, 300)
                        + ServerFrame.windowUpdate(stream + 2, 400) + ServerFrame.headers(stream))
            }
        }
        // A window update may meet a stream that is not begun: then that connection ends and its requests are lost.
        #expect(tally.values.reduce(0, +) == 600)
        #expect(Set(tally.keys).isSubset(of: ["accepted", "lost ConnectionLost", "unsent NoConnection"]))
    }

    @Test("answers may come in CONTINUATION frames, in pieces and after interim answers", .timeLimit(.minutes(10)))
    func pieces() async throws {
        let tally = try await send(300) { connection, frame in
            // Without the update, one connection may reach the end of its first flow-control window of 65,535 bytes.
            if frame == nil {
                connection.write(ServerFrame.settings([(3, 50)]) + ServerFrame.windowUpdate(0, 1_000_000))
            }
            Self.onRequest(frame) { stream in
                let block = ServerFrame.status(410)
                let bytes =
                    ServerFrame.headers(stream, ServerFrame.status(100), ends: false)
                    + ServerFrame.headers(stream, Array(block[..<2]), ends: false, endHeaders: false)
                    + ServerFrame.frame(HTTP2Frame.Kind.continuation, flags: 4, stream: stream, Array(block[2...]))
                    + ServerFrame.data(stream, #"{"reason":"Unregis"#, ends: false)
                    + ServerFrame.data(stream, #"tered"}"#)
                connection.write(Array(bytes[..<7]))
                connection.write(Array(bytes[7...]))
            }
        }
        #expect(tally == ["verdict Unregistered": 300])
    }

    @Test("invalid bytes end a connection and lose only what had begun on it", .timeLimit(.minutes(10)))
    func garbage() async throws {
        let tally = try await send(200) { connection, frame in
            if frame == nil { connection.write(ServerFrame.settings([(3, 10)])) }
            Self.onRequest(frame) { stream in
                if connection.number == 0 && stream == 11 {
                    connection.write(Array(repeating: 0xFF, count: 100))
                } else {
                    connection.write(ServerFrame.headers(stream))
                }
            }
        }
        let lost = tally["lost ConnectionLost"] ?? 0
        #expect((1...10).contains(lost))
        #expect(tally == ["accepted": 200 - lost, "lost ConnectionLost": lost])
    }

    @Test(
        "connections that close without an answer lose one request each and give the others back",
        .timeLimit(.minutes(10)))
    func closed() async throws {
        let tally = try await send(200) { connection, frame in
            if frame == nil { connection.write(ServerFrame.settings()) }
            Self.onRequest(frame) { _ in connection.close() }
        }
        #expect((1...Limits.connectionsPerPoolMax).contains(tally["lost ConnectionLost"] ?? 0), "one a connection")
        #expect(tally.values.reduce(0, +) == 200)
        #expect(tally.keys.sorted() == ["lost ConnectionLost", "unsent NoConnection"])
    }

    @Test("only one request is open before the first answer", .timeLimit(.minutes(10)))
    func provesFirst() async throws {
        let open = Mutex<[Int: Int]>([:])
        let worst = Mutex(0)
        let tally = try await send(200) { connection, frame in
            if frame == nil {
                connection.write(ServerFrame.settings([(3, 100)]) + ServerFrame.windowUpdate(0, 1_000_000))
            }
            Self.onRequest(frame) { stream in
                let before = open.withLock { open in
                    open[connection.number, default: 0] += 1
                    return open[connection.number]!
                }
                if stream == 1 {
                    // Anything that came before this answer is too early.
                    worst.withLock { $0 = max($0, before) }
                }
                connection.write(ServerFrame.headers(stream))
            }
        }
        #expect(tally == ["accepted": 200])
        #expect(worst.withLock { $0 } == 1)
    }

    @Test("stopped, overdue, drained and closed orders are answered to the last device", .timeLimit(.minutes(10)))
    func ends() async throws {
        let server = try ScriptedServer { connection, frame in
            if frame == nil { connection.write(ServerFrame.settings([(3, 4)])) }
            // Only the first is answered.
            Self.onRequest(frame) { if $0 == 1 { connection.write(ServerFrame.headers($0)) } }
        }
        let provider = try provider(server, connections: 1)
        let control = SendControl()
        let stopped = testOrder(count: 50, control: control)
        let overdue = testOrder(count: 50, deadline: time.uptime + .milliseconds(300))
        let open = testOrder(count: 50)
        for order in [stopped, overdue, open] { provider.send(order) }
        // One stream of four is kept free for small messages.
        while stopped.flight.answers.begun < 4, !Task.isCancelled { await Task.yield() }
        control.stop()
        while stopped.flight.answers.tally["unsent Stopped"] == nil, !Task.isCancelled { await Task.yield() }
        await expectTally(overdue.flight.completed().tally, ["unsent Deadline": 50])
        provider.drain(fingerprint: "test")
        await expectTally(open.flight.completed().tally, ["unsent Draining": 50])
        let late = testOrder(count: 3)
        await provider.close()
        provider.send(late)
        await expectTally(late.flight.completed().tally, ["unsent Draining": 3])
        let tally = await stopped.flight.completed().tally
        #expect(tally["accepted"] == 1)
        #expect(tally["unsent Stopped"] == 50 - stopped.flight.answers.begun)
        #expect(tally["lost ConnectionLost"] == stopped.flight.answers.begun - 1)
    }

    @Test("a small message overtakes a large one", .timeLimit(.minutes(10)))
    func lanes() async throws {
        let server = try ScriptedServer { connection, frame in
            if frame == nil { connection.write(ServerFrame.settings([(3, 40)])) }
            Self.onRequest(frame) { stream in
                // The first answer proves the connection; large ones have no answer then.
                guard let frame, stream == 1 || frame.payload.count == 100 else { return }
                connection.write(ServerFrame.headers(stream))
            }
        }
        let provider = try provider(server, connections: 1)
        let bulk = testOrder(count: 1000)
        provider.send(bulk)
        while bulk.flight.answers.begun < 39, !Task.isCancelled { await Task.yield() }
        let direct = testOrder(count: 1, notifications: [testNotification(bodyBytes: 100)], lane: .direct)
        provider.send(direct)
        await expectTally(direct.flight.completed().tally, ["accepted": 1])
        await provider.close()
        #expect(await bulk.flight.completed().tally.values.reduce(0, +) == 1000)
    }

    @Test(
        "single requests refuse an answer with a status that HTTP/2 does not have", .timeLimit(.minutes(10)),
        arguments: [[""], ["0"], ["-5"], ["099"], ["103"], ["1999", "200"], ["101", "200"]])
    func impossibleStatus(statuses: [String]) async throws {
        let server = try ScriptedServer { connection, frame in
            guard let frame else { return connection.write(ServerFrame.settings()) }
            let kinds = [HTTP2Frame.Kind.headers, HTTP2Frame.Kind.data]
            guard kinds.contains(frame.header.kind), frame.header.has(HTTP2Frame.Flag.endStream) else { return }
            for (index, status) in statuses.enumerated() {
                let block = [0x08, UInt8(status.utf8.count)] + Array(status.utf8)
                connection.write(
                    ServerFrame.headers(frame.header.streamID, block, ends: index == statuses.count - 1))
            }
        }
        let client = try testClient {
            $0.caFile = server.directory.file("cert.pem")
            $0.allowsHTTP2 = true
        }
        await #expect(throws: OutboundFailure.lost("ConnectionLost")) {
            try await client.send(OutboundRequest(url: server.url))
        }
        await client.close()
    }
}
