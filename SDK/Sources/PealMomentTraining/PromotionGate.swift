internal import Foundation
public import PealMoments

/// What decides whether a campaign's new model is shipped. Whatever does not pass leaves the model of all campaigns in
/// its place.
public struct PromotionReport: Sendable {
    /// Why a model is not shipped.
    public enum Objection: Sendable, Hashable {
        /// There are too few labels to tell.
        case tooFewLabels
        /// It predicts held-out labels no better than the prior's weights do, by one standard error.
        case notBetter
        /// Its scores are too steep or too flat.
        case calibration
        /// A weight is not finite or too large.
        case weights
        /// Off-policy evaluation expects fewer opens than from the incumbent, by two standard errors.
        case value
    }

    /// Empty for a model that is shipped.
    public internal(set) var objections: [Objection]
    /// By how much the held-out log-loss of a label falls against the prior's weights.
    public let gain: Double
    /// The standard error of `gain`.
    public let gainError: Double
    /// From held-out scores to calibrated log-odds. The identity where it does not predict better.
    public let calibration: CalibrationMap
    /// The slope that was found, whether it is used or not; 1 is perfect.
    public let slope: Double

    /// Whether the model is shipped.
    public var isPromoted: Bool { objections.isEmpty }
}

extension MomentTrainer {
    private static let folds = 5
    /// Fewer opens than this, and no fold has enough.
    private static let opensMin = 20.0

    /// Trains a campaign's model and judges it by five-fold cross-validation.
    /// - Parameter valueAdvantage: what off-policy evaluation says about the new model against the incumbent, where
    ///   soft messages were logged.
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

    /// Scores of every row by weights that have not seen it: the campaign's own, and the prior's with the campaign's
    /// base rate.
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

    /// The line that fits held-out scores best, and whether a line fitted to one half of them helps the other.
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

/// What a campaign uses after a night's training.
public struct PromotionState: Sendable, Hashable, Codable {
    /// Models in a row that did not pass.
    public private(set) var failures = 0
    /// Whether the campaign has a model of its own.
    public private(set) var hasOwnModel = false

    /// A campaign that uses the model of all campaigns.
    public init() {}

    /// What to ship to phones.
    public enum Action: Sendable, Hashable {
        /// The new model.
        case ship
        /// Nothing: what is installed stays.
        case keep
        /// The model of all campaigns, because two models in a row did not pass.
        case withdraw
    }

    /// Takes note of a night's report.
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

/// How a campaign's messages are shown while its model is young.
public enum CampaignPhase: String, Sendable, Hashable, Codable {
    /// At random moments, to gather labels of all hours.
    case calibrating
    /// At good moments.
    case live

    /// A first campaign needs this many matured displays, or `firstOpens`.
    public static let firstDisplays = 2000
    /// Opens that also end the calibration of a first campaign.
    public static let firstOpens = 100
    /// What every campaign with a window above `longWindowHours` needs: its hours may be unlike all others'.
    public static let longWindowDisplays = 500
    /// Windows above so many hours are long.
    public static let longWindowHours = 8.0

    /// The phase of a campaign.
    /// - Parameters:
    ///   - hasPrior: whether earlier campaigns of the app have taught a model.
    ///   - displays: matured displays so far.
    public init(windowHours: Double, hasPrior: Bool, displays: Int, opens: Int) {
        if !hasPrior, displays < Self.firstDisplays, opens < Self.firstOpens {
            self = .calibrating
        } else if windowHours > Self.longWindowHours, displays < Self.longWindowDisplays {
            self = .calibrating
        } else {
            self = .live
        }
    }
}
