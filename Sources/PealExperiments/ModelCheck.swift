internal import Foundation
internal import PealCore
internal import PealMomentTraining
internal import PealMoments

/// How the model by which a campaign's phones choose moments fits what happened: its largest weights, whether messages
/// are opened as often as it predicts, and what phones computed for some messages.
package struct ModelCheck: Sendable, Hashable {
    /// A weight of the model, of a feature in standard deviations.
    package struct Weight: Sendable, Hashable {
        /// The feature's name in `FeatureSchema`.
        package let feature: String
        /// In log-odds of an open.
        package let value: Double

        package init(feature: String, value: Double) { (self.feature, self.value) = (feature, value) }
    }

    /// Displays with similar predictions.
    package struct Bin: Sendable, Hashable {
        /// The mean prediction.
        package let predicted: Double
        package let displays: Int
        package let opens: Int

        package init(predicted: Double, displays: Int, opens: Int) {
            (self.predicted, self.displays, self.opens) = (predicted, displays, opens)
        }

        package var rate: Double { displays > 0 ? Double(opens) / Double(displays) : 0 }

        /// Wilson's 95 % interval of the rate.
        package var interval: ClosedRange<Double> {
            guard displays > 0 else { return 0...1 }
            let (n, z) = (Double(displays), 1.96)
            let middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
            let reach = z * (rate * (1 - rate) / n + z * z / (4 * n * n)).squareRoot() / (1 + z * z / n)
            return max(0, min(middle - reach, rate))...min(1, max(middle + reach, rate))
        }
    }

    /// One message on one phone, from the start of its window.
    package struct Window: Sendable, Hashable {
        package let minutes: Int
        /// Whether the phone showed it at the last wake; otherwise the server sent it at the end.
        package let isShownByPhone: Bool
        package let isOpened: Bool
        package let wakes: [Wake]

        package init(minutes: Int, isShownByPhone: Bool, isOpened: Bool, wakes: [Wake]) {
            (self.minutes, self.wakes) = (minutes, wakes)
            (self.isShownByPhone, self.isOpened) = (isShownByPhone, isOpened)
        }
    }

    /// What the phone computed when it was woken.
    package struct Wake: Sendable, Hashable {
        package let minute: Int
        /// The probability of an open at this wake.
        package let score: Double
        /// That of waiting.
        package let threshold: Double

        package init(minute: Int, score: Double, threshold: Double) {
            (self.minute, self.score, self.threshold) = (minute, score, threshold)
        }
    }

    /// The largest first.
    package let weights: [Weight]
    /// In ascending order of prediction; empty with too few displays.
    package let calibration: [Bin]
    /// The newest first.
    package let sampleWindows: [Window]

    private static let weightsMax = 10
    private static let binsMax = 10
    private static let displaysPerBin = 20
    private static let windowsMax = 6

    /// - Parameters:
    ///   - release: nil for the model that is built into the SDK.
    ///   - labels: of the campaign.
    ///   - journeys: of the campaign, the newest first.
    /// - Returns: nil for a model that this version cannot compute.
    init?(_ release: ModelRelease?, labels: [MomentLabel], journeys: [MomentJourney]) {
        guard let model = Self.model(release) else { return nil }
        weights = Array(
            zip(FeatureSchema.names, model.weights).dropFirst().map { Weight(feature: $0, value: $1) }
                .filter { $0.value != 0 }.sorted { abs($0.value) > abs($1.value) }.prefix(Self.weightsMax))
        calibration = Self.bins(model, labels)
        sampleWindows = Array(journeys.lazy.compactMap(Self.window).prefix(Self.windowsMax))
    }

    private static func model(_ release: ModelRelease?) -> MomentModel? {
        guard let release else { return .builtIn(app: "") }
        return try? JSONDecoder().decode(MomentModel.self, from: Data(release.draft.payload))
    }

    private static func bins(_ model: MomentModel, _ labels: [MomentLabel]) -> [Bin] {
        let displays = labels.compactMap { label -> (predicted: Double, isOpened: Bool)? in
            guard let context = ContextSnapshot(bytes: label.snapshot) else { return nil }
            let score = model.score(context.features[...])
            return score.isFinite ? (model.calibration.probability(score), label.isOpened) : nil
        }.sorted { $0.predicted < $1.predicted }
        let count = min(binsMax, displays.count / displaysPerBin)
        return (0..<count).map { index in
            let bin = displays[displays.count * index / count..<displays.count * (index + 1) / count]
            return Bin(
                predicted: bin.reduce(0) { $0 + $1.predicted } / Double(bin.count), displays: bin.count,
                opens: bin.count { $0.isOpened })
        }
    }

    /// nil for a trace that no phone writes, and without a course.
    private static func window(_ journey: MomentJourney) -> Window? {
        let logged = LoggedJourney(
            trace: journey.trace, windowMinutes: journey.windowMinutes, isShown: journey.isShownByPhone,
            opened: journey.isOpened)
        guard let logged, logged.wakes.count > 1, logged.windowMinutes > 0 else { return nil }
        return Window(
            minutes: logged.windowMinutes, isShownByPhone: logged.isShown, isOpened: logged.opened,
            wakes: logged.wakes.map {
                Wake(minute: $0.line.minute, score: $0.line.probability, threshold: $0.line.threshold)
            })
    }
}
