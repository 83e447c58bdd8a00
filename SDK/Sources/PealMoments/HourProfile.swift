internal import Foundation

/// When a user tends to use the app, estimated from 24 counters of app opens: the mean preference and the mean shift
/// over all shifts that are considered, weighted with their probabilities. It is computed on the phone and never leaves
/// it.
public struct HourProfile: Sendable, Hashable {
    /// Weights of sine and cosine with one, two and three periods a day.
    public let preference: [Double]
    /// How many hours later the user's day is than the audience's.
    public let shift: Double

    /// Above this number, opens are scaled down: they would imply more certainty than habits have.
    static let opensMax = 200.0

    /// Counters of opens, scaled down to `opensMax`.
    package static func scaled(_ counts: [Double]) -> [Double] {
        let total = counts.reduce(0, +)
        return total > opensMax ? counts.map { $0 * opensMax / total } : counts
    }

    /// A neutral profile.
    public static let neutral = Self(preference: [Double](repeating: 0, count: Harmonics.weightCount), shift: 0)

    /// A profile of known values, such as a stored one. Missing weights count as zero.
    public init(preference: [Double], shift: Double) {
        self.preference = Array((preference + [0, 0, 0, 0, 0, 0]).prefix(Harmonics.weightCount))
        self.shift = shift
    }

    /// The profile estimated from counters of app opens.
    /// - Parameter openCounts: opens so far in each of the 24 hours of the wall clock. Without opens, the profile is
    ///   that of the audience.
    public init(openCounts: [Int], template: HourTemplate) {
        let counts = (0..<24).map { $0 < openCounts.count ? Double(max(openCounts[$0], 0)) : 0 }
        let fits = template.shiftFits(counts)
        var preference = [Double](repeating: 0, count: Harmonics.weightCount)
        for fit in fits {
            for weight in preference.indices { preference[weight] += fit.chance * fit.fit.preference[weight] }
        }
        self.preference = preference
        shift = zip(fits, HourTemplate.shifts).reduce(0) { $0 + $1.0.chance * Double($1.1) }
    }

    /// The profile of a user of whom only what it adds at some hours is known. Between them it is the smoothest one
    /// that fits.
    /// - Parameters:
    ///   - tastes: hours of the wall clock, and both parts of the taste there.
    ///   - spreads: of the harmonics' weights among users.
    package init(tastes: [(hour: Double, daily: Double, finer: Double)], shift: Double, spreads: [Double]) {
        func fit(_ weights: Range<Int>, _ value: (Int) -> Double) -> [Double] {
            let scales = weights.map { spreads[$0 / 2] }
            let rows = tastes.map { taste in
                zip(Harmonics.values(at: taste.hour)[weights], scales).map { $0 * $1 }
            }
            var (matrix, sums) = (
                SmallMatrix(size: weights.count), [Double](repeating: 0, count: weights.count)
            )
            for row in 0..<weights.count {
                sums[row] = rows.indices.reduce(0) { $0 + rows[$1][row] * value($1) }
                for column in 0...row {
                    matrix[row, column] = rows.reduce(0) { $0 + $1[row] * $1[column] } + (row == column ? 1e-5 : 0)
                }
            }
            guard matrix.factor() else { return scales.map { _ in 0 } }
            matrix.solve(&sums)
            return zip(sums, scales).map { $0 * $1 }
        }
        self.init(preference: fit(0..<2) { tastes[$0].daily } + fit(2..<6) { tastes[$0].finer }, shift: shift)
    }

    /// What the user's preference adds to the log-odds at an hour of the wall clock: the part with one period a day,
    /// and the part with two and three.
    func taste(at hour: Double) -> (daily: Double, finer: Double) {
        let values = Harmonics.values(at: hour)
        let finer = (2..<6).reduce(0) { $0 + preference[$1] * values[$1] }
        return (preference[0] * values[0] + preference[1] * values[1], finer)
    }
}

/// One of the shifts considered for a user, with its probability and the preference fitted under it.
package struct ShiftFit: Sendable {
    package var chance: Double
    package let fit: HarmonicFit
}

extension HourTemplate {
    /// The posterior over `shifts` for a user with these counts: in proportion to the weight of a shift among all
    /// users, times its evidence. Under a shift, the template's day begins that much later.
    package func shiftFits(_ counts: [Double]) -> [ShiftFit] {
        let scaled = HourProfile.scaled(counts)
        var fits = Self.shifts.map { shift in
            let exposure = (0..<24).map { hours[(($0 - shift) % 24 + 24) % 24] }
            return ShiftFit(chance: 0, fit: HarmonicFit(counts: scaled, exposure: exposure, spreads: spreads))
        }
        let logs = zip(fits, shiftWeights).map { $0.fit.evidence + log($1) }
        let highest = logs.max() ?? 0
        let sum = logs.reduce(0) { $0 + exp($1 - highest) }
        for index in fits.indices { fits[index].chance = exp(logs[index] - highest) / sum }
        return fits
    }
}
