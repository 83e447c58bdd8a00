internal import Foundation
internal import PealCore
internal import PealMomentTraining
internal import PealMoments

/// Trains the models of one app: those of its campaigns that are due, and then the one of all campaigns.
package struct AppLearner {
    /// A campaign with fewer labels does not influence others.
    private static let earlierLabelsMin = 500
    /// With fewer people, their habits do not describe an audience.
    private static let peopleMin = 100
    /// With at least this many random moments, these alone describe all moments.
    private static let randomWakesMin = 200
    /// With at least this many random moments, situations are found in these alone. Situations need more wakes, and how
    /// moments were chosen matters less for them.
    private static let randomSituationsMin = 5000

    private let material: LearningMaterial
    private let campaigns: [String: [LearningRow]]
    private let wakes: LoggedWakes
    private let audience: PealMomentTraining.Audience

    package init(_ material: LearningMaterial) {
        self.material = material
        let rows = material.labels.compactMap(LearningRow.init)
        campaigns = Dictionary(grouping: rows) { $0.label.campaign }
        wakes = LoggedWakes(rows, enough: Self.randomWakesMin)
        let situations = Situations(learningFrom: LoggedWakes(rows, enough: Self.randomSituationsMin)) ?? .unknown
        audience = Self.audience(material, CampaignLabels(rows, situations, now: material.now), situations)
    }

    /// Trains the campaigns that are due, and returns the results.
    package func lessons() throws -> [Lesson] {
        guard wakes.sensed.count > 0 else { return [] }
        var lessons: [Lesson] = []
        for (campaign, rows) in campaigns.sorted(by: { $0.key < $1.key }) where !campaign.isEmpty {
            if let lesson = try lesson(campaign, rows) { lessons.append(lesson) }
        }
        if !lessons.isEmpty, let lesson = try lessonOfAll(after: lessons) { lessons.append(lesson) }
        return lessons
    }

    // MARK: One campaign

    private func lesson(_ campaign: String, _ rows: [LearningRow]) throws -> Lesson? {
        var learning = material.learnings[campaign] ?? CampaignLearning(campaign: campaign)
        guard !learning.isHeld(at: material.now) else { return nil }
        let watch = CampaignWatch(rows, since: learning.hasOwnModel ? material.releases[campaign]?.model : nil)
        let isNewDrift = watch.hasDrifted && !learning.hasDrifted
        guard isNewDrift || isDue(learning, labels: rows.count) else { return nil }
        learning.hasDrifted = watch.hasDrifted
        let labels = CampaignLabels(rows, audience.situations, now: material.now)
        let trainer = MomentTrainer(audience: audience, prior: prior(of: campaign, isWide: watch.hasDrifted))
        let weights = trainer.weights(labels)
        func model(_ calibration: CalibrationMap) throws -> MomentModel {
            try trainer.model(
                identity(campaign, parent: material.releases[""].map { "global@\($0.draft.version)" }),
                weights: weights, calibration: calibration, wakes: wakes)
        }
        let journeys = material.journeys.filter { $0.campaign == campaign }.compactMap(LoggedJourney.init)
        // A model that cannot be formed has weights to which the judgement objects.
        let advantage = (try? model(.identity)).flatMap {
            OffPolicy.advantage(of: $0, over: ownModels(of: campaign), in: journeys)
        }
        learning.offPolicy = advantage.map { OffPolicyGain($0.estimate, messages: $0.count) }
        let report = trainer.judge(labels, valueAdvantage: advantage?.estimate)
        var state = PromotionState(failures: learning.failures, hasOwnModel: learning.hasOwnModel)
        let action = state.record(isPromoted: report.isPromoted)
        learning.failures = state.failures
        (learning.trainedAt, learning.labels) = (material.now, rows.count)
        learning.objections = report.objections.map { $0.name }
        var draft: ModelRelease.Draft?
        do {
            switch action {
            case .keep: break
            case .ship: draft = try ModelRelease.Draft(try model(report.calibration), labels: rows.count)
            case .withdraw: draft = try withdrawal(of: campaign)
            }
            learning.hasOwnModel = state.hasOwnModel
        } catch ModelRefusal.tooLarge {
            // Because of the campaign's name: what its phones have stays.
            learning.objections.append(CampaignLearning.tooLarge)
        }
        return Lesson(learning: learning, draft: draft)
    }

    /// The models with which phones may have shown a campaign's messages.
    private func ownModels(of campaign: String) -> [MomentModel] {
        let releases = [campaign, ""].flatMap { name in
            (material.releases[name].map { [$0] } ?? []) + (material.formerReleases[name] ?? [])
        }
        return releases.compactMap(\.model) + [.builtIn(app: material.app)]
    }

    /// Every night, and when there is a tenth more to learn from. A training in the future was before the clock was set
    /// back.
    private func isDue(_ learning: CampaignLearning, labels: Int) -> Bool {
        guard let trainedAt = learning.trainedAt, trainedAt <= material.now else { return true }
        return material.now - trainedAt >= .seconds(Limits.trainingIntervalSeconds)
            || Double(labels) >= 1.1 * Double(learning.labels) + 20
    }

    /// The prior from the app's other campaigns; without them, Peal's assumptions about people.
    /// - Parameter isWide: whether to trust it less, because the campaign has drifted.
    private func prior(of campaign: String, isWide: Bool) -> GaussianPrior {
        let earlier = campaigns.filter { $0.key != campaign && $0.value.count >= Self.earlierLabelsMin }
            .sorted { $0.key < $1.key }.map { CampaignLabels($0.value, audience.situations, now: material.now) }
            .filter { $0.opens > 0 }
        var prior =
            earlier.isEmpty
            ? .firstCampaign(.builtIn(app: material.app), standardization: audience.standardization)
            : MomentTrainer.prior(from: earlier, standardization: audience.standardization)
        // The standard deviations double.
        if isWide { prior.precisions = prior.precisions.map { $0 / 4 } }
        return prior
    }

    /// The model of all campaigns under the campaign's name: phones cannot be asked to delete one. The payload does not
    /// name its parent, so that it fits wherever the model fits that it replaces.
    private func withdrawal(of campaign: String) throws -> ModelRelease.Draft {
        var model = material.releases[""]?.model ?? .builtIn(app: material.app)
        let parent = "global@\(model.version)"
        let identity = identity(campaign, parent: nil)
        (model.campaign, model.version, model.parent) = (campaign, identity.version, nil)
        (model.trainedAt, model.expires) = (identity.trainedAt, identity.trainedAt + ModelIdentity.lifetime)
        var draft = try ModelRelease.Draft(model, labels: 0)
        draft.parent = parent
        return draft
    }

    // MARK: All campaigns

    /// The mean of campaigns whose own models are good: what a campaign without labels starts from.
    private func lessonOfAll(after lessons: [Lesson]) throws -> Lesson? {
        var learning = material.learnings[""] ?? CampaignLearning(campaign: "")
        guard !learning.isHeld(at: material.now) else { return nil }
        let known = lessons.reduce(into: material.learnings) { $0[$1.learning.campaign] = $1.learning }
        let good = campaigns.filter { name, rows in
            rows.count >= Self.earlierLabelsMin && known[name]?.hasGoodModel == true
        }.sorted { $0.key < $1.key }.map { CampaignLabels($0.value, audience.situations, now: material.now) }
        guard !good.isEmpty else { return nil }
        let prior = MomentTrainer.prior(from: good, standardization: audience.standardization)
        let count = good.reduce(0) { $0 + $1.opened.count }
        let model = try MomentTrainer(audience: audience, prior: prior).model(
            identity("", parent: nil), weights: prior.means, wakes: wakes)
        (learning.trainedAt, learning.labels, learning.hasOwnModel) = (material.now, count, true)
        return Lesson(learning: learning, draft: try ModelRelease.Draft(model, labels: count))
    }

    private func identity(_ campaign: String, parent: String?) -> ModelIdentity {
        let former = material.releases[campaign]?.draft.version
        let version = ModelRelease.Draft.version(after: former, at: material.now)
        return ModelIdentity(
            app: material.app, campaign: campaign.isEmpty ? nil : campaign, version: Int(version),
            trainedAt: material.now.milliseconds, parent: parent)
    }

    /// The reference of openness stays that of the built-in model: contexts state openness relative to it. Scales are
    /// at least its scales: in labels from one hour of the day, "charging" and "charging at this hour" are the same,
    /// and the model must not believe the second.
    private static func audience(
        _ material: LearningMaterial, _ labels: CampaignLabels, _ situations: Situations
    ) -> PealMomentTraining.Audience {
        let builtIn = MomentModel.builtIn(app: material.app)
        let learnt = material.counters.count >= peopleMin ? HourTemplate(learningFrom: material.counters) : nil
        return PealMomentTraining.Audience(
            standardization: labels.opened.isEmpty
                ? Standardization(of: builtIn)
                : Standardization(of: labels.features).scales(atLeast: 1, of: Standardization(of: builtIn)),
            situations: situations,
            template: learnt ?? material.releases[""]?.model?.template ?? builtIn.template,
            audienceOpens: builtIn.audienceOpens,
            arrival: min(max(material.arrival ?? builtIn.arrival, 0.05), 0.95))
    }
}

/// Whether a campaign still is what its model was trained for.
struct CampaignWatch {
    let hasDrifted: Bool

    /// With fewer random moments before or after, their contexts are not compared.
    private static let randomMin = 200

    /// Features without the time: hours differ if the campaign's windows changed, or if the two periods contain
    /// different days of the week.
    private static let compared = (1..<FeatureSchema.measuredCount).filter { index in
        !["hour", "taste", "weekend"].contains { FeatureSchema.names[index].contains($0) }
    }

    /// - Parameter model: the campaign's own; nil if it has none, which cannot be out of date.
    init(_ rows: [LearningRow], since model: MomentModel?) {
        guard let model else {
            hasDrifted = false
            return
        }
        let isLater = { (row: LearningRow) in row.label.shownAt.milliseconds > model.trainedAt }
        var watch = DriftWatch()
        for row in rows.filter(isLater).sorted(by: { $0.label.shownAt < $1.label.shownAt }) {
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

extension PromotionReport.Objection {
    /// The name in the API.
    var name: String {
        switch self {
        case .tooFewLabels: "too_few_labels"
        case .notBetter: "not_better"
        case .calibration: "calibration"
        case .weights: "weights"
        case .value: "value"
        }
    }
}
