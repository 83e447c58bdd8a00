internal import Foundation
public import PealMoments

extension HourTemplate {
    /// Rounds of the estimation; more make no relevant difference.
    private static let rounds = 5
    /// The minimum standard deviation of preferences.
    private static let spreadMin = 0.05

    /// Estimates the template from the open counters of many users by expectation maximization over each user's shift
    /// and preference. A hundred users suffice. A round fits every user u under every shift δ with the current template
    /// (`shiftFits`): probability r_uδ, preference θ with variances v, expected opens s·exp(P_h·θ) per share of the
    /// template's hour. Then
    ///
    ///     weight of δ    = (Σ_u r_uδ + 1) / (U + number of shifts)
    ///     spread of j²   = mean over users and the harmonic's two weights of Σ_δ r_uδ (θ² + v)
    ///     share of hour k ∝ (½ + Σ_uδ r_uδ n_{k+δ}) / Σ_uδ r_uδ s exp(P_{k+δ}·θ)
    ///
    /// - Parameter audience: 24 counters of app opens for each user.
    /// - Returns: nil if no user has opened the app.
    public init?(learningFrom audience: [[Int]]) {
        // Scaled as on phones, because a test device with thousands of opens is not the audience.
        let people = audience.filter { $0.count == 24 }.map { HourProfile.scaled($0.map { Double(max($0, 0)) }) }
        var hours = [Double](repeating: 1, count: 24)
        for counts in people { for hour in 0..<24 { hours[hour] += counts[hour] } }
        guard hours.reduce(0, +) > 24 else { return nil }
        let sum = hours.reduce(0, +)
        let alike = 1 / Double(Self.shifts.count)
        var template = Self(
            hours: hours.map { $0 / sum }, shiftWeights: Self.shifts.map { _ in alike },
            spreads: (1...Harmonics.count).map { 0.4 / Double($0) })
        for _ in 0..<Self.rounds {
            guard let current = template else { return nil }
            template = current.improved(by: people)
        }
        guard let template else { return nil }
        self = template
    }

    /// The template after one round.
    private func improved(by people: [[Double]]) -> HourTemplate? {
        var chances = [Double](repeating: 1, count: Self.shifts.count)
        var squares = [Double](repeating: 0, count: Harmonics.weightCount)
        var opens = [Double](repeating: 0.5, count: 24)
        var expected = [Double](repeating: 1e-9, count: 24)
        for counts in people {
            for (index, entry) in shiftFits(counts).enumerated() where entry.chance > 1e-9 {
                chances[index] += entry.chance
                for weight in squares.indices {
                    let mean = entry.fit.preference[weight]
                    squares[weight] += entry.chance * (mean * mean + entry.fit.variances[weight])
                }
                distribute(counts, Self.shifts[index], entry, &opens, &expected)
            }
        }
        let spreads = (0..<Harmonics.count).map { harmonic in
            let mean = (squares[2 * harmonic] + squares[2 * harmonic + 1]) / 2 / Double(max(people.count, 1))
            return max(mean, Self.spreadMin * Self.spreadMin).squareRoot()
        }
        return HourTemplate(
            hours: Self.shares(zip(opens, expected).map { $0 / $1 }), shiftWeights: Self.shares(chances),
            spreads: spreads)
    }

    /// Adds a user's opens, shifted back to the unshifted day, and the number expected from the user's preference.
    private func distribute(
        _ counts: [Double], _ shift: Int, _ entry: ShiftFit, _ opens: inout [Double], _ expected: inout [Double]
    ) {
        let taste = (0..<24).map { hour in
            exp(
                (0..<Harmonics.weightCount).reduce(0) { sum, weight in
                    sum + Harmonics.table[hour * Harmonics.weightCount + weight] * entry.fit.preference[weight]
                })
        }
        func unshifted(_ hour: Int) -> Int { ((hour - shift) % 24 + 24) % 24 }
        let weighted = (0..<24).reduce(0) { $0 + hours[unshifted($1)] * taste[$1] }
        let scale = counts.reduce(0, +) / weighted
        for hour in 0..<24 {
            opens[unshifted(hour)] += entry.chance * counts[hour]
            expected[unshifted(hour)] += entry.chance * scale * taste[hour]
        }
    }

    private static func shares(_ values: [Double]) -> [Double] {
        let sum = values.reduce(0, +)
        return values.map { $0 / sum }
    }
}
