internal import PealCore

/// Composes the delivery analytics of a completed task in the documented form, one task per request.
struct RichieReport: ReportComposer {
    let form = Webhook.Form(
        kind: "richie_report", body: .item, naming: .headers(id: "X-Idempotency-Key", type: nil))

    func reportsEnds(of dialect: DialectName) -> Bool { dialect == .richie }

    /// - Returns: nil for a message of another dialect.
    func report(_ facts: MessageFacts) -> JSON? {
        let message = facts.report.message
        guard message.dialect == .richie, let source = facts.source,
            let part = try? JSONParser.parse(source, isStored: true)
        else { return nil }
        let total = facts.report.total
        let duration = (message.endedAt ?? message.createdAt) - message.createdAt
        return .compact([
            ("app_id", part["app_id"]), ("completion_time_ms", .integer(max(0, duration.milliseconds))),
            ("deletions", .integer(total.retired)),
            ("external_user_ids", part["external_user_ids"]),
            ("failures", .integer(total.rejected + total.expired + total.suppressed)),
            ("payloads", part["payloads"]), ("successes", .integer(total.accepted)), ("topics", part["topics"]),
        ])
    }

    /// The part of the report that is known when the task is accepted. It is stored with the message.
    static func part(_ task: RichieTask, payloads: JSON.Members) -> JSON {
        func list(_ names: [String]?) -> JSON? { names.map { .array($0.map(JSON.string)) } }
        return .compact([
            ("app_id", .string(task.appID)), ("topics", list(task.topics)),
            ("external_user_ids", list(task.users)), ("payloads", .object(payloads)),
        ])
    }
}
