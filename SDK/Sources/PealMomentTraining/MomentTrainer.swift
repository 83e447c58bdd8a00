internal import Foundation
public import PealMoments

/// The matured messages of one campaign: what was known when each was shown, and whether it was opened.
public struct CampaignLabels: Sendable {
    /// The features as computed on the phones, 31 per row.
    public let features: FeatureMatrix
    /// 1 for a message that was opened, otherwise 0.
    public let opened: [Double]
    /// Days since each was shown.
    public let ageDays: [Double]

    /// The labels of one message per row; without ages, all are from today.
    public init(features: FeatureMatrix, opened: [Double], ageDays: [Double]? = nil) {
        precondition(features.count == opened.count)
        self.features = features
        self.opened = opened
        self.ageDays = ageDays ?? [Double](repeating: 0, count: opened.count)
    }

    /// The half-life of a label: 28 days.
    var rowWeights: [Double] { ageDays.map { pow(0.5, max($0, 0) / 28) } }

    func picking(_ rows: [Int]) -> Self {
        Self(features: features.picking(rows), opened: rows.map { opened[$0] }, ageDays: rows.map { ageDays[$0] })
    }
}

/// What phones logged at their wakes, whether or not a message was shown.
public struct LoggedWakes: Sendable {
    /// The sensed features, 12 per row.
    public let sensed: FeatureMatrix
    /// The hour of each wake on its user's own clock.
    public let ownHours: [OwnHour]

    /// One hour per row.
    public init(sensed: FeatureMatrix, ownHours: [OwnHour]) {
        precondition(sensed.count == ownHours.count)
        self.sensed = sensed
        self.ownHours = ownHours
    }
}

/// What all models of an installation share.
public struct Audience: Sendable, Hashable {
    /// Means and scales of features.
    public let standardization: Standardization
    /// What people do when their phones wake.
    public let situations: Situations
    /// The audience's day.
    public let template: HourTemplate
    /// Mean of log(opens + 5).
    public let audienceOpens: Double
    /// The share of scheduled wakes that arrive.
    public let arrival: Double

    /// The audience as measured.
    public init(
        standardization: Standardization, situations: Situations = .unknown, template: HourTemplate,
        audienceOpens: Double, arrival: Double
    ) {
        (self.standardization, self.situations, self.template) = (standardization, situations, template)
        (self.audienceOpens, self.arrival) = (audienceOpens, arrival)
    }
}

/// Trains models: turns labels into weights, and weights into what a phone needs.
public struct MomentTrainer: Sendable {
    /// What all models share.
    public let audience: Audience
    /// The prior of a campaign without labels.
    public let prior: GaussianPrior

    /// A trainer for the campaigns of one audience.
    public init(audience: Audience, prior: GaussianPrior) {
        self.audience = audience
        self.prior = prior
    }

    /// The prior of campaigns, from the labels of earlier ones.
    public static func prior(from campaigns: [CampaignLabels], standardization: Standardization) -> GaussianPrior {
        GaussianPrior(campaigns: campaigns.map { CampaignEstimate($0, standardization) })
    }

    /// The weights fitted to labels; without labels, the prior's.
    public func weights(_ labels: CampaignLabels) -> [Double] {
        guard !labels.opened.isEmpty else { return prior.means }
        return AdaptedFit(
            audience.standardization(labels.features), opened: labels.opened, rowWeights: labels.rowWeights,
            prior: prior, hourFeatures: FeatureSchema.hourFeatures
        ).weights
    }

    /// Factor on the scores that phones use for decisions. A model overestimates the value of waiting, because the best
    /// of many uncertain estimates is partly an error; halved scores make it wait less.
    public static let caution = 0.5

    /// The model with these weights, as sent to phones.
    /// - Parameter wakes: provide the distribution of the sensed score.
    public func model(
        _ identity: ModelIdentity, weights: [Double], calibration: CalibrationMap = .identity, wakes: LoggedWakes
    ) throws -> MomentModel {
        let cautious = weights.map { $0 * Self.caution }
        let sensedWeights = Array(cautious.dropFirst(FeatureSchema.knownCount))
        let offset = FeatureSchema.knownCount - 1
        let scores = (0..<wakes.sensed.count).map { row in
            let sensed = wakes.sensed[row]
            let situations = audience.situations.probabilities(sensed, at: wakes.ownHours[row]).dropFirst()
            var score = 0.0
            for (index, value) in (sensed + situations).enumerated() where value.isFinite {
                let standardized =
                    (value - audience.standardization.means[offset + index])
                    / audience.standardization.scales[offset + index]
                score += sensedWeights[index] * standardized
            }
            return score
        }
        guard let table = ScoreTable(scores: scores, ownHours: wakes.ownHours, binCount: ScoreTable.binCount) else {
            throw ModelRefusal.malformed("no wakes")
        }
        return try MomentModel(
            app: identity.app, campaign: identity.campaign, version: identity.version, trainedAt: identity.trainedAt,
            expires: identity.trainedAt + ModelIdentity.lifetime, parent: identity.parent,
            means: audience.standardization.means, scales: audience.standardization.scales, weights: cautious,
            calibration: CalibrationMap(
                slope: calibration.slope / Self.caution, intercept: calibration.intercept),
            situations: audience.situations, table: table, template: audience.template,
            audienceOpens: audience.audienceOpens, arrival: audience.arrival)
    }
}

/// The identity of a model.
public struct ModelIdentity: Sendable, Hashable {
    /// The lifetime of a model in milliseconds: 60 days.
    public static let lifetime: Int64 = 60 * 86_400_000

    /// The app.
    public let app: String
    /// The campaign; nil for the model of all campaigns.
    public let campaign: String?
    /// Higher than that of every earlier model of the campaign.
    public let version: Int
    /// Milliseconds since 1970.
    public let trainedAt: Int64
    /// The model that this one was derived from.
    public let parent: String?

    /// A name for a model.
    public init(app: String, campaign: String?, version: Int, trainedAt: Int64, parent: String? = nil) {
        (self.app, self.campaign, self.version) = (app, campaign, version)
        (self.trainedAt, self.parent) = (trainedAt, parent)
    }
}

extension ScoreTable {
    /// The weight of the overall shares in each hour, in observations.
    private static let overallWakes = 20.0

    /// The distribution of observed scores: bins of equal counts, and for every hour the shares of the bins, shrunk
    /// towards the overall ones.
    /// - Returns: nil without scores.
    public init?(scores: [Double], ownHours: [OwnHour], binCount: Int) {
        guard !scores.isEmpty, scores.count == ownHours.count else { return nil }
        let sorted = scores.sorted()
        let edges = (1..<binCount).map { sorted[min($0 * sorted.count / binCount, sorted.count - 1)] }
        var sums = [Double](repeating: 0, count: binCount)
        var counts = [Double](repeating: 0, count: 48 * binCount)
        var overall = [Double](repeating: 0, count: binCount)
        for (score, hour) in zip(scores, ownHours) {
            var bin = 0
            while bin < edges.count, score > edges[bin] { bin += 1 }
            sums[bin] += score
            overall[bin] += 1
            counts[hour.row * binCount + bin] += 1
        }
        // A bin can be empty if many scores are equal; its probability is then zero and its value does not matter.
        let bins = (0..<binCount).map { overall[$0] > 0 ? sums[$0] / overall[$0] : 0 }
        for hour in 0..<48 {
            for bin in 0..<binCount {
                counts[hour * binCount + bin] += Self.overallWakes * overall[bin] / Double(scores.count)
            }
        }
        self.init(bins: bins, chances: counts)
    }
}
