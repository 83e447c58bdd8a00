internal import Foundation
public import PealMoments

/// Decides whether a campaign's new model is shipped. If it does not pass, the model for all campaigns stays in use.
public struct PromotionReport: Sendable {
    /// Why a model is not shipped.
    public enum Objection: Sendable, Hashable {
        /// There are too few labels.
        case tooFewLabels
        /// It does not predict held-out labels better than the prior's weights, by at least one standard error.
        case notBetter
        /// Its scores are too steep or too flat.
        case calibration
        /// A weight is not finite or too large.
        case weights
        /// Off-policy evaluation predicts fewer opens than the current model gets, by two standard errors.
        case value
    }

    /// Empty for a model that is shipped.
    public internal(set) var objections: [Objection]
    /// How much lower the held-out log-loss per label is than with the prior's weights.
    public let gain: Double
    /// The standard error of `gain`.
    public let gainError: Double
    /// Maps held-out scores to calibrated log-odds; the identity if that does not predict better.
    public let calibration: CalibrationMap
    /// The fitted slope, whether or not it is used; 1 is perfect.
    public let slope: Double

    /// Whether the model is shipped.
    public var isPromoted: Bool { objections.isEmpty }
}

extension MomentTrainer {
    private static let folds = 5
    /// With fewer opens, no fold has enough.
    private static let opensMin = 20.0

    /// Trains a campaign's model and judges it by five-fold cross-validation.
    /// - Parameter valueAdvantage: the new model's advantage over the current one by off-policy evaluation, if soft
    ///   messages were logged.
    public func judge(_ labels: CampaignLabels, valueAdvantage: OffPolicyEstimate? = nil) -> PromotionReport {
        let opens = labels.opened.reduce(0, +)
        guard opens >= Self.opensMin, Double(labels.opened.count) - opens >= Self.opensMin else {
            return PromotionReport(
                objections: [.tooFewLabels], gain: 0, gainError: 0, calibration: .identity, slope: 1)
        }
        let held = heldOutScores(labels)
        let gains = labels.opened.indices.map {
            Self.loss(held.prior[$0], labels.opened[$0]) - Self.loss(held.campaign[$0], labels.opened[$0])
        }
        let gain = Moments(gains)
        let platt = calibrate(held.campaign, labels.opened)
        var objections: [PromotionReport.Objection] = []
        if gain.mean <= gain.standardError { objections.append(.notBetter) }
        if !(0.7...1.4).contains(platt.slope) { objections.append(.calibration) }
        let trained = weights(labels)
        if !trained.dropFirst().allSatisfy({ $0.isFinite && abs($0) <= MomentModel.weightMax }) {
            objections.append(.weights)
        }
        if let valueAdvantage, valueAdvantage.value < -2 * valueAdvantage.standardError { objections.append(.value) }
        return PromotionReport(
            objections: objections, gain: gain.mean, gainError: gain.standardError,
            calibration: platt.isUseful ? platt.map : .identity, slope: platt.slope)
    }

    /// Held-out scores of every row: by the campaign's own weights, and by the prior's with the campaign's base rate.
    private func heldOutScores(_ labels: CampaignLabels) -> (campaign: [Double], prior: [Double]) {
        let count = labels.opened.count
        var (campaign, global) = ([Double](repeating: 0, count: count), [Double](repeating: 0, count: count))
        var still = prior
        still.precisions = [prior.precisions[0]] + [Double](repeating: 1e9, count: prior.precisions.count - 1)
        for fold in 0..<Self.folds {
            let tested = (0..<count).filter { $0 % Self.folds == fold }
            let kept = labels.picking((0..<count).filter { $0 % Self.folds != fold })
            let rows = audience.standardization(kept.features)
            let own = weights(kept)
            let base = LogisticFit(rows, opened: kept.opened, rowWeights: kept.rowWeights, prior: still)
            let held = audience.standardization(labels.features.picking(tested))
            for (row, scores) in zip(tested, zip(held.scores(own), base.scores(held))) {
                (campaign[row], global[row]) = scores
            }
        }
        return (campaign, global)
    }

    /// The best linear fit of held-out scores, and whether a fit to one half of them improves the other.
    private func calibrate(
        _ scores: [Double], _ opened: [Double]
    ) -> (map: CalibrationMap, slope: Double, isUseful: Bool) {
        func line(_ rows: [Int]) -> CalibrationMap {
            var matrix = FeatureMatrix(width: 2)
            for row in rows { matrix.append([1, scores[row]]) }
            let fit = LogisticFit(
                matrix, opened: rows.map { opened[$0] }, prior: GaussianPrior(means: [0, 1], precisions: [1e-3, 1]))
            return CalibrationMap(slope: fit.weights[1], intercept: fit.weights[0])
        }
        let rows = Array(scores.indices)
        let (even, odd) = (rows.filter { $0 % 2 == 0 }, rows.filter { $0 % 2 == 1 })
        let gain = [(even, odd), (odd, even)].reduce(0.0) { sum, halves in
            let map = line(halves.0)
            return sum
                + halves.1.reduce(0.0) { sum, row in
                    let mapped = map.slope * scores[row] + map.intercept
                    return sum + Self.loss(scores[row], opened[row]) - Self.loss(mapped, opened[row])
                }
        }
        let all = line(rows)
        return (all, all.slope, gain > 0)
    }

    /// The log-loss of a score.
    static func loss(_ score: Double, _ opened: Double) -> Double {
        let sign = opened > 0.5 ? score : -score
        return sign > 0 ? log1p(exp(-sign)) : log1p(exp(sign)) - sign
    }
}

/// The model that a campaign uses after a night's training.
public struct PromotionState: Sendable, Hashable, Codable {
    /// The number of consecutive models that did not pass.
    public private(set) var failures = 0
    /// Whether the campaign has its own model.
    public private(set) var hasOwnModel = false

    /// By default a campaign that uses the model for all campaigns.
    public init(failures: Int = 0, hasOwnModel: Bool = false) {
        (self.failures, self.hasOwnModel) = (failures, hasOwnModel)
    }

    /// What to ship to phones.
    public enum Action: Sendable, Hashable {
        /// The new model.
        case ship
        /// Nothing: the installed model stays.
        case keep
        /// The model for all campaigns, because two models in a row did not pass.
        case withdraw
    }

    /// Records a night's report.
    public mutating func record(isPromoted: Bool) -> Action {
        if isPromoted {
            (failures, hasOwnModel) = (0, true)
            return .ship
        }
        failures += 1
        guard hasOwnModel, failures >= 2 else { return .keep }
        hasOwnModel = false
        return .withdraw
    }
}
