internal import HTTPTypes
internal import PealCore

/// The paths of ContextPush: to schedule and to cancel one person's message.
struct ContextPushRoutes: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] {
        [
            Endpoint(.post, "/v1/campaigns/schedule_message_for_user", .contextPush(.send), schedule),
            Endpoint(.post, "/v1/campaigns/cancel_message_for_user", .contextPush(.send), cancel),
        ]
    }

    private func schedule(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let records = try await services.credentialRecords(app)
        let body = try Tolerance(try call.object()).withoutLineEnds()
        try ContextPushTarget.checkBundle(body, app: app, records)
        let draft = try ContextPushReader(limits: services.options).draft(
            body, id: services.newMessageID(at: call.now), app: app.key, now: call.now)
        try services.preview.checkContextPush(draft, app: app, records)
        let result = try await services.moments.schedule(draft)
        let moment = result.moment
        let status = moment.state == .open ? "scheduled" : moment.state.status.rawValue
        return Answer(
            .ok,
            [
                "status": .string(status), "idempotency_key": .string(moment.contextPushKey),
                "delivery_method": .string(moment.plannedArm.name),
                "deliver_until": .string(moment.deadline.description),
            ])
    }

    private func cancel(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let body = try Tolerance(try call.object()).withoutLineEnds()
        try ContextPushTarget.checkBundle(body, app: app, try await services.credentialRecords(app))
        let target = try ContextPushTarget(body)
        guard let name = target.name else { throw PealError.missing("idempotency_key") }
        let moment = try await services.moments.cancel(name, app: app.key, call.verb).moment
        guard moment.state == .cancelled else { return ContextPushEnvelope.tooLate(moment.state) }
        return Answer(.ok, ["status": "cancelled", "idempotency_key": .string(moment.contextPushKey)])
    }
}

extension Moment {
    /// The caller's key of the message, or the one that the server made for it.
    var contextPushKey: String { idempotencyKey ?? message.description }
}
