import PealCore
import Testing

@testable import PealProviders

@Suite("The pace of a project")
struct PacerTests {
    private func pacer(_ start: Int = 2000, _ most: Int = 8000) -> Pacer { Pacer(.init(start: start, most: most)) }

    /// Uses everything that is allowed for a time, asking every `step`; returns how much it was.
    private func drain(
        _ pacer: inout Pacer, from: Duration, for time: Duration, step: Duration = .milliseconds(10)
    ) -> Int {
        var (spent, at) = (0, from)
        while at < from + time {
            let requests = pacer.allowance(at: at)
            if requests > 0 { pacer.spend(requests, at: at) }
            spent += requests
            at += step
        }
        return spent
    }

    @Test("rises from the start rate to the maximum in a minute, and stays there")
    func ramp() {
        var pacer = pacer()
        // After second n the rate is 2000 + 100 n.
        for second in 0..<60 {
            let spent = drain(&pacer, from: .seconds(10 + second), for: .seconds(1))
            let expected = 2000 + 100 * second + 50
            #expect(abs(spent - expected) <= 130, "second \(second): \(spent)")
        }
        for second in 60..<70 {
            let spent = drain(&pacer, from: .seconds(10 + second), for: .seconds(1))
            #expect(abs(spent - 8000) <= 5, "second \(second): \(spent)")
        }
    }

    @Test(
        "allows at most a twentieth of a second's requests at once",
        arguments: [(2000, 8000, 100), (20, 20, 1), (1, 1, 1), (100, 100, 5)])
    func burst(start: Int, most: Int, expected: Int) {
        var pacer = pacer(start, most)
        #expect(pacer.allowance(at: .seconds(5)) == expected)
        pacer.spend(expected, at: .seconds(5))
        #expect(pacer.allowance(at: .seconds(5)) == 0)
        // However long there was no request, less than the idle time.
        #expect(pacer.allowance(at: .seconds(5 + 59)) <= max(1, most / 20))
    }

    @Test("says when to ask again", arguments: [1, 3, 20, 2000])
    func wait(rate: Int) {
        var pacer = pacer(rate, rate)
        let now = Duration.seconds(5)
        pacer.spend(pacer.allowance(at: now), at: now)
        let wait = pacer.wait(at: now)
        #expect(wait > .zero && wait <= .seconds(1))
        #expect(pacer.allowance(at: now + wait * 0.9) == 0)
        #expect(pacer.allowance(at: now + wait + .microseconds(1)) == 1)
    }

    @Test("starts over after an idle minute, and not before")
    func idle() {
        var pacer = pacer()
        _ = drain(&pacer, from: .seconds(0), for: .seconds(61))
        #expect(pacer.rate(at: .seconds(61)) == 8000)
        _ = pacer.allowance(at: .seconds(61 + 58))
        #expect(pacer.rate(at: .seconds(61 + 58)) == 8000)
        _ = pacer.allowance(at: .seconds(61 + 60))
        #expect(pacer.rate(at: .seconds(61 + 60)) == 2000)
    }

    @Test("pauses while the provider accepts nothing, and continues at half the rate")
    func throttle() {
        var pacer = pacer()
        _ = drain(&pacer, from: .zero, for: .seconds(30))
        pacer.throttle(for: .seconds(60), at: .seconds(30))
        // Others were under way.
        pacer.throttle(for: .seconds(60), at: .seconds(31))
        #expect(pacer.allowance(at: .seconds(90)) == 0)
        #expect(pacer.wait(at: .seconds(90)) == .seconds(1))
        #expect(pacer.rate(at: .seconds(91)) == 1000)
        #expect(abs(drain(&pacer, from: .seconds(91), for: .seconds(1)) - 1058) <= 20)
        // Again too much: half of what it was.
        pacer.throttle(for: .seconds(2), at: .seconds(92))
        #expect((500...560).contains(pacer.rate(at: .seconds(94))))
        _ = drain(&pacer, from: .seconds(94), for: .seconds(60))
        #expect(pacer.rate(at: .seconds(154)) == 8000)
    }

    @Test("overdrawn credit is paid back")
    func overdraft() {
        var pacer = pacer(1000, 1000)
        #expect(pacer.allowance(at: .seconds(1)) == 50)
        pacer.spend(150, at: .seconds(1))
        #expect(pacer.allowance(at: .milliseconds(1099)) == 0)
        #expect(pacer.allowance(at: .milliseconds(1110)) == 10)
    }

    @Test("starts at most at the maximum, and both rates are at least one")
    func bounds() {
        #expect(Pacer.Rates(start: 500, most: 100).start == 100)
        #expect(Pacer.Rates(start: 0, most: 0) == Pacer.Rates(start: 1, most: 1))
    }
}

@Suite("A pool that is paced")
struct PacedPoolTests {
    private let handle = ConnectionHandle(wake: {}, finish: {}, abort: {})

    private func budget(_ streams: Int = 1000) -> PoolQueue.Budget {
        PoolQueue.Budget(
            streams: streams, windowBytes: 1_000_000, bulkStreams: streams, bulkWindowBytes: 1_000_000,
            streamWindow: 65_535, partialBodies: 16, isIdle: true)
    }

    @Test("gives what the pace allows, pauses, and wakes the connections that asked; it opens no further one")
    func pause() {
        var state = PoolState(
            connectionsMax: 4, openingPause: .zero, pace: Pace(.init(start: 200, most: 200)))
        var effects = PoolState.Effects()
        let now = Duration.seconds(100)
        state.submit(OpenOrder(testOrder(count: 100)), &effects)
        state.consider(uptime: now, &effects)
        _ = state.attach(0, handle)
        #expect(state.pull(0, budget(), uptime: now, &effects)?.count == 10)
        #expect(state.pull(0, budget(), uptime: now, &effects) == nil)
        #expect(effects.pause == .milliseconds(10))
        state.consider(uptime: now, &effects)
        #expect(effects.openings == [0])
        // One timer is enough.
        effects = .init()
        #expect(state.pull(0, budget(), uptime: now, &effects) == nil)
        #expect(effects.pause == nil)
        state.resume(&effects)
        #expect(effects.wakes.count == 1)
        #expect(state.pull(0, budget(), uptime: now + .milliseconds(10), &effects)?.count == 2)
    }

    @Test("with nothing to send there is no timer")
    func nothing() {
        var state = PoolState(connectionsMax: 4, openingPause: .zero, pace: Pace(.init(start: 1, most: 1)))
        var effects = PoolState.Effects()
        let now = Duration.seconds(100)
        state.submit(OpenOrder(testOrder(count: 1)), &effects)
        state.consider(uptime: now, &effects)
        _ = state.attach(0, handle)
        #expect(state.pull(0, budget(), uptime: now, &effects)?.count == 1)
        #expect(state.pull(0, budget(), uptime: now, &effects) == nil)
        #expect(effects.pause == nil)
        // The next request wakes it as usual, and then it waits.
        state.submit(OpenOrder(testOrder(count: 1)), &effects)
        #expect(effects.wakes.count == 1)
        #expect(state.pull(0, budget(), uptime: now, &effects) == nil)
        #expect(effects.pause == .seconds(1))
    }

    @Test("what waits is refused where there is no authorization, and the next order wakes the connection")
    func refuse() {
        var state = PoolState(connectionsMax: 4, openingPause: .zero)
        var effects = PoolState.Effects()
        state.submit(OpenOrder(testOrder(count: 3)), &effects)
        state.consider(uptime: .zero, &effects)
        _ = state.attach(0, handle)
        state.refuse(0, .unsent("NoAccessToken"), &effects)
        #expect(effects.refusals.map(\.answer) == [.unsent("NoAccessToken")])
        state.submit(OpenOrder(testOrder(count: 3)), &effects)
        #expect(effects.wakes.count == 1)
    }
}
