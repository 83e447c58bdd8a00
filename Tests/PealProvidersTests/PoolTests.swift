import PealCore
import Testing

@testable import PealProviders

@Suite("The pool's queue and decisions")
struct PoolTests {
    private func budget(_ streams: Int, window: Int = 1_000_000, bulk: Int? = nil, isIdle: Bool = true)
        -> PoolQueue.Budget
    {
        PoolQueue.Budget(
            streams: streams, windowBytes: window, bulkStreams: bulk ?? streams, bulkWindowBytes: window,
            streamWindow: 65_535, partialBodies: 16, isIdle: isIdle)
    }

    private func state() -> PoolState { PoolState(connectionsMax: 2, openingPause: .milliseconds(50)) }
    private let handle = ConnectionHandle(wake: {}, finish: {}, abort: {})

    @Test("runs are at most 64 and cover the page once")
    func runs() {
        var queue = PoolQueue()
        queue.append(OpenOrder(testOrder(count: 200)))
        var refusals: [RefusedDevices] = []
        var counts: [Int] = []
        while let run = queue.pull(budget(1000), uptime: .zero, refusals: &refusals) { counts.append(run.count) }
        #expect(counts == [64, 64, 64, 8])
        #expect(queue.isEmpty && refusals.isEmpty)
    }

    @Test("small messages go first, and resends before everything else")
    func lanes() throws {
        var queue = PoolQueue()
        let bulk = OpenOrder(testOrder(count: 5))
        let direct = OpenOrder(testOrder(count: 1, lane: .direct))
        queue.append(bulk)
        queue.append(direct)
        queue.append(PoolQueue.Resend(order: bulk, index: 3, count: 1))
        var refusals: [RefusedDevices] = []
        let orders = (0..<3).compactMap { _ in queue.pull(budget(10), uptime: .zero, refusals: &refusals)?.order }
        #expect(orders.map { $0 === direct } == [false, true, false])
        #expect(queue.isEmpty)
    }

    @Test("a share is kept free of large messages")
    func share() {
        var queue = PoolQueue()
        queue.append(OpenOrder(testOrder(count: 5)))
        var refusals: [RefusedDevices] = []
        #expect(queue.pull(budget(1, bulk: 0), uptime: .zero, refusals: &refusals) == nil)
        queue.append(OpenOrder(testOrder(count: 1, lane: .direct)))
        #expect(queue.pull(budget(1, bulk: 0), uptime: .zero, refusals: &refusals)?.count == 1)
    }

    @Test("a window too small for a body lets one begin only where nothing else is open")
    func window() {
        var queue = PoolQueue()
        queue.append(OpenOrder(testOrder(count: 5)))
        var refusals: [RefusedDevices] = []
        #expect(queue.pull(budget(9, window: 100, isIdle: false), uptime: .zero, refusals: &refusals) == nil)
        #expect(queue.pull(budget(9, window: 100), uptime: .zero, refusals: &refusals)?.count == 1)
        #expect(queue.pull(budget(9, window: 700), uptime: .zero, refusals: &refusals)?.count == 2)
    }

    @Test("stopped and overdue orders are refused with the reason")
    func refusals() async {
        var queue = PoolQueue()
        let control = SendControl()
        let orders = [
            testOrder(count: 3, control: control), testOrder(count: 2, deadline: .seconds(1)), testOrder(count: 1),
        ]
        for order in orders { queue.append(OpenOrder(order)) }
        control.stop()
        var refusals: [RefusedDevices] = []
        let run = queue.pull(budget(10), uptime: .seconds(2), refusals: &refusals)
        #expect(run?.order.order === orders[2])
        for refusal in refusals { refusal.deliver() }
        #expect(orders[0].flight.answers.tally == ["unsent Stopped": 3])
        #expect(orders[1].flight.answers.tally == ["unsent Deadline": 2])
    }

    @Test("a connection is opened for work, more when it is blocked, and no more than allowed")
    func openings() {
        var state = state()
        var effects = PoolState.Effects()
        func now(_ milliseconds: Int) -> Duration { .milliseconds(milliseconds) }
        state.consider(uptime: now(0), &effects)
        #expect(effects.openings.isEmpty)
        state.submit(OpenOrder(testOrder(count: 1000)), &effects)
        state.consider(uptime: now(0), &effects)
        state.consider(uptime: now(1), &effects)
        #expect(effects.openings == [0])
        let isWanted = state.attach(0, handle)
        #expect(isWanted)
        #expect(state.pull(0, budget(64), uptime: now(2), &effects)?.count == 64)
        #expect(state.pull(0, budget(0), uptime: now(2), &effects) == nil)
        state.consider(uptime: now(2), &effects)
        #expect(effects.openings == [0])
        for time in [60, 70, 200, 300] {
            _ = state.pull(0, budget(0), uptime: now(time), &effects)
            state.consider(uptime: now(time), &effects)
            _ = state.attach(1, handle)
            _ = state.pull(1, budget(0), uptime: now(time), &effects)
        }
        #expect(effects.openings == [0, 1])
        // One leaves: another is made before it is gone.
        state.retire(0)
        _ = state.pull(1, budget(0), uptime: now(400), &effects)
        state.consider(uptime: now(400), &effects)
        #expect(effects.openings == [0, 1, 2])
    }

    @Test("before a connection's stream ids run out, another connection is opened")
    func replacement() {
        var state = state()
        var effects = PoolState.Effects()
        state.submit(OpenOrder(testOrder(count: 1000)), &effects)
        state.consider(uptime: .zero, &effects)
        _ = state.attach(0, handle)
        #expect(state.pull(0, budget(64), uptime: .zero, &effects)?.count == 64)
        state.announceEnd(0)
        state.consider(uptime: .milliseconds(1), &effects)
        #expect(effects.openings == [0, 1])
        // Both work; no third is wanted.
        _ = state.attach(1, handle)
        #expect(state.pull(0, budget(64), uptime: .zero, &effects)?.count == 64)
        #expect(state.pull(1, budget(64), uptime: .zero, &effects)?.count == 64)
        state.consider(uptime: .seconds(1), &effects)
        #expect(effects.openings == [0, 1])
    }

    @Test("a connection that awaits its first answer causes no other to open")
    func unproven() {
        var state = state()
        var effects = PoolState.Effects()
        state.submit(OpenOrder(testOrder(count: 10)), &effects)
        state.consider(uptime: .zero, &effects)
        var budget = budget(1)
        budget.isProven = false
        _ = state.pull(0, budget, uptime: .seconds(1), &effects)
        budget.streams = 0
        budget.bulkStreams = 0
        _ = state.pull(0, budget, uptime: .seconds(1), &effects)
        state.consider(uptime: .seconds(1), &effects)
        #expect(effects.openings == [0])
    }

    @Test("when the last connection fails, waiting requests are returned, and the next attempt is delayed")
    func failures() {
        var state = state()
        var effects = PoolState.Effects()
        let order = OpenOrder(testOrder(count: 3))
        state.submit(order, &effects)
        state.consider(uptime: .zero, &effects)
        state.end(0, hasAnswered: false, uptime: .zero, jitter: 0, &effects)
        #expect(effects.refusals.map(\.answer) == [.unsent("NoConnection")])
        #expect(effects.refusals.map(\.indices) == [[0, 1, 2]])
        state.submit(order, &effects)
        state.consider(uptime: .milliseconds(10), &effects)
        #expect(effects.openings == [0])
        state.consider(uptime: .milliseconds(50), &effects)
        #expect(effects.openings == [0, 1])
        state.end(1, hasAnswered: false, uptime: .milliseconds(50), jitter: 0, &effects)
        state.submit(order, &effects)
        state.consider(uptime: .milliseconds(140), &effects)
        #expect(effects.openings == [0, 1])
        state.consider(uptime: .milliseconds(150), &effects)
        #expect(effects.openings == [0, 1, 2])
    }

    @Test("a drained pool refuses orders, and ends when its connections have closed")
    func drain() {
        var state = state()
        var effects = PoolState.Effects()
        state.submit(OpenOrder(testOrder(count: 3)), &effects)
        state.consider(uptime: .zero, &effects)
        state.drain(&effects)
        #expect(effects.refusals.map(\.answer) == [.unsent("Draining")])
        // It was still connecting.
        let isWanted = state.attach(0, handle)
        #expect(!isWanted)
        state.submit(OpenOrder(testOrder(count: 1)), &effects)
        #expect(effects.refusals.count == 2)
    }
}

@Suite("The timers of a connection")
struct ConnectionPulseTests {
    private func tick(
        _ pulse: inout ConnectionPulse, _ seconds: Int, stream: UInt32 = 1, open: Int = 0, pongs: Int = 0,
        oldest: UInt32? = nil, hasRoom: Bool = true, isSettled: Bool = true
    ) -> ConnectionPulse.Orders {
        pulse.tick(
            uptime: .seconds(seconds), nextStreamID: stream, openCount: open, oldestOpenID: oldest, hasRoom: hasRoom,
            pongCount: pongs, isSettled: isSettled)
    }

    @Test("requests are overdue after the request time-out and not earlier")
    func overdue() {
        var pulse = ConnectionPulse(uptime: .zero)
        let timeout = Int(Limits.requestTimeoutSeconds)
        pulse.hasRead = true
        _ = tick(&pulse, 1, stream: 101, open: 50)
        for second in 2...timeout {
            pulse.hasRead = true
            #expect(tick(&pulse, second, stream: 201, open: 50).giveUpBefore == nil)
        }
        #expect(tick(&pulse, timeout + 1, stream: 201, open: 50).giveUpBefore == 101)
    }

    @Test("a peer is mute if it has answered nothing since the overdue requests began")
    func mute() {
        var pulse = ConnectionPulse(uptime: .zero)
        let timeout = Int(Limits.requestTimeoutSeconds)
        _ = tick(&pulse, 1, stream: 101, open: 50)
        pulse.hasAnswer = true
        for second in 2...timeout { _ = tick(&pulse, second, stream: 201, open: 100) }
        let mutes = (1...3).map { tick(&pulse, timeout + $0, stream: 201, open: 100).isMute }
        #expect(mutes == [false, false, true])
    }

    @Test("a silent peer gets a PING, and is then abandoned")
    func stalled() {
        var pulse = ConnectionPulse(uptime: .zero)
        #expect(!tick(&pulse, 4, open: 1).sendsPing)
        #expect(tick(&pulse, 5, open: 1).sendsPing)
        #expect(!tick(&pulse, 9, open: 1).isStalled)
        #expect(tick(&pulse, 10, open: 1).isStalled)
    }

    @Test("a peer that answers the PING is kept")
    func answered() {
        var pulse = ConnectionPulse(uptime: .zero)
        #expect(tick(&pulse, 5, open: 1).sendsPing)
        pulse.hasRead = true
        #expect(!tick(&pulse, 6, open: 1, pongs: 1).isStalled)
        #expect(!tick(&pulse, 10, open: 1, pongs: 1).isStalled)
    }

    @Test("an idle connection gets a PING every hour, and a spare one closes after minutes")
    func idle() {
        var pulse = ConnectionPulse(uptime: .zero)
        #expect(!tick(&pulse, 299).isIdle)
        #expect(tick(&pulse, 300).isIdle)
        #expect(!tick(&pulse, 3599).sendsPing)
        #expect(tick(&pulse, 3600).sendsPing)
    }

    @Test("a peer that permits no request is abandoned after a while, but not while requests are open")
    func shut() {
        var pulse = ConnectionPulse(uptime: .zero)
        #expect(!tick(&pulse, 9, hasRoom: false).isShut)
        #expect(!tick(&pulse, 12, open: 1, hasRoom: false).isShut)
        #expect(!tick(&pulse, 21, hasRoom: false).isShut)
        #expect(tick(&pulse, 22, hasRoom: false).isShut)
        #expect(!tick(&pulse, 23, hasRoom: true).isShut)
    }

    @Test("a slow peer gets no more than it answers in two seconds, and everything again by doubling")
    func slow() {
        var pulse = ConnectionPulse(uptime: .zero)
        // 1,000 begin in the first second; 100 a second are answered.
        _ = tick(&pulse, 1, stream: 2001, open: 1000, oldest: 1)
        #expect(pulse.openMax == nil)
        _ = tick(&pulse, 2, stream: 2001, open: 900, oldest: 201)
        #expect(pulse.openMax == nil)
        _ = tick(&pulse, 3, stream: 2001, open: 800, oldest: 401)
        #expect(pulse.openMax == 200)
        _ = tick(&pulse, 4, stream: 2001, open: 800, oldest: 401)
        #expect(pulse.openMax == Limits.slowStreamsMin)
        // All that was open is answered, and what begins now is answered soon.
        _ = tick(&pulse, 5, stream: 2001, open: 0)
        #expect(pulse.openMax == 2 * Limits.slowStreamsMin)
        for second in 6...12 { _ = tick(&pulse, second, stream: 2001 + UInt32(second) * 100) }
        #expect(pulse.openMax == nil)
    }

    @Test("one request that is never answered does not slow a connection that keeps up")
    func oneStuck() {
        var pulse = ConnectionPulse(uptime: .zero)
        for second in 1...10 {
            _ = tick(&pulse, second, stream: UInt32(second) * 10_000 + 1, open: 1, oldest: 1)
        }
        #expect(pulse.openMax == 10_000)
    }

    @Test("a peer that never sends SETTINGS is abandoned")
    func unsettled() {
        var pulse = ConnectionPulse(uptime: .zero)
        #expect(!tick(&pulse, 9, isSettled: false).isStalled)
        #expect(tick(&pulse, 10, isSettled: false).isStalled)
    }
}
