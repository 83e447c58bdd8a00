import PealCore
import Testing

@Suite("Reachability")
struct ReachabilityTests {
    private static let start = Timestamp(seconds: 1_795_219_200)
    private static let able: Installation.Capabilities = [.background, .alerts]

    private static func installation(_ capabilities: Installation.Capabilities = able) -> Installation {
        Installation(
            app: 1, device: 1, tokenHash: [], key: KeyID(high: 1, low: 1), capabilities: capabilities, seenAt: start)
    }

    @Test("evidence halves in three days")
    func halfLife() {
        var reach = Reachability()
        reach.add(hits: 8, misses: 0, at: Self.start)
        #expect(reach.hits == 8_000_000)
        reach.add(hits: 0, misses: 0, at: Self.start + .seconds(3 * 86_400))
        #expect(abs(reach.hits - 4_000_000) <= 1)
        reach.add(hits: 0, misses: 0, at: Self.start + .seconds(9 * 86_400 / 2))
        #expect(abs(Double(reach.hits) - 4_000_000 / 2.0.squareRoot()) < 10)
        reach.add(hits: 0, misses: 0, at: Self.start + .seconds(1000 * 86_400))
        #expect(reach.hits == 0)
    }

    @Test("a device is unknown without evidence, changes class with hysteresis, and is unavailable if it says so")
    func classes() {
        var reach = Reachability()
        #expect(reach.classification(Self.able, before: .unknown) == .unknown)
        reach.add(hits: 1, misses: 0, at: Self.start)
        #expect(reach.classification(Self.able, before: .unknown) == .available)
        reach.add(hits: 0, misses: 4, at: Self.start)
        #expect(reach.classification(Self.able, before: .available) == .available, "2 of 7: between the borders")
        #expect(reach.classification(Self.able, before: .unavailable) == .unavailable)
        reach.add(hits: 0, misses: 4, at: Self.start)
        #expect(reach.classification(Self.able, before: .available) == .unavailable)
        for capabilities: Installation.Capabilities in [
            [], [.background], [.alerts], [.background, .alerts, .scheduledSummary],
        ] { #expect(Reachability().classification(capabilities, before: .available) == .unavailable) }
    }

    @Test("what is known of other devices counts as two wake-ups", arguments: [(0.5, 0.5), (0.1, 0.1), (1, 1), (0, 0)])
    func prior(share: Double, expected: Double) {
        var reach = Reachability()
        #expect(abs(reach.rate(prior: share) - expected) < 1e-9)
        reach.add(hits: 6, misses: 2, at: Self.start)
        #expect(abs(reach.rate(prior: share) - (6 + 2 * share) / 10) < 1e-9)
    }

    @Test("a device without evidence is as reachable as others of its app")
    func cohort() {
        let phone = Self.installation()
        #expect(phone.isReachable(byWakes: 1, prior: nil))
        #expect(!phone.isReachable(byWakes: 1, prior: 0.05))
        #expect(phone.isReachable(byWakes: 24, prior: 0.05))
        #expect(!phone.isReachable(byWakes: 0, prior: 1))
    }

    @Test(
        "a device may be woken every half hour, but not in quiet hours, which here last from 22:00 to 07:00",
        arguments: [
            (12, 0, 10, 1), (12, 0, 59, 1), (12, 0, 60, 2), (12, 0, 720, 20), (23, 0, 240, 0), (5, 0, 180, 2),
            (21, 30, 600, 2), (12, 0, 10_080, 48),
        ])
    func chances(hour: Int64, minute: Int64, span: Int64, count: Int) throws {
        let midnight = Timestamp(milliseconds: 20_000 * 86_400_000)
        let start = midnight + .seconds(hour * 3600 + minute * 60)
        let quiet = try #require(QuietHours(from: 22 * 60, to: 7 * 60))
        #expect(Installation.wakeChances(from: start, within: .seconds(span * 60), quiet: quiet) == count)
        let anyHour = Installation.wakeChances(from: start, within: .seconds(span * 60), quiet: nil)
        #expect(anyHour == min(max(Int(span) / 30, 1), 48))
    }

    @Test("a sync counts each wake-up once: those it names as arrived, the others as lost, the newest not yet")
    func reports() {
        var phone = Self.installation()
        var now = Self.start
        for _ in 1...4 {
            phone.wakes.take(asking: false, at: now, jitter: .zero)
            now = now + .seconds(1800)
        }
        now = Self.start + .seconds(3 * 1800 + 60)
        phone.report(wakes: [1, 3, 3, 0, 99, -5], at: now)
        #expect(phone.wakes.countedThrough == 3)
        #expect(phone.reachability.hits == 2_000_000 && phone.reachability.misses == 1_000_000)
        let before = phone
        phone.report(wakes: [1, 2, 3], at: now)
        #expect(phone == before, "a repeated report")
        phone.report(wakes: [4], at: now)
        #expect(phone.wakes.countedThrough == 4 && phone.reachability.hits == 3_000_000)
        phone.wakes.take(asking: false, at: now, jitter: .zero)
        phone.report(wakes: [], at: now + .seconds(300))
        #expect(phone.reachability.misses > 1_900_000)
    }

    @Test("a phone that does not answer when asked counts as unreached, once")
    func silence() {
        var phone = Self.installation()
        phone.wakes.take(asking: true, at: Self.start + .seconds(10), jitter: .zero)
        phone.recordMissingSync(at: Self.start + .seconds(309))
        #expect(phone.reachability.misses == 0)
        for _ in 0..<2 { phone.recordMissingSync(at: Self.start + .seconds(310)) }
        #expect(phone.reachability.misses == 1_000_000)
        var answered = Self.installation()
        answered.wakes.take(asking: true, at: Self.start, jitter: .zero)
        answered.seenAt = Self.start + .seconds(3)
        answered.recordMissingSync(at: Self.start + .seconds(1000))
        #expect(answered.reachability.misses == 0)
    }

    @Test("a wake-up that is taken back counts neither as arrived nor as lost; only the newest can be, once")
    func takenBack() {
        var phone = Self.installation()
        phone.wakes.take(asking: false, at: Self.start, jitter: .zero)
        phone.wakes.take(asking: true, at: Self.start + .seconds(1800), jitter: .zero)
        let taken = ([1, 2, 2] as [Int64]).map { phone.wakes.takeBack($0) }
        #expect(taken == [false, true, false])
        phone.recordMissingSync(at: Self.start + .seconds(3600))
        #expect(phone.reachability.misses == 0, "the first one asked for no sync")
        phone.report(wakes: [1], at: Self.start + .seconds(3600))
        #expect(phone.reachability.hits == 1_000_000 && phone.reachability.misses == 0)
        let isTaken = phone.wakes.takeBack(1)
        #expect(!isTaken, "it is counted already")
    }

    @Test(
        "wake-ups from before the clock was set back by days keep no device asleep",
        arguments: [(Int64(604_800), Int64(0)), (3600, 4800), (10, 1210)])
    func setBack(ahead: Int64, due: Int64) {
        var wakes = WakeUps()
        wakes.take(asking: false, at: Self.start + .seconds(ahead), jitter: .zero)
        wakes.request(at: Self.start)
        #expect(wakes.dueAt == Self.start + .seconds(due))
    }

    @Test("whatever asks for wake-ups, no hour has more than two and no two are closer than 20 minutes")
    func budget() {
        var wakes = WakeUps()
        var times: [Timestamp] = []
        var seed: UInt64 = 7
        for minute in 0..<(48 * 60) {
            let now = Self.start + .seconds(Int64(minute) * 60)
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            if seed >> 60 < 5 { wakes.request(at: now) }
            guard let due = wakes.dueAt, due <= now, wakes.allowed(at: now) <= now else { continue }
            wakes.take(asking: false, at: now, jitter: .seconds(Int64(seed >> 50) % 601 - 300))
            times.append(now)
        }
        #expect(times.count > 80)
        for (first, second) in zip(times, times.dropFirst()) { #expect(second - first >= .seconds(1200)) }
        for (first, third) in zip(times, times.dropFirst(2)) { #expect(third - first >= .seconds(3600)) }
    }
}
