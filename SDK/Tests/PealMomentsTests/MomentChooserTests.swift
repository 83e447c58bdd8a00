import Testing

@testable import PealMoments

@Suite("The decision at a wake")
struct MomentChooserTests {
    private static let hour: Int64 = 3_600_000
    /// A Monday, 10 h UTC.
    private static let now: Int64 = 1_769_421_600_000
    private let chooser = MomentChooser(
        person: Person(profile: .neutral, openness: 0), arrival: 0.8, utcOffsetSeconds: { _ in 0 })
    private let good: Signals = {
        var signals = Signals()
        (signals.isUnlocked, signals.wasUnlocked) = (true, true)
        (signals.isFaceDown, signals.isInVehicle, signals.isInLowPowerMode) = (false, false, false)
        return signals
    }()
    private let bad: Signals = {
        var signals = Signals()
        (signals.isUnlocked, signals.isFaceDown) = (false, true)
        return signals
    }()

    private func message(
        _ id: String, end: Int64 = Self.now + 6 * Self.hour, mode: ExplorationMode = .greedy
    ) -> HeldMessage {
        HeldMessage(
            id: id, model: .builtIn(app: "a"), start: Self.now - Self.hour, end: end, mode: mode,
            draw: ExplorationDraw(messageID: id, salt: "s"))
    }

    private func decide(
        _ messages: [HeldMessage], _ signals: Signals, chooser: MomentChooser? = nil, shown: [Int64] = [],
        isForeground: Bool = false
    ) -> String? {
        (chooser ?? self.chooser).decide(
            messages, signals: signals, now: Self.now, shown: shown, isForeground: isForeground
        ).show
    }

    @Test("shows at a good moment and waits at a bad one")
    func moments() {
        #expect(decide([message("m")], good) == "m")
        #expect(decide([message("m")], bad) == nil)
    }

    @Test("shows at most one message, the one that ends first when they gain alike")
    func one() {
        let late = message("late"), early = message("early", end: Self.now + 6 * Self.hour)
        #expect(decide([late, early], good) != nil)
        let last = message("last", end: Self.now + 2 * Self.hour)
        #expect(decide([late, last], good) == "last")
    }

    @Test("a wake at which another message is shown is not logged for messages that gain less")
    func competition() throws {
        func soft(_ id: String, hours: Int64) -> HeldMessage {
            message(id, end: Self.now + hours * Self.hour, mode: .soft)
        }
        func decide(_ messages: [HeldMessage]) -> (show: String?, traces: [WakeTrace]) {
            chooser.decide(messages, signals: good, now: Self.now, shown: [], isForeground: false)
        }
        let last = message("last", end: Self.now + 2 * Self.hour)
        for number in 0..<20 {
            let taken = decide([soft("\(number)", hours: 6), last])
            #expect(taken.show == "last" && taken.traces.map(\.messageID) == ["last"])
        }
        // This one would have won if it had asked.
        let name = try #require((0..<10_000).map(String.init).first { decide([soft($0, hours: 2)]).show == nil })
        let left = decide([soft(name, hours: 2), message("late")])
        #expect(left.show == "late" && left.traces.map(\.messageID) == [name, "late"])
    }

    @Test("shows nothing while the person uses the app, too soon after another, or beyond the daily number")
    func limits() {
        #expect(decide([message("m")], good, isForeground: true) == nil)
        #expect(decide([message("m")], good, shown: [Self.now - Self.hour]) == nil)
        #expect(decide([message("m")], good, shown: [Self.now - 2 * Self.hour]) == "m")
        var chooser = chooser
        chooser.rules.cap = DeliveryCap(messages: 1, period: 24 * Self.hour)
        #expect(decide([message("m")], good, chooser: chooser, shown: [Self.now - 23 * Self.hour]) == nil)
        #expect(decide([message("m")], good, chooser: chooser, shown: [Self.now - 25 * Self.hour]) == "m")
    }

    @Test("shows nothing outside a window", arguments: [-Self.hour, 0])
    func windows(offset: Int64) {
        #expect(decide([message("m", end: Self.now + offset)], good) == nil)
    }

    @Test("keeps quiet hours, and does not count on wakes in them", arguments: [(9.0, 11.0), (22.0, 10.5)])
    func quiet(from: Double, to: Double) {
        var chooser = chooser
        chooser.rules.quietHours = QuietHours(from: from, to: to)
        #expect(decide([message("m")], good, chooser: chooser) == nil)
        chooser.rules.quietHours = QuietHours(from: 11, to: 16)
        let rule = chooser.rule(for: message("m"), now: Self.now)
        // 10:00 and 10:30 remain; the deadline at 16:00 is none of them.
        #expect(rule.continuationValues.count == 2)
    }

    @Test("counts on later wakes by the clock at their instant")
    func clockChange() {
        var chooser = chooser
        chooser.rules.quietHours = QuietHours(from: 11, to: 16)
        // At 11:00 it is 10:00 again, so four wakes remain before the quiet hours.
        chooser.utcOffsetSeconds = { $0 < Self.now + Self.hour ? 0 : -3600 }
        #expect(chooser.rule(for: message("m"), now: Self.now).continuationValues.count == 4)
    }

    @Test("a uniform message is shown from its target on, whatever is sensed")
    func uniform() {
        let held = message("u", mode: .uniform)
        let target = held.draw.target(start: held.start, end: held.end)
        let decision = chooser.decide([held], signals: bad, now: Self.now, shown: [], isForeground: false)
        #expect((decision.show != nil) == (Self.now >= target))
        #expect(abs(decision.traces[0].chance - 1.0 / 7) < 1e-12)
    }

    @Test("the same message always has the same draws")
    func draws() {
        let draw = ExplorationDraw(messageID: "m", salt: "s")
        #expect(draw == ExplorationDraw(messageID: "m", salt: "s"))
        #expect(draw != ExplorationDraw(messageID: "m", salt: "t"))
    }

    @Test("propensities follow from chances and sum to one")
    func propensities() {
        let values = ExplorationDraw.propensities([0.5, 0.2, 1, 0.3])
        #expect(values.count == 5)
        #expect(zip(values, [0.5, 0.1, 0.4, 0, 0]).allSatisfy { abs($0 - $1) < 1e-12 })
        #expect(ExplorationDraw.softChance(probability: 0.1, threshold: 0.1) == 0.5)
        #expect(ExplorationDraw.softChance(probability: 0.9, threshold: 0.1) > 0.98)
        #expect(ExplorationDraw.softChance(probability: 0.01, threshold: 0.5) < 0.011)
    }

    @Test("a uniform message's chances give every stretch of the window its share")
    func uniformShares() {
        let instants: [Int64] = [0, 10, 30, 60]
        let chances = zip(instants, instants.dropFirst()).map {
            ExplorationDraw.uniformChance(previous: $0, now: $1, end: 100)
        }
        let values = ExplorationDraw.propensities(chances)
        #expect(zip(values, [0.1, 0.2, 0.3, 0.4]).allSatisfy { abs($0 - $1) < 1e-12 })
    }

    @Test("a wake rate follows what arrives and forgets")
    func wakeRate() {
        var rate = WakeRate(prior: 0.5, now: 0)
        #expect(rate.chance == 0.5)
        for wake in 1...48 { rate.record(hasArrived: true, now: Int64(wake) * 1_800_000) }
        #expect(rate.chance > 0.9)
        for wake in 49...400 { rate.record(hasArrived: false, now: Int64(wake) * 1_800_000) }
        #expect(rate.chance < 0.15)
    }
}
