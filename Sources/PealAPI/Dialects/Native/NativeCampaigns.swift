internal import HTTPTypes
internal import PealCore
internal import PealExperiments
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
            Endpoint(.post, "\(app)/campaigns/:campaign/experiment", .app(.manage), changeShare),
            Endpoint(.post, "\(app)/campaigns/:campaign/model/rollback", .app(.manage), rollBackModel),
        ]
    }

    /// Lists campaigns by name.
    private func list(_ call: Call) async throws -> Answer {
        let list = try NativeList(call.query, by: .name)
        let reports = try await services.verbs.campaigns.reports(
            after: list.name, limit: list.fetchCount, app: try call.app().key)
        return list.answer(reports, cursor: { Array($0.id.utf8) }, json: Self.json)
    }

    private func get(_ call: Call) async throws -> Answer {
        let (app, name) = (try call.app(), call.parameter("campaign"))
        let report = try await services.verbs.campaigns.report(name, app: app.key)
        let experiment = try await services.experiments.report(name, of: app)
        let model = try await services.store.read { store in
            NativeModel(
                try store.learning(app: app.key, campaign: name),
                try store.modelRelease(app: app.key, campaign: name, version: nil))
        }
        var members = Self.json(report).objectValue ?? .init()
        members["experiment"] = experiment.map(NativeExperiment.json)
        members["model"] = model?.json
        return Answer(.ok, .object(members))
    }

    private func changeShare(_ call: Call) async throws -> Answer {
        let share = try call.body(NativeShareChange.request.shape, .native)
        return Answer(
            try await services.experiments.changeShare(
                of: call.parameter("campaign"), in: try call.app(), to: share, call.verb
            ) { change in Reply(status: 200, NativeShareChange.json(change)) })
    }

    /// Rolls a model back, without a body to the one before the newest.
    private func rollBackModel(_ call: Call) async throws -> Answer {
        let wanted = call.body.isEmpty ? nil : try call.body(NativeModel.rollback.shape, .native)
        return Answer(
            try await services.verbs.models.rollBack(
                call.parameter("campaign"), to: wanted, app: try call.app().key, call.verb
            ) { release, learning in
                Reply(status: 200, NativeModel(learning, release)?.json ?? .object(.init()))
            })
    }

    private static func json(_ report: CampaignReport) -> JSON {
        return [
            "id": .string(report.id), "messages": .integer(report.messages),
            "audience": .integer(report.total.devices), "accepted": .integer(report.total.accepted),
            "failed": .integer(report.failed), "pending": .integer(report.total.pending),
            "received": .integer(report.receipts[.received] ?? 0), "opened": .integer(report.receipts[.opened] ?? 0),
            "content_opened": .integer(report.receipts[.contentOpened] ?? 0),
            "reasons": report.total.reasonsJSON,
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
            id: "changeExperimentShare", method: .post, path: "\(app)/campaigns/:campaign/experiment",
            summary: "Change the share of an experiment",
            text: """
                Its figures start over with the messages that are sent from now on; the result so far is kept in \
                `changes`. Users change their arm only as far as the new share requires.
                """,
            body: APIBody(
                schema: NativeShareChange.request.schema(strict), examples: [("promoted", ["share": .number("0.95")])]),
            answers: [APIAnswer(200, "The change, with the result of the run that it ends.", NativeShareChange.schema)],
            refusals: [.notFound, .conflict]),
        APIOperation(
            id: "rollBackModel", method: .post, path: "\(app)/campaigns/:campaign/model/rollback",
            summary: "Reissue an earlier moment model",
            text: "It gets a new version, because devices refuse older ones. For seven days no training replaces it.",
            body: APIBody(schema: NativeModel.rollback.schema(strict), examples: [("former", [:])], isRequired: false),
            answers: [APIAnswer(200, "The model.", NativeModel.schema)], refusals: [.notFound, .conflict]),
    ]
}

/// The experiment of a campaign: its matured messages, by intention to treat.
enum NativeExperiment {
    static func json(_ report: ExperimentReport) -> JSON {
        let facts = report.facts
        var members = JSON.Members([("salt", .string(facts.run.salt)), ("share", json(facts.run.share))])
        members["per_user"] = .bool(facts.run.isPerUser)
        members["started_at"] = .string(facts.run.startedAt.description)
        members["over"] = .bool(facts.isOver)
        members["arms"] = .object(JSON.Members(Arm.allCases.reversed().map { ($0.name, json($0, report)) }))
        members["difference"] = json(report.comparison?.difference)
        members["interval"] = json(report.comparison?.interval())
        members["lift"] = json(report.comparison?.lift)
        members["lift_interval"] = json(report.lift?.interval)
        members["chance_of_gain"] = json(report.comparison?.chanceOfGain)
        members["expected_loss"] = json(report.comparison?.expectedLoss)
        members["variance_ratio"] = json(report.comparison?.varianceRatio)
        members["verdict"] = .string(report.decision.rawValue)
        members["advised_share"] = json(report.advisedShare)
        members["messages_needed"] = report.messagesNeeded.map { .integer($0) } ?? .null
        members["sample_ratio"] = [
            "sound": .bool(!report.alarm.isRaised), "context_aware": .integer(report.alarm.contextAware),
            "traditional": .integer(report.alarm.traditional),
        ]
        members["looks"] = .array(report.looks.map(json))
        members["devices"] = [
            "available": .integer(facts.devices.available), "unknown": .integer(facts.devices.unknown),
            "unavailable": .integer(facts.devices.unavailable), "without_sdk": .integer(facts.devices.withoutSDK),
        ]
        members["delays"] = delays(report)
        members["guardrails"] = .array(report.guardrails.map(json))
        members["changes"] = .array(facts.changes.map(NativeShareChange.json))
        members["contexts"] = .array(contexts(report.contexts))
        members["model_check"] = report.modelCheck.map(NativeModelCheck.json)
        return .object(members)
    }

    private static func json(_ arm: Arm, _ report: ExperimentReport) -> JSON {
        let totals = report.totals(arm)
        var members = JSON.Members([
            ("users", .integer(totals.users)), ("messages", .integer(totals.messages)),
            ("opens", .integer(totals.opens)),
        ])
        for way in ExperimentFacts.Way.allCases { members[way.rawValue] = .integer(report.messages(arm, way)) }
        return .object(members)
    }

    private static func json(_ look: ExperimentReport.Look) -> JSON {
        [
            "at": .string(look.at.description), "difference": json(look.difference), "interval": json(look.interval),
            "lift": json(look.lift?.value),
        ]
    }

    private static func delays(_ report: ExperimentReport) -> JSON {
        let arms = Arm.allCases.reversed().map { ($0.name, report.delays($0)) }
        let ends: [JSON] = ExperimentFacts.delayLimits.map { .number(String($0)) } + [.null]
        return .array(
            ends.enumerated().map { index, end in
                .object(JSON.Members([("minutes_max", end)] + arms.map { ($0.0, .integer($0.1[index])) }))
            })
    }

    private static func json(_ guardrail: Guardrail) -> JSON {
        func json(_ sums: CaseSums) -> JSON {
            ["count": .integer(Int(sums.cases)), "of": .integer(Int(sums.occasions))]
        }
        return [
            "name": .string(guardrail.measure.rawValue), "context_aware": json(guardrail.contextAware),
            "traditional": json(guardrail.traditional), "worse": .bool(guardrail.isWorse),
        ]
    }

    /// The cells with displays.
    private static func contexts(_ map: ContextMap?) -> [JSON] {
        ContextMap.Activity.allCases.flatMap { activity in
            (map?.row(activity) ?? []).enumerated().filter { $1.displays > 0 }.map { index, cell in
                [
                    "activity": .string(activity.rawValue), "from_hour": .integer(index * ContextMap.hoursPerCell),
                    "displays": .integer(cell.displays), "opens": .integer(cell.opens),
                ]
            }
        }
    }

    static func json(_ interval: ClosedRange<Double>?) -> JSON {
        interval.map { .array([json($0.lowerBound), json($0.upperBound)]) } ?? .null
    }

    /// A number with six decimals; null for nil.
    static func json(_ value: Double?) -> JSON {
        guard let value, value.isFinite else { return .null }
        return .number(String((value * 1_000_000).rounded() / 1_000_000))
    }

    static let schema: Schema = {
        let counts = ["users", "messages", "opens"] + ExperimentFacts.Way.allCases.map(\.rawValue)
        let arm = Schema.component("NativeExperimentArm", .object(counts.map { .required($0, .count) }))
        return .component(
            "NativeExperiment",
            .object([
                .required("salt", .text), .required("share", .number), .required("per_user", .flag),
                .required("started_at", .time), .required("over", .flag),
                .required(
                    "arms",
                    .component(
                        "NativeExperimentArms",
                        .object([.required("context_aware", arm), .required("traditional", arm)]))),
                .required("difference", Schema.number.orNull), .required("interval", interval.orNull),
                .required("lift", Schema.number.orNull), .required("lift_interval", interval.orNull),
                .required("chance_of_gain", Schema.number.orNull), .required("expected_loss", Schema.number.orNull),
                .required("variance_ratio", Schema.number.orNull),
                .required("verdict", verdict), .required("advised_share", Schema.number.orNull),
                .required("messages_needed", Schema.count.orNull),
                .required("sample_ratio", sampleRatio), .required("looks", .list(look(interval))),
                .required("devices", devices), .required("delays", .list(delay)),
                .required("guardrails", .list(guardrail)), .required("changes", .list(NativeShareChange.schema)),
                .required("contexts", .list(context)),
                .optional("model_check", NativeModelCheck.schema),
            ]))
    }()

    static let interval = Schema.component("NativeInterval", .list(.number, 2...2))

    static let verdict = Schema.component(
        "NativeVerdict", .words(["undecided", "promote", "revert", "no_difference", "untrustworthy"]))

    private static let sampleRatio = Schema.component(
        "NativeSampleRatio",
        .object([
            .required("sound", .flag), .required("context_aware", .count), .required("traditional", .count),
        ]))

    private static func look(_ interval: Schema) -> Schema {
        .component(
            "NativeExperimentLook",
            .object([
                .required("at", .time), .required("difference", .number), .required("interval", interval),
                .required("lift", Schema.number.orNull),
            ]))
    }

    private static let devices = Schema.component(
        "NativeExperimentDevices",
        .object(["available", "unknown", "unavailable", "without_sdk"].map { .required($0, .count) }))

    private static let guardrail: Schema = {
        let count = Schema.component(
            "NativeGuardrailCount", .object([.required("count", .count), .required("of", .count)]))
        return .component(
            "NativeGuardrail",
            .object([
                .required("name", .words(Guardrail.Measure.allCases.map(\.rawValue))),
                .required("context_aware", count), .required("traditional", count), .required("worse", .flag),
            ]))
    }()

    private static let context = Schema.component(
        "NativeDisplayContext",
        .object([
            .required("activity", .words(ContextMap.Activity.allCases.map(\.rawValue))),
            .required("from_hour", .count), .required("displays", .count), .required("opens", .count),
        ]))

    private static let delay = Schema.component(
        "NativeExperimentDelay",
        .object([
            .required("minutes_max", Schema.count.orNull), .required("context_aware", .count),
            .required("traditional", .count),
        ]))
}

/// The change of an experiment's share, and the result of the run that it ended.
enum NativeShareChange {
    static let request = ObjectShape("NativeShareRequest", 0.0) { Entry(required: "share", .number(0...1)) { $0 = $1 } }

    static func json(_ change: ShareChange) -> JSON {
        let arms = Arm.allCases.reversed().map { arm -> (String, JSON) in
            let count = change.result.arms[arm]
            return (arm.name, ["messages": .integer(count?.messages ?? 0), "opens": .integer(count?.opens ?? 0)])
        }
        return [
            "at": .string(change.at.description), "actor": .string(change.actor),
            "former_share": NativeExperiment.json(change.formerShare), "share": NativeExperiment.json(change.share),
            "verdict": .string(change.result.verdict), "arms": .object(JSON.Members(arms)),
            "lift": NativeExperiment.json(change.result.lift),
            "lift_interval": NativeExperiment.json(change.result.liftInterval),
        ]
    }

    static let schema: Schema = {
        let count = Schema.component(
            "NativeShareChangeArm", .object([.required("messages", .count), .required("opens", .count)]))
        return .component(
            "NativeShareChange",
            .object([
                .required("at", .time), .required("actor", .text), .required("former_share", .number),
                .required("share", .number), .required("verdict", NativeExperiment.verdict),
                .required(
                    "arms",
                    .component(
                        "NativeShareChangeArms",
                        .object([.required("context_aware", count), .required("traditional", count)]))),
                .required("lift", Schema.number.orNull),
                .required("lift_interval", NativeExperiment.interval.orNull),
            ]))
    }()
}
