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

    @Test(
        "drift is noticed in either direction, and chance is not drift",
        arguments: [
            (0.05, false), (0.10, true), (0.01, true),
        ])
    func drift(rate: Double, hasDrifted: Bool) {
        var chance = Chance(11)
        var watch = DriftWatch()
        for _ in 0..<3000 { watch.record(expected: 0.05, opened: chance.unit() < rate) }
        #expect(watch.hasDrifted == hasDrifted)
    }

    @Test("a feature that has moved is noticed")
    func stability() {
        var chance = Chance(12)
        let reference = (0..<5000).map { _ in chance.normal() }
        let same = (0..<5000).map { _ in chance.normal() }
        #expect(PopulationStability.index(reference: reference, current: same) < 0.01)
        #expect(PopulationStability.index(reference: reference, current: same.map { $0 + 0.8 }) > 0.25)
        let flags = (0..<1000).map { Double($0 % 10 == 0 ? 1 : 0) }
        #expect(PopulationStability.index(reference: flags, current: flags.map { 1 - $0 }) > 0.25)
        #expect(PopulationStability.index(reference: [1, 1], current: [2]) == 0)
    }
}
