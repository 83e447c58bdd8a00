import NIOHTTP1
import NIOPosix
import PealCore
import PealTesting
import Testing

@testable import PealProviders

@Suite("A pool of single requests")
struct RequestPoolTests {
    private func pool(
        _ exchange: TestExchange = .init(), _ bounds: RequestQueue.Bounds = .init(),
        time: any TimeSource = ManualTime(),
        client change: (inout OutboundClient.Options) -> Void = { _ in }
    ) throws -> RequestPool {
        RequestPool(
            client: try testClient(time: time, change), exchange: exchange, bounds: bounds,
            group: MultiThreadedEventLoopGroup.singleton, time: time, logger: quiet)
    }

    private func addresses(_ count: Int, at url: String) -> [String] { (0..<count).map { "\(url)/\($0)" } }

    @Test("posts each device's request to its own URL, over connections that are kept")
    func plain() async throws {
        let peer = try HTTPPeer { $0.target == "/3" ? .reply(404) : .reply(200) }
        let pool = try pool()
        let order = requestOrder(addresses(200, at: peer.url))
        pool.submit(order)
        let answers = await order.flight.completed()
        #expect(answers.tally == ["accepted": 199, "verdict Status404": 1])
        #expect(answers.answer(3)?.status == 404)
        #expect(answers.begun == 200)
        #expect(Set(peer.requests.map(\.target)).count == 200)
        #expect(Set(peer.requests.compactMap { $0["x-id"] }).count == 200)
        #expect(peer.connectionCount < 100)
        for request in peer.requests {
            #expect(request.version == .http1_1 && request.body == Array("hello".utf8))
            #expect(request["content-length"] == "5")
            #expect(request["transfer-encoding"] == nil && request["expect"] == nil)
        }
        await pool.close()
    }

    @Test("bounds what is on the wire, and keeps a share of it free for direct orders")
    func bounds() async throws {
        let peer = try HTTPPeer { $0.target == "/direct" ? .reply(200) : .hold }
        let pool = try pool(.init(), .init(inFlightMax: 32, perOriginMax: 16))
        let bulk = requestOrder(addresses(40, at: peer.url))
        pool.submit(bulk)
        await peer.holding(14)
        let direct = requestOrder([peer.url + "/direct"], lane: .direct)
        pool.submit(direct)
        await expectTally(direct.flight.completed().tally, ["accepted": 1])
        #expect(bulk.flight.answers.begun == 14)
        peer.release()
        await expectTally(bulk.flight.completed().tally, ["accepted": 40])
        #expect(peer.heldAtOnceMax == 14)
        await pool.close()
    }

    @Test("a slow peer keeps no other waiting")
    func slowPeer() async throws {
        let slow = try HTTPPeer { _ in .hold }
        let quick = try HTTPPeer { _ in .reply(200) }
        let pool = try pool(.init(), .init(inFlightMax: 16, perOriginMax: 8))
        let held = requestOrder(addresses(100, at: slow.url))
        let other = requestOrder(addresses(100, at: quick.url))
        pool.submit(held)
        pool.submit(other)
        await expectTally(other.flight.completed().tally, ["accepted": 100])
        #expect(held.flight.answers.begun == 7)
        slow.release()
        await expectTally(held.flight.completed().tally, ["accepted": 100])
        await pool.close()
    }

    @Test("begins nothing after the deadline")
    func deadline() async throws {
        let peer = try HTTPPeer { _ in .hold }
        let time = ManualTime()
        let pool = try pool(.init(), .init(inFlightMax: 16, perOriginMax: 8), time: time)
        let order = requestOrder(addresses(20, at: peer.url), deadline: time.uptime + .seconds(10))
        pool.submit(order)
        await peer.holding(7)
        time.advance(.seconds(11))
        peer.release()
        await expectTally(order.flight.completed().tally, ["accepted": 7, "unsent Deadline": 13])
        #expect(peer.requests.count == 7)
        await pool.close()
    }

    @Test("writes nothing after the deadline, although the request began before it")
    func lateConnection() async throws {
        let peer = try HTTPPeer { _ in .reply(200) }
        let time = ManualTime()
        var exchange = TestExchange()
        // As if the first request waited for its connection.
        exchange.refuses = { subject in
            if subject.index == 0 { time.advance(.seconds(11)) }
            return nil
        }
        let pool = try pool(exchange, .init(inFlightMax: 1, perOriginMax: 1), time: time)
        let order = requestOrder(addresses(5, at: peer.url), deadline: time.uptime + .seconds(10))
        let other = requestOrder(addresses(2, at: peer.url))
        pool.submit(order)
        await expectTally(order.flight.completed().tally, ["unsent Deadline": 5])
        #expect(order.flight.answers.begun == 1 && !order.flight.answers.isTried)
        #expect(peer.requests.isEmpty)
        pool.submit(other)
        await expectTally(other.flight.completed().tally, ["accepted": 2])
        #expect(other.flight.answers.isTried)
        await pool.close()
    }

    @Test("sends nothing that was stopped while its request waited for an access token")
    func stoppedMeanwhile() async throws {
        let peer = try HTTPPeer { _ in .reply(200) }
        var exchange = TestExchange()
        exchange.refuses = { subject in
            subject.order.control.stop()
            return nil
        }
        let pool = try pool(exchange, .init(inFlightMax: 1, perOriginMax: 1))
        let order = requestOrder(addresses(3, at: peer.url))
        pool.submit(order)
        let answers = await order.flight.completed()
        #expect(answers.tally == ["unsent Stopped": 3])
        #expect(answers.begun == 0 && peer.requests.isEmpty)
        await pool.close()
    }

    @Test("stopped requests are answered even if nothing else happens")
    func stop() async throws {
        let peer = try HTTPPeer { _ in .hold }
        let pool = try pool(.init(), .init(inFlightMax: 16, perOriginMax: 8))
        let order = requestOrder(addresses(20, at: peer.url))
        pool.submit(order)
        await peer.holding(7)
        order.control.stop()
        try await Polling.wait(for: "13 refusals") { order.flight.answers.exceptions.count == 13 }
        #expect(peer.requests.count == 7)
        peer.release()
        await expectTally(order.flight.completed().tally, ["accepted": 7, "unsent Stopped": 13])
        await pool.close()
    }

    @Test("an origin that asks for a pause holds its own devices and no others")
    func originHold() async throws {
        let busy = try HTTPPeer { _ in .reply(429) }
        let other = try HTTPPeer { _ in .reply(200) }
        var exchange = TestExchange()
        exchange.judges = { reply, _ in
            guard reply.status == 429 else { return RequestJudgement(.accepted) }
            return RequestJudgement(
                ProviderAnswer(.verdict(.holdAddress(after: .seconds(60))), reason: "Status429", status: 429),
                originHold: .seconds(60))
        }
        let time = ManualTime()
        let pool = try pool(exchange, .init(inFlightMax: 8, perOriginMax: 1), time: time)
        let order = requestOrder(addresses(20, at: busy.url) + addresses(20, at: other.url))
        pool.submit(order)
        let answers = await order.flight.completed()
        #expect(answers.tally == ["accepted": 20, "verdict Status429": 1, "held OriginHeld": 19])
        #expect(busy.requests.count == 1)
        let next = requestOrder(addresses(2, at: busy.url))
        pool.submit(next)
        let held = await next.flight.completed()
        #expect(held.answer(0) == ProviderAnswer(.held(after: .seconds(60)), reason: "OriginHeld"))
        time.advance(.seconds(61))
        let third = requestOrder(addresses(1, at: busy.url))
        pool.submit(third)
        await expectTally(third.flight.completed().tally, ["verdict Status429": 1])
        await pool.close()
    }

    @Test(
        "an answer about the whole app ends the order",
        arguments: [(Verdict.stopApp, "RouteStopped"), (.holdApp(after: .seconds(60)), "Throttled")])
    func stopApp(verdict: Verdict, rest: String) async throws {
        let peer = try HTTPPeer { _ in .reply(403) }
        var exchange = TestExchange()
        exchange.judges = { _, _ in
            RequestJudgement(ProviderAnswer(.verdict(verdict), reason: "Status403", status: 403))
        }
        let pool = try pool(exchange, .init(inFlightMax: 1, perOriginMax: 1))
        let order = requestOrder(addresses(20, at: peer.url))
        pool.submit(order)
        let answers = await order.flight.completed()
        #expect(answers.tally == ["verdict Status403": 1, "unsent \(rest)": 19])
        #expect(peer.requests.count == 1)
        await pool.close()
    }

    @Test("a pause of the whole app ends every order, another refusal only its own", arguments: [true, false])
    func pause(isPause: Bool) async throws {
        let peer = try HTTPPeer { $0.target == "/0" ? .hold : .reply(200) }
        var exchange = TestExchange()
        exchange.judges = { _, subject in
            guard subject.address.last == UInt8(ascii: "0") else { return RequestJudgement(.accepted) }
            let verdict: Verdict = isPause ? .holdApp(after: .seconds(60)) : .stopApp
            return RequestJudgement(ProviderAnswer(.verdict(verdict), reason: "Refused"))
        }
        let pool = try pool(exchange, .init(inFlightMax: 1, perOriginMax: 1))
        let refused = requestOrder([peer.url + "/0"])
        let other = requestOrder((1...9).map { "\(peer.url)/\($0)" })
        pool.submit(refused)
        pool.submit(other)
        await peer.holding(1)
        peer.release()
        await expectTally(refused.flight.completed().tally, ["verdict Refused": 1])
        await expectTally(other.flight.completed().tally, isPause ? ["unsent Throttled": 9] : ["accepted": 9])
        await pool.close()
    }

    @Test("a device that may not be sent to gets its answer without a request")
    func refusals() async throws {
        let peer = try HTTPPeer { _ in .reply(200) }
        var exchange = TestExchange()
        exchange.refuses = { $0.index % 2 == 0 ? .rejection("HostNotAllowed") : nil }
        let pool = try pool(exchange)
        let order = requestOrder(addresses(10, at: peer.url))
        pool.submit(order)
        let answers = await order.flight.completed()
        #expect(answers.tally == ["accepted": 5, "verdict HostNotAllowed": 5])
        #expect(answers.begun == 5 && peer.requests.count == 5)
        await pool.close()
    }

    @Test("a credential that is too old is renewed once, and then stops the app", arguments: [true, false])
    func refresh(isMended: Bool) async throws {
        let peer = try HTTPPeer { _ in .reply(200) }
        var exchange = TestExchange()
        exchange.judges = { [peer] _, _ in
            let isGood = isMended && peer.requests.count > 1
            return RequestJudgement(
                isGood ? .accepted : ProviderAnswer(.verdict(.refreshCredential), reason: "Status401", status: 401))
        }
        let pool = try pool(exchange)
        let order = requestOrder(addresses(1, at: peer.url))
        pool.submit(order)
        let answers = await order.flight.completed()
        #expect(answers.answer(0)?.result == .verdict(isMended ? .accepted : .stopApp))
        #expect(peer.requests.count == 2)
        await pool.close()
    }

    @Test("a drained pool finishes what is on the wire, begins nothing more and releases its connections")
    func drain() async throws {
        let peer = try HTTPPeer { _ in .hold }
        let pool = try pool(.init(), .init(inFlightMax: 16, perOriginMax: 8))
        let order = requestOrder(addresses(20, at: peer.url))
        pool.submit(order)
        await peer.holding(7)
        pool.drain()
        let late = requestOrder(addresses(3, at: peer.url))
        pool.submit(late)
        await expectTally(late.flight.completed().tally, ["unsent Draining": 3])
        #expect(!pool.isGone)
        peer.release()
        await expectTally(order.flight.completed().tally, ["accepted": 7, "unsent Draining": 13])
        await pool.close()
        #expect(pool.isGone)
        try await Polling.wait(for: "the end of the connections") { peer.openConnections == 0 }
    }

    @Test("closing loses what is on the wire, and returns")
    func close() async throws {
        let peer = try HTTPPeer { _ in .silence }
        let pool = try pool(.init(), .init(inFlightMax: 16, perOriginMax: 8))
        let order = requestOrder(addresses(20, at: peer.url))
        pool.submit(order)
        await peer.received(7)
        await pool.close()
        let answers = await order.flight.completed()
        #expect(answers.tally == ["lost ConnectionLost": 7, "unsent Draining": 13])
        #expect(pool.isGone)
        await pool.close()
    }

    @Test("a network that cannot be reached leaves the page unsent; a single peer is deferred alone")
    func unreachable() async throws {
        let peer = try HTTPPeer { _ in .reply(200) }
        let nobody = "http://127.0.0.1:1"
        let pool = try pool()
        let alone = requestOrder(addresses(50, at: nobody))
        pool.submit(alone)
        await expectTally(alone.flight.completed().tally, ["unsent NoConnection": 50])
        let first = requestOrder(addresses(1, at: peer.url))
        pool.submit(first)
        _ = await first.flight.completed()
        let mixed = requestOrder(addresses(3, at: peer.url) + addresses(3, at: nobody))
        pool.submit(mixed)
        let answers = await mixed.flight.completed()
        #expect(answers.tally == ["accepted": 3, "verdict NoConnection": 3])
        #expect(answers.answer(5)?.result == .verdict(.retry(after: nil)))
        await pool.close()
    }

    @Test("an idle pool runs nothing and can be closed without having sent anything")
    func idle() async throws {
        let pool = try pool()
        await pool.close()
        #expect(pool.isGone)
    }

    @Test("failures of untrusted hosts say nothing about the route, those of others do", arguments: [true, false])
    func untrusted(isTrusted: Bool) async throws {
        let peer = try HTTPPeer { $0.target == "/0" ? .hangUp : .reply(503) }
        var exchange = TestExchange()
        exchange.trusts = { _ in isTrusted }
        exchange.judges = { _, _ in RequestJudgement(ProviderAnswer(.verdict(.retry(after: nil)), reason: "Down")) }
        let pool = try pool(exchange)
        let order = requestOrder(addresses(2, at: peer.url) + ["http://127.0.0.1:\(try LoopbackPort.free())/2"])
        pool.submit(order)
        let answers = await order.flight.completed()
        #expect(answers.exceptions.count == 3)
        #expect(answers.exceptions.values.allSatisfy { $0.isOfHostAlone == !isTrusted })
        await pool.close()
    }
}
