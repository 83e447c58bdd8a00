import PealCore
import Testing

@testable import PealDelivery

@Suite("The pace of attempts")
struct PaceTests {
    /// What a network answers to every attempt, and the waits that follow.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let verdict: Verdict
        let waits: [Int64]

        init(_ name: String, _ verdict: Verdict, _ waits: [Int64]) {
            testDescription = name
            self.verdict = verdict
            self.waits = waits
        }
    }

    static let rows: [Row] = [
        Row(
            "APNs: 429 TooManyRequests", .holdAddress(after: .seconds(30)),
            [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]),
        Row("APNs: 429 TooManyProviderTokenUpdates", .retry(after: .seconds(10)), [10, 20, 40, 80, 160]),
        Row(
            "APNs: 500", .retry(after: nil),
            [30, 120, 900, 1200, 1200, 1200, 1200, 1200, 1200, 1200, 1200, 1200, 3600, 3600]),
        Row("FCM: 503 with Retry-After: 1", .retry(after: .seconds(10)), [10, 20, 40, 80, 160, 320, 640, 1280, 2560]),
        Row("FCM: a device's quota", .holdAddress(after: .seconds(60)), [60, 120, 240, 480, 960, 1920, 3600]),
        Row("FCM: no APNs key", .holdAddress(after: .seconds(3600)), [3600, 3600, 3600]),
        Row("WNS: a throttled channel", .holdAddress(after: .seconds(300)), [300, 600, 1200, 2400, 3600]),
        Row("WNS: 503 with Retry-After: 30", .retry(after: .seconds(30)), [30, 60, 120, 240]),
        Row("MPNS: QueueFull", .holdAddress(after: .seconds(300)), [300, 600, 1200, 2400, 3600, 3600]),
        Row("MPNS: 503", .retry(after: .seconds(120)), [120, 240, 480, 960, 1920, 3600]),
        Row("Web Push: errno 202", .retry(after: .seconds(1)), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]),
        Row("Web Push: 429", .holdAddress(after: .seconds(60)), [60, 120, 240, 480]),
        Row("a wait of two hours", .retry(after: .seconds(7200)), [7200, 7200, 7200]),
    ]

    private struct Trial {
        var waits: [Int64] = []
        let ending: DeliveryLogEntry
    }

    /// Sends to one device, on a clock that jumps to each attempt, until it has its outcome.
    private func attempts(
        _ result: ProviderAnswer.Result, for life: Duration, attempt: Int = 0, chance: UInt64 = 0
    ) -> Trial {
        let start = Timestamp(seconds: 1_800_000_000)
        let life = MessageLife(start: start, end: start + life).under(.init())
        var (now, attempt, doubt) = (start, attempt, 0)
        var waits: [Int64] = []
        while true {
            let page = SentPage.ofOneDevice(ProviderAnswer(result, reason: "Word"), at: now)
            let conclusion = Conclusion(
                [page], terms: .trusting(life, now: now, attempt: attempt, doubt: doubt), chance: chance)
            guard let deferral = conclusion.deferrals.first else {
                return Trial(waits: waits, ending: conclusion.log.entry(0))
            }
            waits.append((deferral.readyAt - now).components.seconds)
            (now, attempt, doubt) = (deferral.readyAt, deferral.attempt, deferral.isDoubtful ? 1 : 0)
        }
    }

    @Test("slows down to an hour, and lasts until the message expires", arguments: rows)
    func untilExpiry(row: Row) {
        let days: Int64 = 28
        let trial = attempts(.verdict(row.verdict), for: .seconds(days * 86_400))
        #expect(Array(trial.waits.prefix(row.waits.count)) == row.waits)
        #expect(trial.ending.outcome == .expired && trial.ending.reason == "Word")
        let slowest = max(3600, row.waits.max() ?? 0)
        #expect(trial.waits.max() == slowest)
        #expect(trial.waits.reduce(0, +) >= days * 86_400 - slowest)
    }

    @Test("never waits less than the provider stated, whatever the random spread", arguments: [0, 7, UInt64.max])
    func stated(chance: UInt64) {
        for row in Self.rows {
            let trial = attempts(.verdict(row.verdict), for: .seconds(86_400), chance: chance)
            for (wait, least) in zip(trial.waits, row.waits) {
                #expect((least...least + least / 5 + 1).contains(wait), "\(row.testDescription)")
            }
        }
    }

    @Test("a message of ten years is given up after a number of attempts that takes weeks")
    func bound() {
        let trial = attempts(.verdict(.retry(after: .seconds(1))), for: .seconds(Limits.ttlSecondsMax))
        #expect(trial.ending.outcome == .rejected && trial.ending.reason == "GaveUp")
        #expect(trial.waits.count == Limits.attemptsMax - 1)
        #expect(trial.waits.reduce(0, +) > 27 * 86_400)
    }

    @Test("a message whose answers keep getting lost is given up sooner, because it may have arrived each time")
    func lost() {
        let trial = attempts(.lost, for: .seconds(28 * 86_400))
        #expect(trial.ending.outcome == .rejected && trial.ending.reason == "GaveUp")
        #expect(trial.waits.count == Limits.lostAttemptsMax - 1)
        // One lost answer after many refusals is not the last attempt.
        let late = attempts(.lost, for: .seconds(28 * 86_400), attempt: 40)
        #expect(late.waits.count == 1)
    }

    @Test("a probe whose devices are all deferred fails, unless other hosts may accept", arguments: [false, true])
    func deferredProbe(hasManyHosts: Bool) {
        var breaker = RouteBreaker(hasManyHosts: hasManyHosts)
        breaker.hold(.seconds(60), now: .zero)
        let all = RouteBreaker.Tally(answers: 16, deferred: 16, deferredByProvider: 16)
        #expect(breaker.judge(all, of: nil, isProbe: true, now: .seconds(60)).hasReopened == hasManyHosts)
        #expect(breaker.closedUntil == (hasManyHosts ? nil : .seconds(90)))
        let most = RouteBreaker.Tally(answers: 16, accepted: 1, deferred: 15, deferredByProvider: 15)
        _ = breaker.judge(most, of: nil, isProbe: true, now: .seconds(90))
        #expect(breaker.closedUntil == nil)
    }

    @Test("an app that is asked to pause waits twice as long after each probe, and not for other pages")
    func pauses() {
        var breaker = RouteBreaker()
        breaker.hold(.seconds(60), now: .zero)
        breaker.hold(.seconds(60), now: .seconds(1))
        #expect(breaker.closedUntil == .seconds(61))
        var now = Duration.seconds(61)
        var waits: [Int64] = []
        for _ in 0..<8 {
            #expect(breaker.enter(nil, now: now) == .probe)
            breaker.hold(.seconds(60), isProbe: true, now: now)
            breaker.abandonProbe(of: nil)
            let until = breaker.closedUntil ?? now
            waits.append((until - now).components.seconds)
            now = until
        }
        #expect(waits == [120, 240, 480, 960, 1920, 3600, 3600, 3600])
        _ = breaker.enter(nil, now: now)
        #expect(breaker.judge(.init(answers: 1, accepted: 1), of: nil, isProbe: true, now: now).hasReopened)
        breaker.hold(.seconds(60), now: now)
        #expect(breaker.closedUntil == now + .seconds(60))
    }
}
