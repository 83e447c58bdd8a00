import Foundation
import PealMoments
import Testing

@testable import PealMomentTraining

@Suite("Judging models")
struct JudgementTests {
    private static func trainer(means: [Double]) -> MomentTrainer {
        var rows = FeatureMatrix(width: FeatureSchema.count)
        for sign in [-1.0, 1] { rows.append(([1] + [Double](repeating: sign, count: 30))[...]) }
        let audience = Audience(
            standardization: Standardization(of: rows), template: .plain, audienceOpens: 3, arrival: 0.8)
        return MomentTrainer(
            audience: audience,
            prior: GaussianPrior(means: means, precisions: [0.01] + [Double](repeating: 30, count: 30)))
    }

    private static func labels(_ effect: Double, count: Int, seed: UInt64) -> CampaignLabels {
        let weights = [-2, effect] + [Double](repeating: 0, count: 29)
        let (rows, opened) = TrainingTests.sample(weights, rows: count, seed: seed)
        return CampaignLabels(features: rows, opened: opened)
    }

    private static let zero = [Double](repeating: 0, count: 31)

    @Test("a model that predicts better is promoted, with a slope near one")
    func better() {
        let report = Self.trainer(means: Self.zero).judge(Self.labels(1, count: 4000, seed: 3))
        #expect(report.isPromoted, "\(report.objections)")
        #expect((0.8...1.3).contains(report.slope))
        #expect(report.gain > 2 * report.gainError)
    }

    @Test("phones decide by halved scores, and reports take the half out")
    func caution() throws {
        var weights = Self.zero
        (weights[0], weights[12]) = (-3, 0.8)
        var sensed = FeatureMatrix(width: FeatureSchema.sensedCount)
        sensed.append(([1] + [Double](repeating: 0, count: 11))[...])
        let wakes = LoggedWakes(sensed: sensed, ownHours: [OwnHour(hour: 9, isWeekend: false)])
        let model = try Self.trainer(means: Self.zero).model(
            ModelIdentity(app: "a", campaign: nil, version: 1, trainedAt: 0), weights: weights, wakes: wakes)
        let known = [1] + [Double](repeating: 0, count: 11)
        let score = model.knownScore(known[...]) + model.sensedScore(sensed[0], at: OwnHour(hour: 9, isWeekend: false))
        #expect(abs(score + 1.1) < 1e-3)
        #expect(abs(model.calibration.probability(score) - Logistic.probability(-2.2)) < 1e-3)
    }

    @Test("a model is not promoted for nothing")
    func noBetter() {
        let report = Self.trainer(means: Self.zero).judge(Self.labels(0, count: 4000, seed: 4))
        #expect(report.objections.contains(.notBetter))
        let few = Self.trainer(means: Self.zero).judge(Self.labels(1, count: 60, seed: 4))
        #expect(few.objections == [.tooFewLabels])
    }

    @Test("a model that would lose opens is not promoted")
    func value() {
        let harm = OffPolicyEstimate(value: -0.01, standardError: 0.002, effectiveCount: 1000)
        let report = Self.trainer(means: Self.zero).judge(Self.labels(1, count: 4000, seed: 3), valueAdvantage: harm)
        #expect(report.objections == [.value])
    }

    @Test("two failures in a row withdraw a campaign's model")
    func withdrawal() {
        var state = PromotionState()
        #expect(state.record(isPromoted: false) == .keep)
        #expect(state.record(isPromoted: false) == .keep)
        #expect(state.record(isPromoted: true) == .ship)
        #expect(state.record(isPromoted: false) == .keep)
        #expect(state.record(isPromoted: false) == .withdraw)
        #expect(state.record(isPromoted: false) == .keep)
    }

    @Test("drift is noticed in either direction", arguments: [0.05, 0.2, 0.5], [0.2, 0.5, 1.5, 1.9])
    func drift(expected: Double, change: Double) {
        var chance = Chance(11)
        var watch = DriftWatch()
        for _ in 0..<3000 { watch.record(expected: expected, opened: chance.unit() < change * expected) }
        #expect(watch.hasDrifted)
    }

    @Test("chance is not drift, however often messages are opened", arguments: [0.02, 0.05, 0.2, 0.5, 0.8])
    func noDrift(rate: Double) {
        var chance = Chance(11)
        let alarms = (0..<100).count { _ in
            var watch = DriftWatch()
            for _ in 0..<3000 { watch.record(expected: rate, opened: chance.unit() < rate) }
            return watch.hasDrifted
        }
        #expect(alarms <= 10, "\(alarms)")
    }

    /// Whether a watch raises an alarm over messages whose rate of opens changes after `stable` of them.
    private static func isAlarmed(_ seed: UInt64, rate: Double, change: Double, stable: Int = 0, count: Int) -> Bool {
        var chance = Chance(seed)
        var watch = DriftWatch()
        for number in 0..<count where !watch.hasDrifted {
            // People and moments differ.
            let expected = rate * (0.5 + chance.unit())
            watch.record(expected: expected, opened: chance.unit() < expected * (number < stable ? 1 : change))
        }
        return watch.hasDrifted
    }

    @Test("neither many messages nor a deviation within the tolerance are drift")
    func longWatch() {
        let alarms = (1...60 as ClosedRange<UInt64>).count { seed in
            let change = 1 + DriftWatch.tolerance * Double(Int(seed % 3) - 1)
            return Self.isAlarmed(seed, rate: 0.1, change: change, count: 20_000)
        }
        #expect(alarms <= 1, "\(alarms)")
    }

    @Test("several messages to people of different habits are not drift")
    func habits() {
        let alarms = (1...20 as ClosedRange<UInt64>).count { seed in
            var chance = Chance(seed)
            var watch = DriftWatch()
            let people = (0..<1000).map { _ in exp(chance.normal() - 0.5) }
            for _ in 0..<20 {
                for person in people { watch.record(expected: 0.05, opened: chance.unit() < 0.05 * person) }
            }
            return watch.hasDrifted
        }
        #expect(alarms <= 1, "\(alarms)")
    }

    @Test(
        "a change by half is noticed within 150 expected opens, and within 200 if it comes late; a third within 500",
        arguments: [
            (0.5, 0, 3000), (1.5, 0, 3000), (0.5, 3000, 7000), (1.5, 3000, 7000), (0.67, 0, 10_000), (1.33, 0, 10_000),
        ])
    func power(change: Double, stable: Int, count: Int) {
        let alarms = (1...20 as ClosedRange<UInt64>).count {
            Self.isAlarmed($0, rate: 0.05, change: change, stable: stable, count: count)
        }
        #expect(alarms >= 18, "\(alarms)")
    }

    @Test("a feature that has moved is noticed")
    func stability() {
        var chance = Chance(12)
        let reference = (0..<5000).map { _ in chance.normal() }
        let same = (0..<5000).map { _ in chance.normal() }
        #expect(PopulationStability.index(reference: reference, current: same) < 0.01)
        #expect(PopulationStability.index(reference: reference, current: same.map { $0 + 0.8 }) > 0.25)
        #expect(PopulationStability.index(reference: [], current: same) == 0)
        #expect(PopulationStability.index(reference: same, current: [.nan]) == 0)
    }

    @Test(
        "a signal that is set much more rarely or more often is noticed, and no other",
        arguments: [
            (10, 90, true), (6, 60, true), (0, 40, true), (95, 40, true), (100, 30, true), (6, 6, false), (6, 9, false),
            (0, 0, false), (0, 1, false), (100, 100, false), (50, 55, false),
        ])
    func stability(before: Int, after: Int, hasShifted: Bool) {
        func flags(_ percent: Int) -> [Double] { (0..<300).map { $0 % 100 < percent ? 1 : 0 } }
        let index = PopulationStability.index(reference: flags(before), current: flags(after))
        #expect((index > PopulationStability.limit) == hasShifted, "\(index)")
    }
}
