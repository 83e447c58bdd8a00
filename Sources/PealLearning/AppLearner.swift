internal import PealCore
internal import PealMomentTraining
internal import PealMoments

/// Trains the models of one app: those of its campaigns that are due, and then the one of all campaigns.
package struct AppLearner {
    private let material: LearningMaterial
    private let rows: [LearningRow]
    /// The rows of each campaign. Those of messages without a campaign are missing: they show only what people do.
    private let campaigns: [String: [LearningRow]]

    package init(_ material: LearningMaterial) {
        self.material = material
        rows = material.labels.compactMap(LearningRow.init)
        campaigns = Dictionary(grouping: rows) { $0.label.campaign }.filter { !$0.key.isEmpty }
    }

    /// Trains the campaigns that are due, and returns the results.
    package func lessons() throws -> [Lesson] {
        let due = campaigns.sorted { $0.key < $1.key }.compactMap { dueLearning($0.key, $0.value) }
        // The rest takes long, and most checks find nothing to train.
        guard !due.isEmpty else { return [] }
        let training = AppTraining(material, rows, campaigns)
        var lessons = try due.map(training.lesson)
        if let lesson = try training.lessonOfAll(after: lessons) { lessons.append(lesson) }
        return lessons
    }

    /// The state of a campaign's training, with whether the campaign has drifted by now; nil unless it is due.
    private func dueLearning(_ campaign: String, _ rows: [LearningRow]) -> CampaignLearning? {
        var learning = material.learnings[campaign] ?? CampaignLearning(campaign: campaign)
        guard !learning.isHeld(at: material.now) else { return nil }
        let watch = CampaignWatch(rows, releases: learning.hasOwnModel ? material.allReleases(of: campaign) : [])
        let isNewDrift = watch.hasDrifted && !learning.hasDrifted
        guard isNewDrift || isDue(learning, labels: rows.count) else { return nil }
        learning.hasDrifted = watch.hasDrifted
        return learning
    }

    /// Every night, and when there is a tenth more to learn from. A training in the future was before the clock was set
    /// back.
    private func isDue(_ learning: CampaignLearning, labels: Int) -> Bool {
        guard let trainedAt = learning.trainedAt, trainedAt <= material.now else { return true }
        return material.now - trainedAt >= .seconds(Limits.trainingIntervalSeconds)
            || Double(labels) >= 1.1 * Double(learning.labels) + 20
    }
}

/// Whether a campaign still is what its models were trained for. Each label is compared with what the model expected
/// that was in use at the display: this model was trained without the label, and most are replaced every night.
struct CampaignWatch {
    let hasDrifted: Bool

    /// With fewer random moments before or after, their contexts are not compared.
    private static let randomMin = 200

    /// Features without the time: hours differ if the campaign's windows changed, or if the two periods contain
    /// different days of the week.
    private static let compared = (1..<FeatureSchema.measuredCount).filter { index in
        !["hour", "taste", "weekend"].contains { FeatureSchema.names[index].contains($0) }
    }

    /// - Parameter releases: the campaign's models, the newest first; empty if it has none of its own, which cannot be
    ///   out of date.
    init(_ rows: [LearningRow], releases: [ModelRelease]) {
        // The weights of all campaigns do not know how often people open messages of this one.
        let models = releases.map { (since: $0.draft.trainedAt, model: $0.draft.isWithdrawal ? nil : $0.model) }
        guard let start = models.last(where: { $0.model != nil })?.since else {
            hasDrifted = false
            return
        }
        let isLater = { (row: LearningRow) in row.label.shownAt > start }
        var watch = DriftWatch()
        for row in rows.filter(isLater).sorted(by: { $0.label.shownAt < $1.label.shownAt }) {
            guard let model = models.first(where: { $0.since < row.label.shownAt })?.model else { continue }
            let score = model.score(row.features[...])
            watch.record(expected: model.calibration.probability(score), opened: row.label.isOpened)
        }
        // Only random moments: a new model chooses other moments than its predecessor, which is not drift.
        let random = rows.filter { $0.label.exploration == .uniform }
        let (before, after) = (random.filter { !isLater($0) }, random.filter(isLater))
        let isComparable = before.count >= Self.randomMin && after.count >= Self.randomMin
        let isShifted =
            isComparable
            && Self.compared.contains { feature in
                PopulationStability.index(
                    reference: before.map { $0.features[feature] }, current: after.map { $0.features[feature] })
                    > PopulationStability.limit
            }
        hasDrifted = watch.hasDrifted || isShifted
    }
}
