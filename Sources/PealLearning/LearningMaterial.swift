internal import Foundation
package import PealCore
internal import PealMomentTraining
internal import PealMoments

/// The data for an app's training.
package struct LearningMaterial: Sendable {
    /// The name that the app's models carry.
    package let app: String
    package let labels: [MomentLabel]
    package let now: Timestamp
    /// Soft messages.
    package var journeys: [MomentJourney] = []
    /// 24 counters of app opens for each person who shares them.
    package var counters: [[Int]] = []
    /// The share of wake-ups that arrive; nil if it is not known.
    package var arrival: Double?
    package var learnings: [String: CampaignLearning] = [:]
    /// The newest models by campaign.
    package var releases: [String: ModelRelease] = [:]
    /// Earlier models by campaign, which phones may have had when they showed what has matured by now.
    package var formerReleases: [String: [ModelRelease]] = [:]

    /// The campaign's models that are kept, the newest first.
    func allReleases(of campaign: String) -> [ModelRelease] {
        (releases[campaign].map { [$0] } ?? []) + (formerReleases[campaign] ?? [])
    }

    package init(app: String, labels: [MomentLabel], now: Timestamp) {
        (self.app, self.labels, self.now) = (app, labels, now)
    }
}

/// The result of an app's training for one campaign.
package struct Lesson: Sendable {
    package var learning: CampaignLearning
    /// The model to release; nil if the current one stays.
    package var draft: ModelRelease.Draft?
}

/// One label with its context decoded.
struct LearningRow {
    /// The known and the sensed features.
    let features: [Double]
    let label: MomentLabel

    /// nil for a context of another schema, or one that no phone measures.
    init?(_ label: MomentLabel) {
        guard let snapshot = ContextSnapshot(bytes: label.snapshot) else { return nil }
        (features, self.label) = (snapshot.features, label)
    }

    var sensed: ArraySlice<Double> { features[FeatureSchema.knownCount...] }

    /// The hour on the user's own clock.
    var ownHour: OwnHour { OwnHour(known: features[..<FeatureSchema.knownCount]) }
}

extension CampaignLabels {
    /// The labels of rows, with their ages.
    init(_ rows: [LearningRow], _ situations: Situations, now: Timestamp) {
        var measured = FeatureMatrix(width: FeatureSchema.measuredCount)
        measured.reserve(rows.count)
        for row in rows { measured.append(row.features[...]) }
        self.init(
            features: situations.completing(measured), opened: rows.map { $0.label.isOpened ? 1 : 0 },
            ageDays: rows.map { Double((now - $0.label.shownAt).milliseconds) / 86_400_000 })
    }

    var opens: Int { Int(opened.reduce(0, +)) }
}

extension LoggedWakes {
    /// The model shows messages at good moments. Only random moments represent all moments, so only these are used if
    /// there are enough of them.
    /// - Parameter most: about how many to use at most, from all of the time.
    init(_ rows: [LearningRow], enough: Int, most: Int = .max) {
        let random = rows.filter { $0.label.exploration == .uniform }
        let all = random.count >= enough ? random : rows
        let step = max((all.count - 1) / most + 1, 1)
        let taken = stride(from: 0, to: all.count, by: step).map { all[$0] }
        var sensed = FeatureMatrix(width: FeatureSchema.sensedCount)
        sensed.reserve(taken.count)
        for row in taken { sensed.append(row.sensed) }
        self.init(sensed: sensed, ownHours: taken.map(\.ownHour))
    }
}

extension LoggedJourney {
    /// nil for a trace that no phone writes.
    init?(_ journey: MomentJourney) {
        self.init(
            trace: journey.trace, windowMinutes: journey.windowMinutes, isShown: journey.isShownByPhone,
            opened: journey.isOpened)
    }
}

extension OffPolicyGain {
    init(_ estimate: OffPolicyEstimate, messages: Int) {
        func millionths(_ value: Double) -> Int64 { Int64((min(max(value, -1), 1) * 1_000_000).rounded()) }
        self.init(
            gain: millionths(estimate.value), error: millionths(estimate.standardError), messages: Int64(messages),
            effectiveMessages: Int64(estimate.effectiveCount))
    }
}

extension ModelRelease {
    /// The model in the payload; nil if this version cannot compute it.
    var model: MomentModel? { try? JSONDecoder().decode(MomentModel.self, from: Data(draft.payload)) }
}

extension ModelRelease.Draft {
    /// - Throws: `ModelRefusal` for a model that phones would refuse.
    init(_ model: MomentModel, labels: Int) throws {
        // Not signed yet: the store signs the payload. Only payload and size matter here.
        let file = try ModelFile(model, keyID: "m1") { _ in [UInt8](repeating: 0, count: 64) }
        _ = try file.bytes()
        self.init(
            campaign: model.campaign ?? "", version: Int64(model.version),
            trainedAt: Timestamp(milliseconds: model.trainedAt), expiresAt: Timestamp(milliseconds: model.expires),
            parent: model.parent, labels: labels, payload: file.payload)
    }
}
