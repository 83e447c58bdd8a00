import Foundation
import PealMoments
import Testing

@testable import PealMomentTraining

/// Chance that repeats: xorshift.
struct Chance {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func unit() -> Double {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Double(state >> 11) * 0x1p-53
    }

    mutating func normal() -> Double {
        (-2 * log(max(unit(), 1e-300))).squareRoot() * cos(2 * Double.pi * unit())
    }
}

@Suite("Training")
struct TrainingTests {
    /// Rows with a constant and standard normal features, and labels by true weights.
    static func sample(_ weights: [Double], rows count: Int, seed: UInt64) -> (FeatureMatrix, [Double]) {
        var chance = Chance(seed)
        var matrix = FeatureMatrix(width: weights.count)
        var opened: [Double] = []
        for _ in 0..<count {
            let row = weights.indices.map { $0 == 0 ? 1 : chance.normal() }
            matrix.append(row[...])
            let score = zip(row, weights).reduce(0) { $0 + $1.0 * $1.1 }
            opened.append(chance.unit() < Logistic.probability(score) ? 1 : 0)
        }
        return (matrix, opened)
    }

    @Test("the gradient is the slope of the posterior")
    func gradient() {
        let (rows, opened) = Self.sample([-1, 0.5, -0.3, 0.8], rows: 200, seed: 1)
        let prior = GaussianPrior(means: [0, 0.1, 0.2, -0.1], precisions: [0.1, 2, 3, 4])
        var posterior = LogisticPosterior(
            rows: rows, opened: opened, rowWeights: opened.indices.map { 0.5 + Double($0 % 3) / 4 }, prior: prior)
        let point = [-0.7, 0.3, 0.4, 0.2]
        let gradient = posterior.gradientAndCurvature(at: point)
        for index in point.indices {
            var (up, down) = (point, point)
            up[index] += 1e-5
            down[index] -= 1e-5
            let slope = (posterior.value(at: up) - posterior.value(at: down)) / 2e-5
            #expect(abs(slope - gradient[index]) < 1e-4 * max(1, abs(slope)))
            let bent = posterior.gradientAndCurvature(at: up)
            _ = posterior.gradientAndCurvature(at: point)
            #expect(abs((gradient[index] - bent[index]) / 1e-5 - posterior.curvature[index, index]) < 0.05)
        }
    }

    @Test("a constant alone fits the rate of opens", arguments: [0.02, 0.3, 0.9])
    func constant(rate: Double) {
        let opened = (0..<1000).map { Double($0) < rate * 1000 ? 1.0 : 0 }
        var rows = FeatureMatrix(width: 1)
        for _ in opened { rows.append([1]) }
        let fit = LogisticFit(rows, opened: opened, prior: GaussianPrior(means: [0], precisions: [1e-9]))
        #expect(fit.hasConverged)
        #expect(abs(fit.weights[0] - Logistic.logit(rate)) < 1e-6)
        #expect(abs(fit.variances[0] - 1 / (1000 * rate * (1 - rate))) < 1e-6)
    }

    @Test("true weights are found", arguments: [UInt64(1), 2, 3])
    func recovery(seed: UInt64) {
        let truth = [-2, 0.7, -0.4, 0, 0.2]
        let (rows, opened) = Self.sample(truth, rows: 20_000, seed: seed)
        let fit = LogisticFit(rows, opened: opened, prior: .ridge(1, count: 5))
        for (index, weight) in truth.enumerated() {
            #expect(abs(fit.weights[index] - weight) < 4 * fit.variances[index].squareRoot())
        }
    }

    @Test("no start makes it diverge")
    func damping() {
        let (rows, opened) = Self.sample([-1, 1, 1], rows: 500, seed: 5)
        let far = GaussianPrior(means: [0, 40, -40], precisions: [1e-3, 1e-4, 1e-4])
        let fit = LogisticFit(rows, opened: opened, prior: far)
        #expect(fit.hasConverged)
        #expect(abs(fit.weights[1] - 1) < 0.5)
        let none = LogisticFit(rows, opened: opened.map { _ in 0 }, prior: .ridge(1, count: 3))
        #expect(none.weights.allSatisfy { $0.isFinite })
    }

    @Test("a row of weight two counts as two rows")
    func weights() {
        let (rows, opened) = Self.sample([-1, 0.5], rows: 100, seed: 6)
        let twice = rows.picking(Array(0..<100) + Array(0..<50))
        let prior = GaussianPrior.ridge(1, count: 2)
        let repeated = LogisticFit(twice, opened: opened + opened.prefix(50), prior: prior)
        let weighted = LogisticFit(
            rows, opened: opened, rowWeights: (0..<100).map { $0 < 50 ? 2 : 1 }, prior: prior)
        #expect(zip(repeated.weights, weighted.weights).allSatisfy { abs($0 - $1) < 1e-6 })
    }

    @Test("the prior of equal campaigns is their weights, and tight where they agree")
    func prior() {
        let estimate = CampaignEstimate(weights: [-3, 0.5, 0.2], variances: [0.01, 0.02, 0.04])
        let prior = GaussianPrior(campaigns: [estimate, estimate, estimate], hourFeatures: [2], sensedFeatures: 0..<0)
        #expect(prior.means[0] == -3 && abs(prior.means[1] - 0.5) < 1e-12)
        // An hour weight is drawn towards zero as far as chance could have made it.
        let error = (0.04 + 0.004) / 3
        #expect(abs(prior.means[2] - 0.2 * (0.04 - error) / 0.04) < 1e-12)
        #expect(prior.precisions[0] == 0.01)
        #expect(abs(1 / prior.precisions[1] - 0.1 * 0.02) < 1e-12)
        // An hour weight gets twice the spread and a share of the sampling variance.
        #expect(abs(1 / prior.precisions[2] - (2 * 0.1 * 0.04 + 0.04 / 3)) < 1e-12)
    }

    @Test("an imprecise campaign counts less in the prior")
    func randomEffects() {
        let prior = GaussianPrior(
            campaigns: [
                CampaignEstimate(weights: [0, 1], variances: [0.1, 0.01]),
                CampaignEstimate(weights: [0, 1.1], variances: [0.1, 0.01]),
                CampaignEstimate(weights: [0, -2], variances: [0.1, 5]),
            ], hourFeatures: [], sensedFeatures: 0..<0)
        // The plain mean is 0.03.
        #expect(prior.means[1] > 0.6)
    }

    @Test("a sensed weight in which few campaigns differ at random keeps a spread like that of the others")
    func levelling() {
        let campaigns = [-0.3, 0, 0.3].map { difference in
            CampaignEstimate(weights: [0, 1 + difference, 0.5, 0.2], variances: [0.01, 0.001, 0.001, 0.001])
        }
        let apart = GaussianPrior(campaigns: campaigns, hourFeatures: [], sensedFeatures: 0..<0)
        let level = GaussianPrior(campaigns: campaigns, hourFeatures: [], sensedFeatures: 1..<3)
        #expect(abs(1 / apart.precisions[1] - 0.089) < 1e-9 && abs(1 / apart.precisions[2] - 1e-4) < 1e-9)
        // Half-way on a logarithmic scale: the ratio of the spreads becomes its root.
        let (before, after) = (apart.precisions[2] / apart.precisions[1], level.precisions[2] / level.precisions[1])
        #expect(abs(after - before.squareRoot()) < 1e-6)
        let product = apart.precisions[1] * apart.precisions[2]
        #expect(abs(level.precisions[1] * level.precisions[2] / product - 1) < 1e-9)
        #expect(level.means == apart.means && level.precisions[3] == apart.precisions[3])
    }

    @Test("labels that contradict the prior make it count less")
    func adaptation() {
        let prior = GaussianPrior(means: [0, 0.5, 0.3], precisions: [0.01, 100, 100])
        let fits = [0.5, -1.5].map { truth in
            let (rows, opened) = Self.sample([-1, truth, 0.3], rows: 1000, seed: 4)
            let fit = AdaptedFit(rows, opened: opened, prior: prior, hourFeatures: [1])
            let plain = LogisticFit(rows, opened: opened, prior: prior)
            return (fit: fit, error: abs(fit.weights[1] - truth), plainError: abs(plain.weights[1] - truth))
        }
        #expect(fits[1].fit.scales.hours > 1.5 * fits[0].fit.scales.hours)
        #expect(fits[1].error < fits[1].plainError)
        #expect(abs(fits[1].fit.scales.others - fits[0].fit.scales.others) < 0.3)
    }

    @Test("a template is learnt from counters")
    func template() throws {
        var chance = Chance(9)
        let day = HourTemplate.plain.hours
        let audience = (0..<300).map { person -> [Int] in
            let shift = person % 3 == 0 ? 3 : 0
            var counts = [Int](repeating: 0, count: 24)
            for _ in 0..<40 {
                var left = chance.unit()
                let hour =
                    day.firstIndex {
                        left -= $0; return left < 0
                    } ?? 23
                counts[(hour + shift) % 24] += 1
            }
            return counts
        }
        let template = try #require(HourTemplate(learningFrom: audience))
        let shifts = audience.map { HourProfile(openCounts: $0, template: template).shift }
        let late = shifts.enumerated().filter { $0.offset % 3 == 0 }.map(\.element).reduce(0, +) / 100
        let early = shifts.enumerated().filter { $0.offset % 3 != 0 }.map(\.element).reduce(0, +) / 200
        #expect((2...4).contains(late - early))
        #expect(abs(template.hours.reduce(0, +) - 1) < 1e-9)
        #expect(HourTemplate(learningFrom: []) == nil)
        let busy = [0, 0, 0, 1_000_000] + [Int](repeating: 0, count: 20)
        let unmoved = try #require(HourTemplate(learningFrom: audience + [busy]))
        #expect(zip(unmoved.hours, template.hours).allSatisfy { abs($0 - $1) < 0.1 }, "\(unmoved.hours)")
    }

    @Test("a score table has bins of equal counts, drawn towards the overall shares")
    func table() throws {
        let scores = (0..<800).map(Double.init)
        let hours = scores.map { OwnHour(hour: $0 < 400 ? 8 : 20, isWeekend: false) }
        let table = try #require(ScoreTable(scores: scores, ownHours: hours, binCount: 8))
        #expect(table.bins[0] == 50)
        let morning = Array(table.chances[8 * 8..<9 * 8])
        #expect(abs(morning.reduce(0, +) - 1) < 1e-9)
        #expect(morning[0] > 0.2 && morning[7] < 0.01)
        #expect(abs(table.chances[0] - 0.125) < 0.01)
        #expect(ScoreTable(scores: [], ownHours: [], binCount: 8) == nil)
    }

    @Test("a feature that hardly varied is not magnified")
    func scaleFloor() {
        var rows = FeatureMatrix(width: 3)
        for value in [0.500, 0.501, 0.502] { rows.append([1, value, 100 * value]) }
        let builtIn = Standardization(of: MomentModel.builtIn(app: "a"))
        let floored = Standardization(of: rows).scales(atLeast: 0.25, of: builtIn)
        #expect(floored.scales[0] == 0.25 * builtIn.scales[0])
        #expect(floored.scales[1] < 0.25 * builtIn.scales[1] + 0.1 && floored.means == Standardization(of: rows).means)
    }

    @Test("standardization leaves out what is unknown and puts it at the mean")
    func standardization() {
        var rows = FeatureMatrix(width: 2)
        for value in [1.0, 3, .nan] { rows.append([1, value]) }
        let standardization = Standardization(of: rows)
        #expect(standardization.means == [2])
        let result = standardization(rows)
        #expect(abs(result[0][1] + 1) < 1e-5)
        #expect(result[2].last == 0)
    }
}
