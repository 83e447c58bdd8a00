import Foundation
import PealMoments
import Testing

@testable import PealMomentTraining

/// Soft messages of people whose opens depend on whether their phone is unlocked, and on a preference for the evening.
private struct SoftWorld {
    static let wakeMinutes = Array(stride(from: 0, to: 360, by: 30))
    private static let monday: Int64 = 4 * 86_400_000

    var random = Chance(11)
    private let builtIn = MomentModel.builtIn(app: "test")
    private(set) var journeys: [LoggedJourney] = []
    /// True opens per message of soft phones with the built-in model, and with each other one.
    private(set) var truth = 0.0
    private(set) var truths: [Double]
    let others: [MomentModel]

    init(_ others: [MomentModel], count: Int) throws {
        self.others = others
        truths = others.map { _ in 0 }
        for number in 0..<count { try live(number) }
        (truth, truths) = (truth / Double(count), truths.map { $0 / Double(count) })
    }

    private static func probability(_ signals: Signals, _ hour: Double) -> Double {
        Logistic.probability(-2.6 + (signals.isUnlocked == true ? 1.4 : 0) - 0.4 * cos(2 * .pi * (hour - 8) / 24))
    }

    private mutating func live(_ number: Int) throws {
        let hour = 8 + Double(number % 8)
        let start = Self.monday + Int64(hour * 3_600_000)
        var counters = [Int](repeating: 1, count: 24)
        for _ in 0..<12 { counters[16 + Int(random.unit() * 6)] += 1 }
        let person = Person(openCounts: counters, template: .plain, audienceOpens: builtIn.audienceOpens)
        let wakes = Self.wakeMinutes.filter { _ in random.unit() < 0.8 }.map { minute -> (Int, Signals) in
            var signals = Signals()
            signals.isUnlocked = random.unit() < 0.3
            return (minute, signals)
        }
        let end = Self.probability(Signals(), hour + 6)
        func traces(_ model: MomentModel) -> [WakeTrace] {
            let chooser = MomentChooser(person: person, arrival: model.arrival, utcOffsetSeconds: { _ in 0 })
            let held = HeldMessage(
                id: "m\(number)", model: model, start: start, end: start + 6 * 3_600_000, mode: .soft,
                draw: ExplorationDraw(messageID: "m\(number)", salt: "s"))
            return wakes.flatMap { minute, signals in
                chooser.decide(
                    [held], signals: signals, now: start + Int64(minute) * 60_000, shown: [], isForeground: false
                ).traces
            }
        }
        let values = wakes.map { Self.probability($1, hour + Double($0) / 60) } + [end]
        func value(_ traces: [WakeTrace]) -> Double {
            zip(ExplorationDraw.propensities(traces.map(\.chance)), values).reduce(0) { $0 + $1.0 * $1.1 }
        }
        let own = traces(builtIn)
        truth += value(own)
        for index in others.indices { truths[index] += value(traces(others[index])) }
        let shown = own.indices.first { random.unit() < own[$0].chance }
        var trace: [UInt8] = []
        for (index, wake) in wakes.enumerated() where index <= shown ?? .max {
            let now = start + Int64(wake.0) * 60_000
            let context = ContextSnapshot.encode(
                wake.1, at: LocalTime(milliseconds: now, utcOffsetSeconds: 0), for: person)
            trace += TraceLine.encode(own[index], start: start, now: now, context: context)
        }
        let opened = random.unit() < values[shown ?? values.count - 1]
        if let journey = LoggedJourney(trace: trace, windowMinutes: 360, isShown: shown != nil, opened: opened) {
            journeys.append(journey)
        }
    }
}

@Suite("Off-policy evaluation of what phones log")
struct JourneyTests {
    /// The built-in model with other weights for what is sensed.
    private static func model(_ factor: Double) throws -> MomentModel {
        let model = MomentModel.builtIn(app: "test")
        let weights = model.weights.enumerated().map { $0 < FeatureSchema.knownCount ? $1 : $1 * factor }
        return try MomentModel(
            app: "test", campaign: nil, version: 1, trainedAt: 0, expires: .max, means: model.means,
            scales: model.scales, weights: weights, table: model.table, template: model.template,
            audienceOpens: model.audienceOpens, arrival: model.arrival)
    }

    private static func advantage(_ model: MomentModel, _ world: SoftWorld) -> OffPolicyEstimate? {
        OffPolicy.advantage(of: model, over: [.builtIn(app: "test")], in: world.journeys)?.estimate
    }

    @Test("finds the true advantage of other models, good and bad, and none of the same")
    func truth() throws {
        let models = try [1.7, 0, 1, -1].map(Self.model)
        let world = try SoftWorld(models, count: 2000)
        #expect(world.journeys.count > 1900)
        for (model, truth) in zip(models, world.truths).prefix(3) {
            let found = try #require(Self.advantage(model, world))
            let text = "\(found), true \(truth - world.truth), base \(world.truth)"
            #expect(abs(found.value - (truth - world.truth)) <= 3 * found.standardError + 0.001, "\(text)")
            #expect(found.standardError < 0.15 * world.truth, "\(text)")
        }
        // Weights are bounded, so a model that does the opposite is found to be bad, but not how bad.
        let harm = try #require(Self.advantage(models[3], world))
        #expect(harm.value < -2 * harm.standardError, "a model that avoids good moments is recognized")
        let same = try #require(Self.advantage(models[2], world))
        #expect(abs(same.value) < 0.002 && same.effectiveCount > 1900)
    }

    @Test("gives no estimate from few messages")
    func few() throws {
        let journeys = try SoftWorld([], count: 150).journeys
        let builtIn = MomentModel.builtIn(app: "test")
        #expect(OffPolicy.advantage(of: try Self.model(2), over: [builtIn], in: journeys) == nil)
        let many = try SoftWorld([], count: 300).journeys
        #expect(OffPolicy.advantage(of: try Self.model(1.1), over: [builtIn], in: many)?.count == 300)
        let others = try [Self.model(3)]
        #expect(OffPolicy.advantage(of: builtIn, over: others, in: many) == nil, "phones had another model")
    }

    @Test("is not disturbed by one phone whose context makes a model certain", arguments: [3.0, -3])
    func certainty(weight: Double) throws {
        let builtIn = MomentModel.builtIn(app: "test")
        let other = try MomentModel(
            app: "test", campaign: nil, version: 1, trainedAt: 0, expires: .max, means: builtIn.means,
            scales: builtIn.scales, weights: builtIn.weights.indices.map { $0 == 7 ? weight : builtIn.weights[$0] },
            table: builtIn.table, template: builtIn.template, audienceOpens: builtIn.audienceOpens,
            arrival: builtIn.arrival)
        // An openness of 9.9, in the fourth and the fifth byte.
        var context = ContextSnapshot.encode(
            Signals(), at: LocalTime(hour: 9, isWeekend: false), for: Person(profile: .neutral, openness: 0))
        (context[3], context[4]) = (0xAC, 0x26)
        let features = try #require(ContextSnapshot(bytes: context)).features
        #expect(abs(other.score(features[...])) > 37, "certain")
        let now = WakeTrace(
            messageID: "m", probability: Logistic.probability(builtIn.score(features[...])), threshold: 0.5,
            chance: 0.5, asks: false)
        let trace = TraceLine.encode(now, start: 0, now: 0, context: context)
        let odd = try #require(LoggedJourney(trace: trace, windowMinutes: 10, isShown: true, opened: false))
        let others = try SoftWorld([], count: 400).journeys
        let clean = try #require(OffPolicy.advantage(of: other, over: [builtIn], in: others))
        let found = try #require(OffPolicy.advantage(of: other, over: [builtIn], in: others + [odd]))
        #expect(found.count == clean.count + 1)
        #expect(abs(found.estimate.value - clean.estimate.value) < 0.01, "\(found), \(clean)")
    }

    @Test("refuses traces that no phone writes")
    func malformed() {
        var context = ContextSnapshot.encode(
            Signals(), at: LocalTime(hour: 9, isWeekend: false),
            for: Person(openCounts: [], template: .plain, audienceOpens: 3))
        func line(_ minute: Int64, _ chance: Double) -> [UInt8] {
            TraceLine.encode(
                WakeTrace(messageID: "m", probability: 0.1, threshold: 0.1, chance: chance, asks: false), start: 0,
                now: minute * 60_000, context: context)
        }
        func journey(_ trace: [UInt8]) -> LoggedJourney? {
            LoggedJourney(trace: trace, windowMinutes: 360, isShown: true, opened: false)
        }
        #expect(journey(line(0, 0.01) + line(30, 0.99))?.wakes.count == 2)
        #expect(journey([]) == nil)
        #expect(journey(Array(line(0, 0.5).dropLast())) == nil)
        #expect(journey(line(30, 0.5) + line(0, 0.5)) == nil, "time goes forward")
        #expect(journey(line(400, 0.5)) == nil, "after the window")
        #expect(journey(line(0, 1)) == nil, "a soft message is never certain")
        (context[3], context[4]) = (0xFF, 0x7F)
        #expect(journey(line(0, 0.5)) == nil, "an openness of 32.767")
        (context[0], context[3], context[4]) = (9, 0, 0)
        #expect(journey(line(0, 0.5)) == nil, "another schema")
    }

    @Test("small chances are as precise as large ones", arguments: [0.01, 0.02, 0.1, 0.5, 0.9, 0.99])
    func precision(chance: Double) throws {
        let context = ContextSnapshot.encode(
            Signals(), at: LocalTime(hour: 9, isWeekend: false), for: Person(profile: .neutral, openness: 0))
        let bytes = TraceLine.encode(
            WakeTrace(messageID: "m", probability: 0.2, threshold: 0.3, chance: chance, asks: false), start: 0, now: 0,
            context: context)
        let line = try #require(TracedWake.wakes(bytes)?.first).line
        #expect(abs(line.chance / chance - 1) < 0.025 && abs((1 - line.chance) / (1 - chance) - 1) < 0.025)
    }
}
