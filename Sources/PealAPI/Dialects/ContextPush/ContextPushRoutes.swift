internal import Crypto
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
        let body = try call.object()
        let app = try await app(
            try ContextPushShapes.bundle.value(of: body, policy, now: call.now), call)
        let digest = Array(SHA256.hash(data: body.sorted.bytes))
        do {
            return try await schedule(body, app, digest: digest, call)
        } catch let refusal as PealError where refusal.code.httpStatus < 500 {
            // A repetition gets the first answer even if the request would now be refused, such as after its
            // target_delivery_time.
            let request = Moment.Request(digest: digest, at: call.now)
            guard let moment = try await repeated(body, app, request, now: call.now) else { throw refusal }
            return Self.answer(moment)
        }
    }

    /// The message that `request` repeats; nil if it would be a new message.
    private func repeated(
        _ body: JSON, _ app: App, _ request: Moment.Request, now: Timestamp
    ) async throws -> Moment? {
        guard let named = try? ContextPushShapes.cancel.value(of: body, policy, now: now) else { return nil }
        let moment = try await services.store.read { store in
            try store.moment(app: app.key, named: named.target.name(named.key))
        }
        guard let moment, moment.state != .cancelled, moment.isRepeated(by: request) else { return nil }
        return moment
    }

    private func schedule(_ body: JSON, _ app: App, digest: [UInt8], _ call: Call) async throws -> Answer {
        let request = try shapes.schedule.value(of: body, policy, now: call.now)
        var (draft, warnings) = try request.draft(
            id: services.newMessageID(at: call.now), app: app, digest: digest, now: call.now, services.options)
        let facts = try await services.sendingFacts(app, for: call.caller)
        draft.content.namesMessage = facts.namesMessages
        try services.verbs.preview.check(draft, app: app, facts.credentials, spelling: ContextPushSpelling.path)
        let result = try await services.verbs.moments.schedule(draft, call.verb)
        var answer = Self.answer(result.moment)
        answer.warn(warnings)
        return answer
    }

    private static func answer(_ moment: Moment) -> Answer {
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
        let body = try call.object()
        let app = try await app(
            try ContextPushShapes.bundle.value(of: body, policy, now: call.now), call)
        let request = try ContextPushShapes.cancel.value(of: body, policy, now: call.now)
        let moment = try await services.verbs.moments.cancel(
            request.target.name(request.key), app: app.key, call.verb
        ).moment
        guard moment.state == .cancelled else { return ContextPushEnvelope.tooLate(moment.state) }
        return Answer(.ok, ["status": "cancelled", "idempotency_key": .string(moment.contextPushKey)])
    }

    /// The app of the key with that bundle id. An app without one has the bundle id of its APNs credential.
    /// - Throws: `forbidden` if none of the key's apps has it.
    private func app(_ bundle: String, _ call: Call) async throws -> App {
        let found = try await services.store.read { store in
            let apps = try call.apps(in: store)
            return try apps.first { $0.bundleID == bundle }
                ?? apps.first { app in
                    guard app.bundleID == nil else { return false }
                    return try store.credentialRecords(app: app.key).contains {
                        $0.facts["bundle_id"]?.stringValue == bundle
                    }
                }
        }
        guard let found else {
            throw PealError(.forbidden, "this key does not cover that bundle_id", field: "bundle_id")
        }
        return found
    }
}

extension Moment {
    /// The caller's key of the message, or the message's id if the caller gave none.
    var contextPushKey: String { idempotencyKey ?? message.description }
}
