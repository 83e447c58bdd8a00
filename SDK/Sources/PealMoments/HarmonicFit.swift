internal import Foundation

/// The most likely preference of a user under one assumed shift. Opens are distributed over the hours in proportion to
/// `exposure × exp(preference)`, and preferences are normally distributed around zero. With n_h opens in hour h, the
/// harmonics P_h, the preference θ and the spreads τ, Newton's method maximizes
///
///     L = Σ_h n_h ln π_h − ½ Σ_j θ_j² / τ_j²,  where π_h = e_h exp(P_h·θ) / Σ_i e_i exp(P_i·θ)
///
/// The gradient is Σ_h n_h P_h − N m − θ / τ² and the curvature A = N (Σ_h π_h P_h P_hᵀ − m mᵀ) + 1 / τ², where N is
/// the sum of all opens and m = Σ_h π_h P_h. The log-evidence of the shift is L − ½ ln det A (Laplace's method).
package struct HarmonicFit: Sendable {
    /// Weights of the six harmonics.
    package private(set) var preference = [Double](repeating: 0, count: Harmonics.weightCount)
    /// Their variances under the posterior.
    package private(set) var variances = [Double](repeating: 0, count: Harmonics.weightCount)
    /// The log-evidence of the shift, up to a constant.
    package private(set) var evidence = 0.0

    private var shares = [Double](repeating: 0, count: 24)
    private var mean = [Double](repeating: 0, count: Harmonics.weightCount)
    private var curvature = SmallMatrix(size: Harmonics.weightCount)

    /// Maximum number of Newton steps: a few dozen opens need five; extreme counts halve some steps.
    private static let stepsMax = 40

    /// Larger preferences would overflow; damped steps stay far below.
    private let scoreMax = 30.0

    /// - Parameters:
    ///   - counts: opens in each of 24 hours.
    ///   - exposure: how often the audience opens in these hours.
    ///   - spreads: of the three harmonics.
    package init(counts: [Double], exposure: [Double], spreads: [Double]) {
        let precisions = (0..<Harmonics.weightCount).map { 1 / (spreads[$0 / 2] * spreads[$0 / 2]) }
        let total = counts.reduce(0, +)
        let table = Harmonics.table
        var sums = [Double](repeating: 0, count: Harmonics.weightCount)
        for hour in 0..<24 where counts[hour] != 0 {
            for weight in sums.indices { sums[weight] += counts[hour] * table[hour * 6 + weight] }
        }
        var objective = spread(counts, exposure, precisions)
        for _ in 0..<Self.stepsMax where total > 0 {
            bend(total, precisions)
            var step = sums.indices.map { sums[$0] - total * mean[$0] - precisions[$0] * preference[$0] }
            curvature.solve(&step)
            guard let gained = advance(by: step, from: objective, counts, exposure, precisions) else { break }
            objective = gained
            if step.allSatisfy({ abs($0) < 1e-8 }) { break }
        }
        bend(total, precisions)
        evidence = objective - 0.5 * curvature.logDeterminant()
        for weight in variances.indices { variances[weight] = curvature.inverseDiagonal(weight) }
    }

    /// Takes the step, halved until the objective does not decrease; nil if no fraction of the step helps.
    private mutating func advance(
        by step: [Double], from objective: Double, _ counts: [Double], _ exposure: [Double], _ precisions: [Double]
    ) -> Double? {
        let start = preference
        var length = 1.0
        for _ in 0..<24 {
            for weight in step.indices { preference[weight] = start[weight] + length * step[weight] }
            let reached = spread(counts, exposure, precisions)
            if reached >= objective - 1e-12 { return reached }
            length /= 2
        }
        preference = start
        _ = spread(counts, exposure, precisions)
        return nil
    }

    /// Computes the expected shares of the hours, and returns the logarithm of the posterior up to a constant.
    private mutating func spread(_ counts: [Double], _ exposure: [Double], _ precisions: [Double]) -> Double {
        let table = Harmonics.table
        var sum = 0.0
        for hour in 0..<24 {
            var score = 0.0
            for weight in 0..<6 { score += table[hour * 6 + weight] * preference[weight] }
            shares[hour] = exposure[hour] * exp(min(max(score, -scoreMax), scoreMax))
            sum += shares[hour]
        }
        var objective = 0.0
        for hour in 0..<24 {
            shares[hour] /= sum
            if counts[hour] != 0 { objective += counts[hour] * log(shares[hour] + 1e-12) }
        }
        for weight in 0..<6 { objective -= 0.5 * precisions[weight] * preference[weight] * preference[weight] }
        return objective
    }

    /// Computes mean and curvature of the harmonics under the expected shares, and factors the curvature.
    private mutating func bend(_ total: Double, _ precisions: [Double]) {
        let table = Harmonics.table
        curvature.clear()
        for weight in 0..<6 { mean[weight] = 0 }
        for hour in 0..<24 {
            for row in 0..<6 {
                let weighted = shares[hour] * table[hour * 6 + row]
                mean[row] += weighted
                for column in 0...row { curvature[row, column] += weighted * table[hour * 6 + column] }
            }
        }
        for row in 0..<6 {
            for column in 0...row {
                curvature[row, column] = total * (curvature[row, column] - mean[row] * mean[column])
            }
            curvature[row, row] += precisions[row]
        }
        curvature.factor()
    }
}
