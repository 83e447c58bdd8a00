internal import Foundation
public import PealMoments

/// The weights estimated from one campaign's labels.
public struct CampaignEstimate: Sendable, Hashable {
    /// The weights of standardized features.
    public let weights: [Double]
    /// Their sampling variances.
    public let variances: [Double]

    /// Weights and their variances.
    public init(weights: [Double], variances: [Double]) {
        self.weights = weights
        self.variances = variances
    }

    /// The estimate from one campaign alone: a fit with a weak pull towards zero.
    public init(_ rows: FeatureMatrix, opened: [Double], rowWeights: [Double]? = nil) {
        let fit = LogisticFit(
            rows, opened: opened, rowWeights: rowWeights, prior: .ridge(10, count: rows.width))
        self.init(weights: fit.weights, variances: fit.variances)
    }

    /// The estimate from a campaign's labels.
    public init(_ labels: CampaignLabels, _ standardization: Standardization) {
        self.init(standardization(labels.features), opened: labels.opened, rowWeights: labels.rowWeights)
    }
}

extension GaussianPrior {
    /// The prior from C earlier campaigns, each weight for itself: the random-effects estimate of meta-analysis
    /// (DerSimonian and Laird 1986). With estimates b_c and sampling variances v_c,
    ///
    ///     τ² = max(var(b) − mean(v), mean(v) / 10)           how much campaigns differ
    ///     μ  = Σ b_c / (v_c + τ²) / Σ 1 / (v_c + τ²)         the mean, with variance e = 1 / Σ 1 / (v_c + τ²)
    ///
    /// The prior is normal around μ with variance τ², with three corrections, because a few campaigns say little about
    /// the next one:
    ///
    /// - Hour weights get the variance 2τ² + mean(v) / C, and their means are shrunk: μ · s / (s + e), where s is the
    ///   mean of μ² − e over all hour weights, at least 0.
    /// - The precisions of sensed weights are drawn half-way, on a logarithmic scale, to their mean.
    /// - The constant has the precision 0.01, because campaigns differ in their rates of opens.
    ///
    /// - Parameters:
    ///   - hourFeatures: weights in which campaigns differ most. A few campaigns show little of their spread, so these
    ///     weights get a wider prior; otherwise a campaign with unusual hours would learn too slowly.
    ///   - sensedFeatures: weights in which campaigns differ about equally.
    public init(
        campaigns: [CampaignEstimate], hourFeatures: [Int] = FeatureSchema.hourFeatures,
        sensedFeatures: Range<Int> = FeatureSchema.sensedFeatures
    ) {
        precondition(!campaigns.isEmpty)
        let count = Double(campaigns.count)
        var (means, precisions, errors) = ([Double](), [Double](), [Double]())
        for weight in campaigns[0].weights.indices {
            let values = campaigns.map { $0.weights[weight] }
            let sampling = campaigns.reduce(0) { $0 + $1.variances[weight] } / count
            let mean = values.reduce(0, +) / count
            let squares = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
            // A single campaign does not show how campaigns differ.
            let between = campaigns.count > 1 ? squares / (count - 1) - sampling : Self.spreadOfOne
            let spread = max(between, 0.1 * sampling)
            let shares = campaigns.map { 1 / ($0.variances[weight] + spread) }
            errors.append(1 / shares.reduce(0, +))
            means.append(zip(shares, values).reduce(0) { $0 + $1.0 * $1.1 } / shares.reduce(0, +))
            let isHour = hourFeatures.contains(weight)
            precisions.append(1 / (isHour ? 2 * spread + sampling / count : spread))
        }
        precisions[0] = 0.01
        Self.level(&precisions, sensedFeatures)
        Self.shrink(&means, errors, hourFeatures)
        self.init(means: means, precisions: precisions)
    }

    /// Draws the precisions of sensed weights half-way, on a logarithmic scale, to their mean: a few campaigns show
    /// little of how much they differ in one weight, and a wrong precision lets chance decide about it.
    private static func level(_ precisions: inout [Double], _ sensedFeatures: Range<Int>) {
        guard !sensedFeatures.isEmpty else { return }
        let mean = exp(sensedFeatures.reduce(0) { $0 + log(precisions[$1]) } / Double(sensedFeatures.count))
        for weight in sensedFeatures { precisions[weight] = (precisions[weight] * mean).squareRoot() }
    }

    /// Shrinks the means of hour weights towards zero as far as they may be random: what six campaigns have in common
    /// in their hours says little about the seventh.
    private static func shrink(_ means: inout [Double], _ errors: [Double], _ hourFeatures: [Int]) {
        guard !hourFeatures.isEmpty else { return }
        let surplus = hourFeatures.reduce(0) { $0 + means[$1] * means[$1] - errors[$1] } / Double(hourFeatures.count)
        let spread = max(surplus, 0)
        for weight in hourFeatures { means[weight] *= spread / (spread + errors[weight]) }
    }

    /// The prior of an installation's first campaign: the built-in model's weights with wide variances, in the units of
    /// the audience.
    public static func firstCampaign(_ builtIn: MomentModel, standardization: Standardization) -> Self {
        var means = builtIn.weights
        for index in 1..<means.count {
            means[index] *= standardization.scales[index - 1] / builtIn.scales[index - 1]
        }
        return Self(
            means: means,
            precisions: [1e-3] + [Double](repeating: firstCampaignPrecision, count: means.count - 1))
    }

    /// The variance of weights among campaigns, as long as there is only one.
    static let spreadOfOne = 0.04
    static let firstCampaignPrecision = 30.0
}
