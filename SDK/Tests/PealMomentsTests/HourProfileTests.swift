import Foundation
import Testing

@testable import PealMoments

@Suite("The hour profile")
struct HourProfileTests {
    private static let template = HourTemplate(
        hours: [1, 1, 1, 1, 1, 2, 6, 14, 18, 15, 13, 13, 16, 14, 12, 12, 14, 18, 22, 24, 25, 22, 14, 5],
        shiftWeights: [0.0201, 0.1001, 0.1801, 0.3001, 0.2301, 0.0801, 0.0201, 0.0001, 0.0201, 0.0301, 0.0201],
        spreads: [0.36, 0.19, 0.13])
    private static let opens: [Int] = {
        var counts = [Int](repeating: 0, count: 24)
        for (hour, count) in [7: 2, 12: 1, 18: 3, 20: 6, 21: 8, 22: 5] { counts[hour] = count }
        return counts
    }()

    @Test("agrees with the published vector")
    func vector() throws {
        let template = try #require(Self.template)
        let profile = HourProfile(openCounts: Self.opens, template: template)
        let expected = [-0.147972, 0.759352, -0.216037, 0.058695, -0.124204, -0.036097]
        for (value, known) in zip(profile.preference, expected) { #expect(abs(value - known) < 2e-5) }
        #expect(abs(profile.shift - 0.136966) < 2e-5)
    }

    @Test("weighs shifts by their published evidence", arguments: [(3, -68.03515), (4, -69.59426)])
    func evidence(index: Int, known: Double) throws {
        let template = try #require(Self.template)
        let fits = template.shiftFits(Self.opens.map(Double.init))
        #expect(abs(fits[index].fit.evidence - known) < 1e-4)
        #expect(abs(fits.reduce(0) { $0 + $1.chance } - 1) < 1e-12)
    }

    @Test("without opens is the audience's")
    func empty() throws {
        let template = try #require(Self.template)
        let profile = HourProfile(openCounts: [], template: template)
        #expect(profile.preference.allSatisfy { abs($0) < 1e-12 })
        let shares = template.shiftWeights
        let mean = zip(shares, HourTemplate.shifts).reduce(0) { $0 + $1.0 * Double($1.1) } / shares.reduce(0, +)
        #expect(abs(profile.shift - mean) < 1e-9)
    }

    @Test("stays sane where counters are extreme", arguments: [50, 500, 100_000], [0, 3, 12, 21])
    func extreme(count: Int, hour: Int) throws {
        let template = try #require(Self.template)
        var opens = [Int](repeating: 0, count: 24)
        opens[hour] = count
        let profile = HourProfile(openCounts: opens, template: template)
        #expect(profile.preference.allSatisfy { abs($0) < 4 })
        #expect((-3...11).contains(profile.shift))
        // The hour of all opens is liked better than the opposite one.
        let liked = profile.taste(at: Double(hour) + 0.5)
        let other = profile.taste(at: Double((hour + 12) % 24) + 0.5)
        #expect(liked.daily + liked.finer > other.daily + other.finer)
    }

    @Test("is a maximum: no small step raises the posterior")
    func stationary() {
        let exposure = [Double](repeating: 1 / 24.0, count: 24)
        var counts = [Double](repeating: 0, count: 24)
        counts[9] = 200
        let fit = HarmonicFit(counts: counts, exposure: exposure, spreads: [0.36, 0.19, 0.13])
        #expect(fit.preference.allSatisfy { $0.isFinite })
        let best = posterior(fit.preference, counts, exposure)
        for weight in 0..<6 {
            for step in [-1e-3, 1e-3] {
                var moved = fit.preference
                moved[weight] += step
                #expect(posterior(moved, counts, exposure) <= best)
            }
        }
    }

    @Test("does not count more than two hundred opens")
    func scaled() throws {
        let template = try #require(Self.template)
        let many = HourProfile(openCounts: Self.opens.map { $0 * 1000 }, template: template)
        let more = HourProfile(openCounts: Self.opens.map { $0 * 3000 }, template: template)
        #expect(zip(many.preference, more.preference).allSatisfy { abs($0 - $1) < 1e-6 })
    }

    private func posterior(_ preference: [Double], _ counts: [Double], _ exposure: [Double]) -> Double {
        let scores = (0..<24).map { hour in
            zip(Harmonics.values(at: Double(hour) + 0.5), preference).reduce(0) { $0 + $1.0 * $1.1 }
        }
        let weights = zip(exposure, scores).map { $0 * exp($1) }
        let sum = weights.reduce(0, +)
        let fitted = zip(counts, weights).reduce(0) { $0 + $1.0 * log($1.1 / sum + 1e-12) }
        let spreads = [0.36, 0.36, 0.19, 0.19, 0.13, 0.13]
        return fitted - zip(preference, spreads).reduce(0) { $0 + 0.5 * ($1.0 / $1.1) * ($1.0 / $1.1) }
    }
}
