internal import PealCore
internal import PealMomentTraining
internal import PealMoments

/// One training of an app. It computes once what all of the app's models share, and from that the result for one
/// campaign after the other.
struct AppTraining {
    /// A campaign with fewer labels does not influence others.
    private static let earlierLabelsMin = 500
    /// With fewer people, their habits do not describe an audience.
    private static let peopleMin = 100
    /// With at least this many random moments, these alone describe all moments.
    private static let randomWakesMin = 200
    /// Every model evaluates these moments again, and more of them make no relevant difference.
    private static let wakesMax = 20_000
    /// With at least this many random moments, situations are found in these alone. Situations need more wakes, and how
    /// moments were chosen matters less for them.
    private static let randomSituationsMin = 5000
    /// The age at which the copy for a withdrawn campaign is renewed.
    private static let copyAgeMin: Duration = .seconds(7 * 86_400)

    private let material: LearningMaterial
    /// The labels of each campaign.
    private let labels: [String: CampaignLabels]
    /// What each campaign that influences others shows by itself, in the order of names: priors of the others.
    private let estimates: [(campaign: String, estimate: CampaignEstimate)]
    private let wakes: LoggedWakes
    private let audience: PealMomentTraining.Audience

    /// - Parameters:
    ///   - rows: at least one.
    ///   - campaigns: the rows of each campaign.
    init(_ material: LearningMaterial, _ rows: [LearningRow], _ campaigns: [String: [LearningRow]]) {
        self.material = material
        wakes = LoggedWakes(rows, enough: Self.randomWakesMin, most: Self.wakesMax)
        let situations = Situations(learningFrom: LoggedWakes(rows, enough: Self.randomSituationsMin)) ?? .unknown
        let audience = Self.audience(material, CampaignLabels(rows, situations, now: material.now), situations)
        self.audience = audience
        labels = campaigns.mapValues { CampaignLabels($0, situations, now: material.now) }
        estimates = labels.filter { $0.value.opened.count >= Self.earlierLabelsMin && $0.value.opens > 0 }
            .sorted { $0.key < $1.key }
            .map { ($0.key, CampaignEstimate($0.value, audience.standardization)) }
    }

    // MARK: One campaign

    /// Trains and judges a campaign's model.
    /// - Parameter learning: the state before the training, with whether the campaign has drifted.
    func lesson(_ learning: CampaignLearning) throws -> Lesson {
        var learning = learning
        let campaign = learning.campaign
        let labels = labels[campaign] ?? CampaignLabels([], audience.situations, now: material.now)
        let trainer = MomentTrainer(audience: audience, prior: prior(of: campaign, isWide: learning.hasDrifted))
        let weights = trainer.weights(labels)
        func model(_ calibration: CalibrationMap) throws -> MomentModel {
            try trainer.model(
                identity(campaign, parent: material.releases[""].map { "global@\($0.draft.version)" }),
                weights: weights, calibration: calibration, wakes: wakes)
        }
        let journeys = material.journeys.filter { $0.campaign == campaign }.compactMap(LoggedJourney.init)
        // A model that cannot be formed has weights to which the judgement objects.
        let candidate = journeys.count < OffPolicy.journeysMin ? nil : try? model(.identity)
        let advantage = candidate.flatMap {
            OffPolicy.advantage(of: $0, over: ownModels(of: campaign), in: journeys)
        }
        learning.offPolicy = advantage.map { OffPolicyGain($0.estimate, messages: $0.count) }
        let report = trainer.judge(labels, valueAdvantage: advantage?.estimate)
        var state = PromotionState(failures: learning.failures, hasOwnModel: learning.hasOwnModel)
        let action = state.record(isPromoted: report.isPromoted)
        learning.failures = state.failures
        (learning.trainedAt, learning.labels) = (material.now, labels.opened.count)
        learning.objections = report.objections.map { $0.name }
        let draft = try unlessTooLarge(&learning) {
            switch action {
            case .keep: try renewedWithdrawal(of: campaign)
            case .ship: try ModelRelease.Draft(try model(report.calibration), labels: labels.opened.count)
            case .withdraw: try withdrawal(of: campaign)
            }
        }
        if draft != nil { learning.hasOwnModel = state.hasOwnModel }
        return Lesson(learning: learning, draft: draft)
    }

    /// The draft, or nil with an objection if its file is too large because of a long name: what phones have stays.
    private func unlessTooLarge(
        _ learning: inout CampaignLearning, _ draft: () throws -> ModelRelease.Draft?
    ) throws -> ModelRelease.Draft? {
        do {
            return try draft()
        } catch ModelRefusal.tooLarge {
            learning.objections.append(CampaignLearning.tooLarge)
            return nil
        }
    }

    /// The models with which phones may have shown a campaign's messages.
    private func ownModels(of campaign: String) -> [MomentModel] {
        [campaign, ""].flatMap(material.allReleases).compactMap(\.model) + [.builtIn(app: material.app)]
    }

    /// The prior from the app's other campaigns; without them, Peal's assumptions about people.
    /// - Parameter isWide: whether to trust it less, because the campaign has drifted.
    private func prior(of campaign: String, isWide: Bool) -> GaussianPrior {
        let earlier = estimates.filter { $0.campaign != campaign }.map(\.estimate)
        var prior =
            earlier.isEmpty
            ? .firstCampaign(.builtIn(app: material.app), standardization: audience.standardization)
            : GaussianPrior(campaigns: earlier)
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

    /// A copy of the newest model of all campaigns for a campaign whose model was withdrawn, because phones prefer the
    /// copy that they have. nil until that copy is a week old: each one replaces an earlier model that could be issued
    /// again.
    private func renewedWithdrawal(of campaign: String) throws -> ModelRelease.Draft? {
        guard let copy = material.releases[campaign]?.draft, copy.isWithdrawal, let all = material.releases[""]?.draft,
            copy.parent != "global@\(all.version)", material.now - copy.trainedAt >= Self.copyAgeMin
        else { return nil }
        return try withdrawal(of: campaign)
    }

    // MARK: All campaigns

    /// The mean of campaigns whose own models are good: what a campaign without labels starts from. nil if there are
    /// none.
    func lessonOfAll(after lessons: [Lesson]) throws -> Lesson? {
        var learning = material.learnings[""] ?? CampaignLearning(campaign: "")
        guard !learning.isHeld(at: material.now) else { return nil }
        let known = lessons.reduce(into: material.learnings) { $0[$1.learning.campaign] = $1.learning }
        let good = estimates.filter { known[$0.campaign]?.hasGoodModel == true }
        guard !good.isEmpty else { return nil }
        let prior = GaussianPrior(campaigns: good.map(\.estimate))
        let count = good.reduce(0) { $0 + (labels[$1.campaign]?.opened.count ?? 0) }
        let model = try MomentTrainer(audience: audience, prior: prior).model(
            identity("", parent: nil), weights: prior.means, wakes: wakes)
        learning.objections = []
        let draft = try unlessTooLarge(&learning) { try ModelRelease.Draft(model, labels: count) }
        (learning.trainedAt, learning.labels) = (material.now, count)
        if draft != nil { learning.hasOwnModel = true }
        return Lesson(learning: learning, draft: draft)
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
            standardization: Standardization(of: labels.features)
                .scales(atLeast: 1, of: Standardization(of: builtIn)),
            situations: situations,
            template: learnt ?? material.releases[""]?.model?.template ?? builtIn.template,
            audienceOpens: builtIn.audienceOpens,
            arrival: min(max(material.arrival ?? builtIn.arrival, 0.05), 0.95))
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
