internal import HTTPTypes
internal import Logging
internal import PealCore

/// `POST /api/v1/push/send`: accepts a push, waits for what the push networks say, and answers with the counts.
struct DevtodevPush: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { [Endpoint(.post, "/api/v1/push/send", .userToken, send)] }

    private func send(_ call: Call) async throws -> Answer {
        let body = try Tolerance(try call.object())
        let named = try await app(body)
        let caller = try await Gatekeeper(services).admit(
            userToken: Self.userToken(body, call.query), for: named, now: call.now)
        let app = try Self.app(body, named, caller)
        let pack = try DevtodevPack.request(body, call, app: app)
        do {
            return try await send(body, app: app, VerbCall(actor: caller.name, now: call.now, request: pack))
        } catch let refusal as PealError where refusal.code.httpStatus < 500 && refusal.code != .idempotencyMismatch {
            // A repetition that would be refused by now gets what it was told the first time.
            guard let pack, let kept = try await services.store.answer(keptFor: pack, now: call.now) else {
                throw refusal
            }
            return try await finish(kept, app: app, pack)
        }
    }

    private func send(_ body: Tolerance, app: App, _ verb: VerbCall) async throws -> Answer {
        let reader = DevtodevReader(rules: services.addressRules, lifeSecondsMax: services.options.messageLifeSeconds)
        let request = try reader.request(body, id: services.newMessageID(at: verb.now), app: app, now: verb.now)
        let records = try await services.credentialRecords(app)
        try request.check(records)
        do {
            try services.preview.check(request.draft, app: app, records)
        } catch {
            throw error.inDevtodevTerms(windowsName: request.windowsName)
        }
        let reply = try await services.messages.send(request.draft, verb) { accepted in
            DevtodevPack.accepted(accepted.id, skipped: request.skipped)
        }
        var answer = try await finish(reply, app: app, verb.request)
        if let note = request.notes.first { answer.headers[.warning] = "299 - \"\(note)\"" }
        return answer
    }

    /// The final answer: as it was kept, or once the message has ended.
    private func finish(_ reply: Reply, app: App, _ pack: IdempotentRequest?) async throws -> Answer {
        guard let (id, skipped) = DevtodevPack.pending(reply) else { return Answer(reply) }
        let report = try await DevtodevWait(services).end(of: id, app: app.key)
        let json = DevtodevAnswer.json(report, skipped: skipped)
        if let pack { await keep(json, for: pack, start: report.message.createdAt) }
        return Answer(.ok, json)
    }

    /// A repetition waits for the message again where this fails.
    private func keep(_ json: JSON, for pack: IdempotentRequest, start: Timestamp) async {
        do {
            try await services.store.write(.rest) { store in
                try DevtodevPack.keep(json, for: pack, in: store, start: start)
            }
        } catch {
            services.logger.warning("the answer to a pack_id was not kept", metadata: ["error": "\(error)"])
        }
    }

    /// The body's where both are given.
    private static func userToken(_ body: Tolerance, _ query: Query) -> String? {
        body["user_token"].flatMap { Tolerance.plainText($0.value) } ?? query["user_token"]
    }

    /// The app that the request names; nil for none, or one that there is not.
    private func app(_ body: Tolerance) async throws -> App? {
        guard let name = body["app_id"].flatMap({ Tolerance.plainText($0.value) }) else { return nil }
        return try await services.store.read { store in
            try store.app(devtodevAppID: name) ?? AppID(name).flatMap { try store.app($0) }
        }
    }

    /// - Throws: `not_found` for an app that there is not, `forbidden` for one that is not the key's.
    /// Of several apps of that name it is the key's.
    private static func app(_ body: Tolerance, _ named: App?, _ caller: Caller) throws(PealError) -> App {
        let name = body["app_id"].flatMap { Tolerance.plainText($0.value) }
        if let app = caller.app, let name, app.devtodevAppID?.lowercased() == name.lowercased() { return app }
        guard let named else {
            throw PealError(.notFound, "app_id is missing or unknown", field: DevtodevRefusals.app)
        }
        guard named.key == caller.app?.key else {
            throw PealError(.forbidden, "this user_token belongs to another app")
        }
        return named
    }
}
