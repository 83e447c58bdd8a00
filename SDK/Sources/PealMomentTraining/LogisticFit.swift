internal import Foundation
internal import PealMoments

/// The prior of the weights: independent normal distributions.
public struct GaussianPrior: Sendable, Hashable {
    /// Most likely weights.
    public var means: [Double]
    /// The reciprocals of the variances.
    public var precisions: [Double]

    /// A prior with as many precisions as means.
    public init(means: [Double], precisions: [Double]) {
        precondition(means.count == precisions.count)
        self.means = means
        self.precisions = precisions
    }

    /// Weights near zero, except for the constant, which is unrestricted.
    public static func ridge(_ precision: Double, count: Int) -> Self {
        Self(
            means: [Double](repeating: 0, count: count),
            precisions: [1e-3] + [Double](repeating: precision, count: count - 1))
    }
}

/// The most likely weights of a logistic regression under a prior, by Newton's method. A step that does not raise the
/// posterior is halved, so that no start and no data make it diverge.
public struct LogisticFit: Sendable {
    /// The weights.
    public private(set) var weights: [Double]
    /// Their variances.
    public private(set) var variances: [Double] = []
    /// The number of steps taken.
    public private(set) var stepCount = 0
    /// Whether the fit converged.
    public private(set) var hasConverged = false

    private static let stepsMax = 25

    /// - Parameters:
    ///   - rows: standardized features, a constant 1 first.
    ///   - opened: 1 for a message that was opened, otherwise 0.
    ///   - rowWeights: the weight of each row; nil for equal weights.
    public init(_ rows: FeatureMatrix, opened: [Double], rowWeights: [Double]? = nil, prior: GaussianPrior) {
        precondition(rows.count == opened.count && rows.width == prior.means.count)
        weights = prior.means
        if let rate = Self.rate(opened, rowWeights), rate > 0, rate < 1 { weights[0] = Logistic.logit(rate) }
        var problem = LogisticPosterior(rows: rows, opened: opened, rowWeights: rowWeights, prior: prior)
        var value = problem.value(at: weights)
        while stepCount < Self.stepsMax, !hasConverged {
            var step = problem.gradientAndCurvature(at: weights)
            guard problem.curvature.factor() else { break }
            problem.curvature.solve(&step)
            stepCount += 1
            guard let reached = advance(by: step, from: value, problem) else {
                hasConverged = step.allSatisfy { abs($0) < 1e-3 }
                break
            }
            value = reached
            hasConverged = step.allSatisfy { abs($0) < 1e-6 }
        }
        _ = problem.gradientAndCurvature(at: weights)
        if problem.curvature.factor() {
            variances = weights.indices.map { problem.curvature.inverseDiagonal($0) }
        } else {
            variances = prior.precisions.map { 1 / $0 }
        }
    }

    /// The scores of standardized rows.
    public func scores(_ rows: FeatureMatrix) -> [Double] { rows.scores(weights) }

    private mutating func advance(by step: [Double], from value: Double, _ problem: LogisticPosterior) -> Double? {
        let start = weights
        var length = 1.0
        for _ in 0..<20 {
            for index in step.indices { weights[index] = start[index] + length * step[index] }
            let reached = problem.value(at: weights)
            if reached >= value - 1e-10 * abs(value) { return reached }
            length /= 2
        }
        weights = start
        return nil
    }

    private static func rate(_ opened: [Double], _ rowWeights: [Double]?) -> Double? {
        guard let rowWeights else { return opened.isEmpty ? nil : opened.reduce(0, +) / Double(opened.count) }
        let sum = rowWeights.reduce(0, +)
        return sum > 0 ? zip(opened, rowWeights).reduce(0) { $0 + $1.0 * $1.1 } / sum : nil
    }
}

/// The log-posterior that a fit maximizes.
struct LogisticPosterior {
    let rows: FeatureMatrix
    let opened: [Double]
    let rowWeights: [Double]?
    let prior: GaussianPrior
    /// The negative second derivative, or its Cholesky factor once computed.
    var curvature: SmallMatrix

    init(rows: FeatureMatrix, opened: [Double], rowWeights: [Double]?, prior: GaussianPrior) {
        (self.rows, self.opened, self.rowWeights, self.prior) = (rows, opened, rowWeights, prior)
        curvature = SmallMatrix(size: rows.width)
    }

    func value(at weights: [Double]) -> Double {
        var value = 0.0
        for index in weights.indices {
            let distance = weights[index] - prior.means[index]
            value -= 0.5 * prior.precisions[index] * distance * distance
        }
        for (row, score) in rows.scores(weights).enumerated() {
            // log p for an open, otherwise log(1 - p), without overflow.
            let sign = opened[row] > 0.5 ? score : -score
            value -= (rowWeights?[row] ?? 1) * (sign > 0 ? log1p(exp(-sign)) : log1p(exp(sign)) - sign)
        }
        return value
    }

    /// Returns the gradient and stores the negative second derivative in `curvature`.
    mutating func gradientAndCurvature(at weights: [Double]) -> [Double] {
        let width = rows.width
        var gradient = weights.indices.map { -prior.precisions[$0] * (weights[$0] - prior.means[$0]) }
        var bend = [Double](repeating: 0, count: width * width)
        let scores = rows.scores(weights)
        rows.values.withUnsafeBufferPointer { values in
            for row in scores.indices {
                let probability = Logistic.probability(scores[row])
                let counts = rowWeights?[row] ?? 1
                let residual = counts * (opened[row] - probability)
                let information = counts * max(probability * (1 - probability), 1e-4)
                let offset = row * width
                for first in 0..<width {
                    let feature = values[offset + first]
                    gradient[first] += residual * feature
                    let weighted = information * feature
                    for second in 0...first { bend[first * width + second] += weighted * values[offset + second] }
                }
            }
        }
        for first in 0..<width {
            for second in 0...first { curvature[first, second] = bend[first * width + second] }
            curvature[first, first] += prior.precisions[first]
        }
        return gradient
    }
}

extension FeatureMatrix {
    /// The sum of weights × features of every row.
    func scores(_ weights: [Double]) -> [Double] {
        var scores = [Double](repeating: 0, count: count)
        values.withUnsafeBufferPointer { values in
            for row in scores.indices {
                var sum = 0.0
                for column in 0..<width { sum += weights[column] * values[row * width + column] }
                scores[row] = sum
            }
        }
        return scores
    }
}
