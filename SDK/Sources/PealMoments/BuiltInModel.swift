internal import Foundation

extension MomentModel {
    /// The model that a new installation starts with: a few weak assumptions about when people look at their phones. It
    /// is also the prior of the first campaign.
    public static func builtIn(app: String) -> MomentModel {
        // A test ensures that these constants form a valid model.
        guard
            let model = try? MomentModel(
                app: app, campaign: nil, version: 0, trainedAt: 0, expires: .max, means: BuiltIn.means,
                scales: BuiltIn.scales, weights: BuiltIn.weights, table: builtInTable, template: .plain,
                audienceOpens: log(30), arrival: 0.6)
        else { preconditionFailure("the built-in model is malformed") }
        return model
    }

    /// The distribution of the sensed score if all signals with a weight were independent: their combinations, ordered
    /// by score and divided into bins of equal probability.
    private static let builtInTable: ScoreTable = {
        let signals = BuiltIn.beliefs
        var outcomes = (0..<(1 << signals.count)).map { combination -> (score: Double, chance: Double) in
            signals.enumerated().reduce((0, 1)) { sum, entry in
                let isSet = combination >> entry.offset & 1 == 1
                let share = entry.element.share
                return (
                    sum.0 + entry.element.effect * ((isSet ? 1 : 0) - share), sum.1 * (isSet ? share : 1 - share)
                )
            }
        }
        outcomes.sort { $0.score < $1.score }
        var bins = [Double](repeating: 0, count: ScoreTable.binCount)
        var covered = 0.0
        for outcome in outcomes {
            var rest = outcome.chance
            while rest > 1e-12 {
                let bin = min(Int(covered * Double(bins.count) + 1e-9), bins.count - 1)
                let room = bin == bins.count - 1 ? rest : Double(bin + 1) / Double(bins.count) - covered
                let part = min(rest, max(room, 1e-12))
                bins[bin] += outcome.score * part * Double(bins.count)
                covered += part
                rest -= part
            }
        }
        return ScoreTable(equallyLikely: bins)
    }()

    /// The numbers behind the built-in model.
    private enum BuiltIn {
        /// Index among the sensed features, share of wakes at which the signal is set, and effect on the log-odds.
        static let beliefs: [(index: Int, share: Double, effect: Double)] = [
            (0, 0.3, 0.8), (1, 0.3, 0.2), (2, 0.06, -0.3), (7, 0.15, -0.4), (10, 0.08, -0.3),
        ]
        private static let shares = [
            0.3, 0.3, 0.06, 0.15, 0.25, 0.65, 0.15, 0.15, 0.45, 0.6, 0.08, 0.55,
        ]
        /// The shares of situations, none of which is known yet.
        private static let evenShares = [Double](
            repeating: 1 / Double(Situations.count), count: FeatureSchema.situationCount)
        private static let knownMeans = [0, -0.3, 0, -0.1, 0.29, -0.1, 0, 0, 0, 0, -0.3]
        private static let knownScales = [0.7, 0.6, 0.7, 0.7, 0.45, 0.3, 0.7, 0.35, 0.15, 0.7, 0.6]

        static let means = knownMeans + shares + evenShares
        static let scales =
            knownScales
            + shares.enumerated().map { index, share in
                // Brightness and battery are not boolean signals.
                index == 8 || index == 9 ? 0.22 : (share * (1 - share)).squareRoot()
            } + evenShares.map { _ in 0.2 }
        static let weights: [Double] = {
            var weights = [Double](repeating: 0, count: FeatureSchema.count)
            weights[0] = -3
            for belief in beliefs {
                weights[FeatureSchema.knownCount + belief.index] =
                    belief.effect * (belief.share * (1 - belief.share)).squareRoot()
            }
            // Active users open more messages, and users open messages when they tend to open the app.
            (weights[7], weights[8], weights[9]) = (0.3, 0.3, 0.1)
            return weights
        }()
    }
}

extension HourTemplate {
    /// A typical day, for installations without data of their own: quiet nights, most opens in the evening.
    public static let plain = Self(
        rounding: [1, 1, 1, 1, 1, 2, 6, 14, 18, 15, 13, 13, 16, 14, 12, 12, 14, 18, 22, 24, 25, 22, 14, 5],
        shiftWeights: [
            0.0201, 0.1001, 0.1801, 0.3001, 0.2301, 0.0801, 0.0201, 0.0001, 0.0201, 0.0301, 0.0201,
        ], spreads: [0.36, 0.19, 0.13])
}
