import Logging
import NIOCore
import NIOEmbedded
import NIOSSL
import PealCore
import Testing

@testable import PealProviders

@Suite("A day in a minute", .serialized, .timeLimit(.minutes(10)))
struct DayInAMinuteTests {
    private let time = ManualTime()
    private let peer = EmbeddedPeer()

    private func pool(
        connections: Int = 1, streamIDMax: UInt32 = HTTP2Frame.streamIDMax, exchange: (any Exchange)? = nil
    ) throws -> ConnectionPool {
        let tokens = try ProviderTokenTable(time: time, randomness: SeededRandomness()).tokens(for: testCredential)
        return ConnectionPool(
            connector: peer, exchange: exchange ?? APNsExchange(tokens: tokens, time: time),
            settings: .init(
                connectionsMax: connections, streamIDMax: streamIDMax, tick: .seconds(5), sweep: .seconds(60)),
            time: time,
            randomness: SeededRandomness(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Lets time pass, the wall clock in steps, and the connections' ticks within each.
    private func pass(_ seconds: Int64, step: Int64 = 10) throws {
        for _ in 0..<(seconds / step) {
            time.advance(.seconds(step))
            peer.loop.advanceTime(by: .seconds(step))
            try peer.serve()
        }
    }

    /// Sends to `count` devices and expects every one to be accepted.
    private func push(_ pool: ConnectionPool, _ count: Int = 1) throws {
        let order = testOrder(count: count, deadline: .seconds(1_000_000))
        pool.submit(order)
        try peer.serve()
        #expect(order.flight.answers.tally == ["accepted": count])
    }

    /// The instants of `iat` in the provider tokens that were shown, in order, each once.
    private func issued() throws -> [Int64] {
        var issued: [Int64] = []
        for value in peer.connections.flatMap(\.authorizations) {
            let claims = try #require(Base64URL.decode(String(value.dropFirst(7).split(separator: ".")[1])))
            let instant = try #require(try JSONParser.parse(claims)["iat"]?.integerValue)
            if issued.last != instant { issued.append(instant) }
        }
        return issued
    }

    @Test("provider tokens rotate at 40 to 50 minutes, over one connection")
    func rotation() throws {
        let pool = try pool()
        for _ in 0..<(24 * 60) {
            try push(pool)
            try pass(60, step: 20)
        }
        let issued = try issued()
        #expect((29...37).contains(issued.count), "a day has 29 to 36 spans of 40 to 50 minutes")
        for (earlier, later) in zip(issued, issued.dropFirst()) { #expect((2400...3060).contains(later - earlier)) }
        #expect(peer.connections.count == 1)
        #expect(peer.connections[0].authorizations.count == 24 * 60)
        #expect(peer.connections[0].pings == 0, "a connection that is used is not asked whether it lives")
    }

    @Test("an idle connection is pinged hourly, and none is opened without work")
    func idle() throws {
        let pool = try pool()
        try push(pool)
        try pass(24 * 3600)
        #expect((23...24).contains(peer.connections[0].pings))
        #expect(peer.connections.count == 1 && peer.openCount == 1)
        #expect(try issued().count == 1, "nobody needs another provider token while nothing is sent")
        try push(pool)
        #expect(peer.connections.count == 1)
        #expect(try issued().count == 2)
    }

    @Test("a connection that does not answer a PING is abandoned, and work opens another")
    func dead() throws {
        let pool = try pool()
        try push(pool)
        peer.answersPings = false
        try pass(3600 + 30)
        #expect(peer.openCount == 0)
        #expect(peer.connections.count == 1)
        try push(pool)
        #expect(peer.connections.count == 2)
    }

    @Test("a certificate that the peer refuses after the handshake is a failure of TLS")
    func refusedCertificate() throws {
        let pool = try pool()
        let order = testOrder(count: 3, deadline: .seconds(1_000_000))
        pool.submit(order)
        peer.connections[0].channel.pipeline.fireErrorCaught(BoringSSLError.sslError([]))
        try peer.serve()
        #expect(order.flight.answers.tally == ["unsent NoTLS": 3])
    }

    @Test("a connection that answers PINGs but no request is replaced")
    func mute() throws {
        let pool = try pool()
        try push(pool)
        try pass(30, step: 5)
        peer.answersRequests = false
        let order = testOrder(count: 5, deadline: .seconds(1_000_000))
        pool.submit(order)
        try peer.serve()
        try pass(30, step: 5)
        #expect(order.flight.answers.tally == ["lost Timeout": 5])
        #expect(peer.connections[0].pings > 0)
        #expect(peer.openCount == 0)
        peer.answersRequests = true
        try push(pool)
        #expect(peer.connections.count == 2)
    }

    @Test("while the peer answers nothing, each new connection has one request open")
    func careful() throws {
        let pool = try pool(connections: 4, exchange: APNsExchange(tokens: nil, time: time))
        (peer.answersRequests, peer.answersFirst) = (false, false)
        let orders = (0..<2).map { _ in testOrder(count: 50, deadline: .seconds(1_000_000)) }
        pool.submit(orders[0])
        try peer.serve()
        #expect(peer.connections[0].openMost == 50)
        try pass(30, step: 5)
        #expect(orders[0].flight.answers.tally == ["lost Timeout": 50])
        pool.submit(orders[1])
        try peer.serve()
        try pass(60, step: 5)
        #expect((2...6).contains(peer.connections.count))
        #expect(peer.connections.dropFirst().allSatisfy { $0.openMost == 1 })
        try peer.answerHeldRequests()
        let tally = orders[1].flight.answers.tally
        let (accepted, lost) = (tally["accepted"] ?? 0, tally["lost Timeout"] ?? 0)
        #expect(accepted + lost == 50 && (1...4).contains(lost), "\(tally)")
        let count = peer.connections.count
        try push(pool, 50)
        #expect(peer.connections.count == count)
    }

    @Test("spare connections close after minutes, the last stays")
    func spare() throws {
        peer.streamsMax = 10
        peer.answersRequests = false
        let pool = try pool(connections: 3)
        let order = testOrder(count: 200, deadline: .seconds(1_000_000))
        pool.submit(order)
        // What is left over calls for another connection, one at a time.
        try pass(12, step: 1)
        #expect(peer.openCount == 3)
        try peer.answerHeldRequests()
        #expect(order.flight.answers.tally == ["accepted": 200])
        try pass(290)
        #expect(peer.openCount == 3)
        try pass(30)
        #expect(peer.openCount == 1)
        try pass(24 * 3600, step: 60)
        #expect(peer.openCount == 1)
    }

    @Test("a spare connection that was never needed is no failure when it closes", arguments: [true, false])
    func unneeded(isClosedByPeer: Bool) throws {
        peer.streamsMax = 10
        peer.answersRequests = false
        let pool = try pool(connections: 2)
        let order = testOrder(count: 20, deadline: .seconds(1_000_000))
        pool.submit(order)
        try peer.serve()
        time.advance(.seconds(5))
        peer.loop.advanceTime(by: .seconds(5))
        #expect(peer.connections.count == 2)
        // The work ends before the other connection can take any.
        order.control.stop()
        try peer.serve()
        try peer.answerHeldRequests()
        #expect(peer.connections[1].authorizations.isEmpty)
        if isClosedByPeer {
            try pass(60)
            try peer.goAway(1, reason: "IdleTimeout")
        }
        for _ in 0..<70 where peer.openCount == 2 { try pass(5, step: 5) }
        #expect(peer.openCount == 1)
        // A failure would make the pool wait before it connects again.
        try peer.goAway(0, reason: "Shutdown")
        try push(pool)
        #expect(peer.connections.count == 3)
    }

    @Test("a failed write loses no further request of its run")
    func brokenPipe() throws {
        let pool = try pool()
        try push(pool)
        peer.breaksLargeWrite = true
        let order = testOrder(
            count: Limits.devicesPerPullMax, notifications: [testNotification(bodyBytes: 4000)],
            deadline: .seconds(1_000_000))
        pool.submit(order)
        try peer.serve()
        try pass(10)
        #expect(peer.connections.count == 2)
        let answers = order.flight.answers
        #expect(answers.isComplete)
        let lost = answers.tally["lost ConnectionLost"] ?? 0
        #expect((1..<20).contains(lost), "what was in the failed write may have arrived")
        #expect(answers.tally["accepted"] == Limits.devicesPerPullMax - lost)
        #expect(answers.tried == Limits.devicesPerPullMax)
    }

    @Test("requests that a GOAWAY refuses count once when they have begun again")
    func begunAgain() throws {
        peer.answersRequests = false
        let pool = try pool()
        try push(pool)
        let order = testOrder(count: 10, deadline: .seconds(1_000_000))
        pool.submit(order)
        try peer.serve()
        #expect(order.flight.answers.begun == 10)
        try peer.goAway(0, reason: "Shutdown", lastStreamID: 1)
        #expect(order.flight.answers.begun == 20 && order.flight.answers.tried == 10)
        try peer.answerHeldRequests()
        #expect(order.flight.answers.tally == ["accepted": 10])
    }

    @Test("before the first answer one request is open, then as many as SETTINGS say")
    func firstAlone() throws {
        peer.answersRequests = false
        peer.answersFirst = false
        let pool = try pool()
        let order = testOrder(count: 50, deadline: .seconds(1_000_000))
        pool.submit(order)
        try peer.serve()
        #expect(peer.connections[0].openMost == 1)
        #expect(order.flight.answers.begun == 1)
        try peer.answerHeldRequests()
        #expect(order.flight.answers.tally == ["accepted": 50])
    }

    @Test("a server that shuts down repeatedly is replaced each time there is work")
    func shutdowns() throws {
        let pool = try pool()
        for hour in 0..<24 {
            try push(pool, 3)
            try peer.goAway(hour, reason: "Shutdown")
            #expect(peer.openCount == 0)
            try pass(3600, step: 60)
        }
        #expect(peer.connections.count == 24)
        // One provider token for each that was too old when it was needed, not one for each connection.
        let issued = try issued()
        #expect(issued.count == 24)
        for (earlier, later) in zip(issued, issued.dropFirst()) { #expect(later - earlier >= 2400) }
    }

    @Test("before stream ids run out another connection is open, and the old one works to its end")
    func makeBeforeBreak() throws {
        peer.streamsMax = 1000
        let pool = try pool(streamIDMax: 50_001)
        var openCounts: [Int] = []
        for _ in 0..<24 {
            try push(pool, 1000)
            openCounts.append(peer.openCount)
            try pass(10)
        }
        // 15,000 requests until the end is near, 5,000 more until it is there.
        #expect(openCounts.prefix(15).allSatisfy { $0 == 1 })
        #expect(openCounts.contains(2))
        #expect(openCounts.last == 1)
        #expect(peer.connections.count == 2)
        #expect(peer.connections.map(\.authorizations.count).reduce(0, +) == 24_000)
    }
}
