internal import HTTPTypes
internal import PealCore
internal import PealMomentTraining
internal import PealShapes

/// `GET …/campaigns` and `GET …/campaigns/{id}`: the totals of each campaign's messages.
struct NativeCampaigns: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func endpoints(_ app: String) -> [Endpoint] {
        [
            Endpoint(.get, "\(app)/campaigns", .app(.read), list),
            Endpoint(.get, "\(app)/campaigns/:campaign", .app(.read), get),
            Endpoint(.post, "\(app)/campaigns/:campaign/model/rollback", .app(.manage), rollBackModel),
        ]
    }

    /// Lists campaigns by name.
    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let reports = try await services.campaigns.reports(
            after: list.name, limit: list.fetchCount, app: try call.app().key)
        return list.answer(reports, cursor: { Array($0.id.utf8) }, json: Self.json)
    }

    private func get(_ call: Call) async throws -> Answer {
        let (app, name) = (try call.app(), call.parameter("campaign"))
        let report = try await services.campaigns.report(name, app: app.key)
        let (facts, model) = try await services.store.read(.heavy) { store in
            (
                try store.experiment(app: app.key, campaign: name, now: call.now),
                NativeModel(
                    try store.learning(app: app.key, campaign: name),
                    try store.modelRelease(app: app.key, campaign: name, version: nil))
            )
        }
        var members = Self.json(report).objectValue ?? .init()
        members["experiment"] = facts.map { NativeExperiment($0, share: app.settings[.experimentShare]).json }
        members["model"] = model?.json
        return Answer(.ok, .object(members))
    }

    /// Takes a model back.
    private func rollBackModel(_ call: Call) async throws -> Answer {
        let wanted = try call.body(NativeModel.rollback.shape, .native)
        return Answer(
            try await services.models.rollBack(
                call.parameter("campaign"), to: wanted, app: try call.app().key, call.verb
            ) { release, learning in
                Reply(status: 200, NativeModel(learning, release)?.json ?? .object(.init()))
            })
    }

    private static func json(_ report: CampaignReport) -> JSON {
        let reasons = report.total.reasons.sorted { $0.key < $1.key }.map { ($0.key, JSON.integer($0.value)) }
        return [
            "id": .string(report.id), "messages": .integer(report.messages),
            "audience": .integer(report.total.devices), "accepted": .integer(report.total.accepted),
            "failed": .integer(report.failed), "pending": .integer(report.total.pending),
            "received": .integer(report.receipts[.received] ?? 0), "opened": .integer(report.receipts[.opened] ?? 0),
            "content_opened": .integer(report.receipts[.contentOpened] ?? 0),
            "reasons": .object(JSON.Members(reasons)),
        ]
    }
}

extension NativeDocument {
    static let campaigns: [APIOperation] = [
        APIOperation(
            id: "listCampaigns", method: .get, path: "\(app)/campaigns", summary: "List campaigns by name",
            parameters: page(.name), answers: [list(of: "NativeCampaign", NativeReportSchema.campaign)]),
        APIOperation(
            id: "getCampaign", method: .get, path: "\(app)/campaigns/:campaign", summary: "Summarize a campaign",
            answers: [
                APIAnswer(
                    200, "The totals of its messages, and its experiment and moment model if it has them.",
                    NativeReportSchema.campaignDetail)
            ]),
        APIOperation(
            id: "rollBackModel", method: .post, path: "\(app)/campaigns/:campaign/model/rollback",
            summary: "Issue an earlier moment model again",
            text: "It gets a new version, because devices refuse older ones. For seven days no training replaces it.",
            body: APIBody(schema: NativeModel.rollback.schema(strict), examples: [("former", [:])]),
            answers: [APIAnswer(200, "The model.", NativeModel.schema)], refusals: [.notFound, .conflict]),
    ]
}

/// The experiment of a campaign by its matured messages, by intention to treat.
struct NativeExperiment: Sendable {
    private let facts: ExperimentFacts
    private let share: Double

    /// - Parameter share: of the users that are assigned to good moments.
    init(_ facts: ExperimentFacts, share: Double) {
        self.facts = facts
        self.share = share
    }

    var json: JSON {
        let users = facts.users.map { user in
            ExperimentUser(
                arm: user.arm == .contextAware ? .contextAware : .traditional, messages: user.messages,
                opens: user.opens)
        }
        var alarm = SampleRatioAlarm(share: share)
        alarm.record(
            contextAware: users.count { $0.arm == .contextAware }, traditional: users.count { $0.arm == .traditional })
        let comparison = ArmComparison(users)
        let decision = comparison.map { ExperimentDecision($0, isRatioSound: !alarm.isRaised) }
        let interval = comparison?.interval()
        let bounds: JSON? = interval.map { .array([Self.json($0.lowerBound), Self.json($0.upperBound)]) }
        let arms = ExperimentAssignment.Arm.allCases.map { ($0.rawValue, Self.json($0, users)) }
        var members = JSON.Members([("salt", .string(facts.salt)), ("share", Self.json(share))])
        members["started_at"] = .string(facts.startedAt.description)
        members["arms"] = .object(JSON.Members(arms))
        members["difference"] = Self.json(comparison?.difference)
        members["interval"] = bounds ?? .null
        members["lift"] = Self.json(comparison?.lift)
        members["verdict"] = .string((decision ?? .undecided).rawValue)
        return .object(members)
    }

    private static func json(_ arm: ExperimentAssignment.Arm, _ users: [ExperimentUser]) -> JSON {
        let own = users.filter { $0.arm == arm }
        return [
            "users": .integer(own.count), "messages": .integer(own.reduce(0) { $0 + $1.messages }),
            "opens": .integer(own.reduce(0) { $0 + $1.opens }),
        ]
    }

    /// With six decimals; null for nil.
    private static func json(_ value: Double?) -> JSON {
        guard let value, value.isFinite else { return .null }
        return .number(String((value * 1_000_000).rounded() / 1_000_000))
    }

    static let schema: Schema = {
        let arm = Schema.component(
            "NativeExperimentArm",
            .object(["users", "messages", "opens"].map { .required($0, .count) }))
        let verdicts = ["undecided", "promote", "revert", "no_difference", "untrustworthy"]
        return .component(
            "NativeExperiment",
            .object([
                .required("salt", .text), .required("share", .number), .required("started_at", .time),
                .required(
                    "arms",
                    .component(
                        "NativeExperimentArms",
                        .object([.required("context_aware", arm), .required("traditional", arm)]))),
                .required("difference", Schema.number.orNull),
                .required("interval", Schema.list(.number, 2...2).orNull),
                .required("lift", Schema.number.orNull),
                .required("verdict", .component("NativeVerdict", .words(verdicts))),
            ]))
    }()
}

/// What is known of a campaign's moment model.
struct NativeModel: Sendable {
    private let learning: CampaignLearning
    private let release: ModelRelease?

    /// nil if nothing is known.
    init?(_ learning: CampaignLearning?, _ release: ModelRelease?) {
        guard learning != nil || release != nil else { return nil }
        self.learning = learning ?? CampaignLearning(campaign: release?.draft.campaign ?? "")
        self.release = release
    }

    var json: JSON {
        .compact([
            ("version", release.map { .integer($0.draft.version) }),
            ("trained_at", release.map { .string($0.draft.trainedAt.description) }),
            ("expires_at", release.map { .string($0.draft.expiresAt.description) }),
            ("parent", release?.draft.parent.map(JSON.string)),
            ("labels", release.map { .integer($0.draft.labels) }),
            ("displays", .integer(learning.displays)), ("opens", .integer(learning.opens)),
            ("examined_at", learning.trainedAt.map { .string($0.description) }),
            ("objections", .array(learning.objections.map(JSON.string))),
            ("drifted", .bool(learning.hasDrifted)),
            ("held_until", learning.heldUntil.map { .string($0.description) }),
        ])
    }

    static let rollback = ObjectShape("NativeModelRollback", Int64?.none) {
        Entry("version", .integer(1...Int64.max)) { $0 = $1 }
    }

    static let schema: Schema = .component(
        "NativeModel",
        .object([
            .optional("version", .count), .optional("trained_at", .time), .optional("expires_at", .time),
            .optional("parent", .text), .optional("labels", .count), .required("displays", .count),
            .required("opens", .count), .optional("examined_at", .time), .required("objections", .list(.text)),
            .required("drifted", .flag), .optional("held_until", .time),
        ]))
}
