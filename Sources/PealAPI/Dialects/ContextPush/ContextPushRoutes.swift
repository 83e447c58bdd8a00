internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The paths of ContextPush, which schedule and cancel one user's message.
struct ContextPushRoutes: Sendable {
    private let services: APIServices
    private let shapes: ContextPushShapes
    private let policy = ContextPushShapes.policy

    init(_ services: APIServices) {
        self.services = services
        shapes = ContextPushShapes(services.options)
    }

    var all: [Endpoint] {
        [
            Endpoint(.post, "/v1/campaigns/schedule_message_for_user", .contextPush(.send), schedule),
            Endpoint(.post, "/v1/campaigns/cancel_message_for_user", .contextPush(.send), cancel),
        ]
    }

    private func schedule(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let records = try await services.credentialRecords(app)
        let body = try call.object()
        try check(try ContextPushShapes.bundle.value(of: body, policy, now: call.now), app: app, records)
        var draft = try shapes.schedule.value(of: body, policy, now: call.now).draft(
            id: services.newMessageID(at: call.now), app: app.key, now: call.now, services.options)
        draft.content.namesMessage = try await services.namesMessages(app)
        try services.preview.check(draft, app: app, records, spelling: ContextPushSpelling.path)
        let result = try await services.moments.schedule(draft, call.verb)
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
        let records = try await services.credentialRecords(app)
        let body = try call.object()
        try check(try ContextPushShapes.bundle.value(of: body, policy, now: call.now), app: app, records)
        let request = try ContextPushShapes.cancel.value(of: body, policy, now: call.now)
        let moment = try await services.moments.cancel(
            request.target.name(request.key), app: app.key, call.verb
        ).moment
        guard moment.state == .cancelled else { return ContextPushEnvelope.tooLate(moment.state) }
        return Answer(.ok, ["status": "cancelled", "idempotency_key": .string(moment.contextPushKey)])
    }

    /// - Throws: `forbidden` if the bundle does not belong to the key's app.
    private func check(_ bundle: String, app: App, _ records: [CredentialRecord]) throws(PealError) {
        let own = [app.bundleID] + (app.bundleID == nil ? records.map { $0.facts["bundle_id"]?.stringValue } : [])
        guard own.contains(bundle) else {
            throw PealError(.forbidden, "this key does not cover that bundle_id", field: "bundle_id")
        }
    }
}

extension Moment {
    /// The caller's key of the message, or the message's id if the caller gave none.
    var contextPushKey: String { idempotencyKey ?? message.description }
}
