import Testing

@testable import PealMoments

@Suite("The stopping rule")
struct StoppingRuleTests {
    private let sensed = [-1.2, -0.6, -0.3, -0.1, 0.1, 0.3, 0.7, 1.4]

    private func rule(_ known: [Double], deadline: Double, arrival: Double) -> StoppingRule {
        StoppingRule(
            wakes: known.map { StoppingRule.Wake(knownScore: $0, ownHour: OwnHour(hour: 9, isWeekend: false)) },
            deadline: StoppingRule.Wake(knownScore: deadline, ownHour: OwnHour(hour: 9, isWeekend: false)),
            table: ScoreTable(equallyLikely: sensed),
            arrival: arrival)
    }

    @Test("at the last wake waiting is worth the blind showing at the deadline")
    func lastWake() {
        let rule = rule([-2], deadline: -2.5, arrival: 0.8)
        let blind = sensed.map { Logistic.probability(-2.5 + $0) }.reduce(0, +) / 8
        #expect(abs(rule.continuationValues[0] - blind) < 1e-12)
        #expect(rule.shows(now: blind))
        #expect(!rule.shows(now: blind - 1e-9))
    }

    @Test("with nothing known to change, waiting is worth less the nearer the deadline")
    func fallingThreshold() {
        let rule = rule(Array(repeating: -2.5, count: 12), deadline: -2.5, arrival: 0.8)
        #expect(zip(rule.continuationValues, rule.continuationValues.dropFirst()).allSatisfy { $0 >= $1 })
        #expect(rule.continuationValues[0] > 1.3 * rule.continuationValues[11])
    }

    @Test("no other rule does better: every threshold policy over three wakes is tried", arguments: [1.0, 0.6, 0.0])
    func optimal(arrival: Double) {
        let known = [-2.0, -2.6, -1.9]
        let rule = rule(known, deadline: -2.4, arrival: arrival)
        let ours = value(known, deadline: -2.4, arrival: arrival, thresholds: rule.continuationValues)
        let candidates = [0.0, 1.0] + known.flatMap { score in sensed.map { Logistic.probability(score + $0) } }
        for first in candidates {
            for second in candidates {
                for third in candidates {
                    let other = value(known, deadline: -2.4, arrival: arrival, thresholds: [first, second, third])
                    #expect(other <= ours + 1e-12)
                }
            }
        }
    }

    @Test("looks the chances of scores up by the hour of each wake")
    func hours() throws {
        // Good scores at eight only.
        var chances = [Double](repeating: 0, count: 96)
        for hour in 0..<48 { chances[2 * hour + (hour == 8 ? 1 : 0)] = 1 }
        let table = try #require(ScoreTable(bins: [0, 2], chances: chances))
        func wake(_ hour: Int, isWeekend: Bool = false) -> StoppingRule.Wake {
            StoppingRule.Wake(knownScore: -3, ownHour: OwnHour(hour: hour, isWeekend: isWeekend))
        }
        let (deadline, wakes) = (wake(10), [7, 8, 9].map { wake($0) })
        let rule = StoppingRule(wakes: wakes, deadline: deadline, table: table, arrival: 0.5)
        let (low, high) = (Logistic.probability(-3), Logistic.probability(-1))
        let expected = [0.5 * high + 0.5 * low, low, low]
        #expect(zip(rule.continuationValues, expected).allSatisfy { abs($0 - $1) < 1e-12 })
        let weekend = StoppingRule(
            wakes: [7, 8, 9].map { wake($0, isWeekend: true) }, deadline: deadline, table: table, arrival: 0.5)
        #expect(abs(weekend.continuationValues[0] - low) < 1e-12)
    }

    @Test("with no wakes left the message is shown")
    func noWakes() {
        #expect(rule([], deadline: 0, arrival: 1).shows(now: 0))
    }

    /// What showing at the first wake at or above its threshold is worth, by going through every course of events.
    private func value(_ known: [Double], deadline: Double, arrival: Double, thresholds: [Double]) -> Double {
        guard let score = known.first, let threshold = thresholds.first else {
            return sensed.map { Logistic.probability(deadline + $0) }.reduce(0, +) / Double(sensed.count)
        }
        let later = value(
            Array(known.dropFirst()), deadline: deadline, arrival: arrival, thresholds: Array(thresholds.dropFirst()))
        let atWake = sensed.map { Logistic.probability(score + $0) }.map { $0 >= threshold ? $0 : later }
        return arrival * atWake.reduce(0, +) / Double(sensed.count) + (1 - arrival) * later
    }
}
