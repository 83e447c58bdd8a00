internal import Foundation
internal import PealMoments

/// A fit that estimates from the labels how far to trust the prior. Some campaigns resemble earlier ones, others do
/// not, and a few earlier campaigns do not show how much campaigns differ. Therefore the prior's variances are tried at
/// 25 combinations of scales from a quarter to four, separately for hours and the rest. The weights are averaged by how
/// well each combination explains the labels: by its evidence, which is the likelihood of the labels integrated over
/// the prior.
///
/// For one fit at the prior's own scale, Newton's method runs. Around its weights c, the log-likelihood is approximated
/// by a parabola with gradient g and curvature C (Laplace's method), for which everything follows in closed form. Under
/// a prior with means μ and precisions Λ,
///
///     step     = (C + Λ)⁻¹ (g − Λ(c − μ)),  weights w = c + step
///     evidence = g·step − ½ step·C·step − ½ (w − μ)·Λ(w − μ) + ½ ln det Λ − ½ ln det(C + Λ)
public struct AdaptedFit: Sendable {
    /// The weights.
    public let weights: [Double]
    /// The mean scale of the variances of hour weights, and of all others.
    public let scales: (hours: Double, others: Double)

    /// The binary logarithms of the scales that are tried.
    private static let exponents = [-2.0, -1, 0, 1, 2]
    /// The prior of the scales: the standard deviation of their binary logarithm.
    private static let spread = 1.0

    /// - Parameters:
    ///   - rows: standardized features, a constant 1 first.
    ///   - hourFeatures: the weights that are scaled together.
    public init(
        _ rows: FeatureMatrix, opened: [Double], rowWeights: [Double]? = nil, prior: GaussianPrior,
        hourFeatures: [Int]
    ) {
        let base = LogisticFit(rows, opened: opened, rowWeights: rowWeights, prior: prior).weights
        var problem = LogisticPosterior(rows: rows, opened: opened, rowWeights: rowWeights, prior: prior)
        let slope = problem.gradientAndCurvature(at: base)
        // Without the prior's part: the slope and curvature of the likelihood.
        let gradient = base.indices.map { slope[$0] + prior.precisions[$0] * (base[$0] - prior.means[$0]) }
        var curvature = problem.curvature
        for index in base.indices { curvature[index, index] -= prior.precisions[index] }
        let parabola = Parabola(center: base, gradient: gradient, curvature: curvature)

        var candidates: [(weights: [Double], evidence: Double, hours: Double, others: Double)] = []
        for hours in Self.exponents {
            for others in Self.exponents {
                var scaled = prior
                for index in 1..<base.count {
                    scaled.precisions[index] /= exp2(hourFeatures.contains(index) ? hours : others)
                }
                guard let top = parabola.top(under: scaled) else { continue }
                let belief = -(hours * hours + others * others) / (2 * Self.spread * Self.spread)
                candidates.append((top.weights, top.evidence + belief, exp2(hours), exp2(others)))
            }
        }
        let highest = candidates.map(\.evidence).max() ?? 0
        let shares = candidates.map { exp($0.evidence - highest) }
        let sum = shares.reduce(0, +)
        func mean(_ value: (Int) -> Double) -> Double {
            candidates.indices.reduce(0) { $0 + shares[$1] * value($1) } / sum
        }
        guard sum > 0, sum.isFinite else {
            (weights, scales) = (base, (1, 1))
            return
        }
        weights = base.indices.map { index in mean { candidates[$0].weights[index] } }
        scales = (mean { candidates[$0].hours }, mean { candidates[$0].others })
    }
}

/// A log-likelihood near a point.
private struct Parabola {
    let center: [Double]
    let gradient: [Double]
    let curvature: SmallMatrix

    /// The most likely weights under a prior, and the log-evidence of the prior.
    func top(under prior: GaussianPrior) -> (weights: [Double], evidence: Double)? {
        var bend = curvature
        for index in center.indices { bend[index, index] += prior.precisions[index] }
        guard bend.factor() else { return nil }
        // Relative to the center, to avoid cancellation of large numbers.
        var step = center.indices.map { gradient[$0] - prior.precisions[$0] * (center[$0] - prior.means[$0]) }
        bend.solve(&step)
        var evidence = -0.5 * bend.logDeterminant()
        let weights = zip(center, step).map { $0 + $1 }
        for index in center.indices {
            var bent = 0.5 * curvature[index, index] * step[index]
            for other in 0..<index { bent += curvature[index, other] * step[other] }
            let precision = prior.precisions[index]
            let distance = weights[index] - prior.means[index]
            evidence += (gradient[index] - bent) * step[index]
            evidence += 0.5 * (log(precision) - precision * distance * distance)
        }
        return (weights, evidence)
    }
}
