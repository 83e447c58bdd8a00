internal import Crypto
internal import HTTPTypes
internal import Logging
internal import PealCore
internal import PealShapes

/// `POST /api/v1/push/send`: accepts a push, waits for the push networks' answers, and returns the counts.
struct DevtodevPush: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    func send(_ call: Call) async throws -> Answer {
        let body = try call.object()
        let given = try DevtodevShapes.caller.value(of: body, .tolerant, now: call.now)
        let named = try await app(given.app)
        let caller = try await Gatekeeper(services).admit(
            // The one in the body takes precedence.
            secret: given.userToken ?? call.query["user_token"], .userToken, for: named, call.visit)
        let app = try Self.app(given.app, named, caller)
        let pack = try DevtodevPack.request(
            DevtodevShapes.pack.value(of: body, .tolerant, now: call.now), call, app: app)
        do {
            return try await send(body, app: app, call.verb(by: caller).with(pack))
        } catch let refusal as PealError where refusal.code == .idempotencyMismatch {
            throw DevtodevRefusals.packRepeated
        } catch let refusal as PealError where refusal.code.httpStatus < 500 {
            // A repeated push gets the first answer even if it has become invalid.
            guard let pack, let kept = try await kept(for: pack, now: call.now) else { throw refusal }
            return try await finish(kept, app: app, pack)
        }
    }

    /// - Throws: `idempotency_mismatch`, naming `pack_id`.
    private func kept(for pack: IdempotentRequest, now: Timestamp) async throws -> Reply? {
        do {
            return try await services.store.answer(keptFor: pack, now: now)
        } catch let refusal as PealError where refusal.code == .idempotencyMismatch {
            throw DevtodevRefusals.packRepeated
        }
    }

    private func send(_ body: JSON, app: App, _ verb: VerbCall) async throws -> Answer {
        let given = try DevtodevShapes.push.value(of: body, .tolerant, now: verb.now)
        let read = try given.draft(
            id: services.newMessageID(at: verb.now), app: app, now: verb.now, services.addressRules, services.options)
        let records = try await services.credentialRecords(app)
        try read.check(records)
        try services.verbs.preview.check(
            read.draft, app: app, records, spelling: DevtodevSpelling(windowsName: given.windowsName).path)
        let reply = try await services.verbs.messages.send(read.draft, verb) { accepted in
            DevtodevPack.accepted(accepted.id, skipped: read.skipped)
        }
        var answer = try await finish(reply, app: app, verb.request)
        answer.warn(read.notes)
        return answer
    }

    /// The final answer: the stored one, or the one at the end of the message.
    private func finish(_ reply: Reply, app: App, _ pack: IdempotentRequest?) async throws -> Answer {
        guard let (id, skipped) = DevtodevPack.pending(reply) else { return Answer(reply) }
        let report = try await end(of: id, app: app.key)
        let json = Self.json(report, skipped: skipped)
        if let pack { await keep(json, for: pack, start: report.message.createdAt) }
        return Answer(.ok, json)
    }

    /// Waits until every device of a message has its outcome.
    /// - Returns: the final report, or the current one after `Limits.devtodevAnswerSeconds`, or sooner if all other
    ///   devices wait longer than that, for example for the end of quiet hours.
    /// - Throws: `not_found` if the message is deleted while this waits.
    private func end(of id: MessageID, app: AppKey) async throws -> MessageReport {
        let time = services.time
        let deadline = time.uptime + .seconds(Limits.devtodevAnswerSeconds)
        var pause = Duration.milliseconds(Limits.devtodevPollMillisecondsMin)
        while true {
            let (found, continuesAt) = try await services.store.read { store in
                (try store.report(app: app, id: id), try store.continuesAt(app: app, message: id))
            }
            guard let report = found else { throw PealError.notFound("message") }
            let left = deadline - time.uptime
            let isOver = report.message.state.isFinal && report.total.pending == 0
            let isInVain = continuesAt.map { $0 > time.now + left } ?? false
            if isOver || isInVain || left <= .zero { return report }
            try await time.sleep(for: min(pause, left))
            pause = min(pause * 2, .milliseconds(Limits.devtodevPollMillisecondsMax))
        }
    }

    /// The result of a push, written twice: in `data`, as the vendor's other endpoints do, and at the top level, where
    /// its documents show the members.
    /// - Parameter skipped: the paths of invalid elements of the audience.
    private static func json(_ report: MessageReport, skipped: [String]) -> JSON {
        let total = report.total
        let erroneous = total.settled - total.accepted
        var details = skipped
        // A network may also give a reason for a push that it accepts.
        if erroneous > 0 { details += total.reasons.keys.sorted() }
        if total.pending > 0 { details.append("queued") }
        let members: [(String, JSON)] = [
            ("audience", .integer(total.devices)), ("successful", .integer(total.accepted)),
            ("erroneous", .integer(erroneous)), ("error_details", .array(details.map(JSON.string))),
        ]
        let data = members + [("message_id", .string(report.message.id.description))]
        return .object(JSON.Members([("status_code", 200), ("data", .object(JSON.Members(data)))] + members))
    }

    /// If this fails, a repeated push waits for the message again.
    private func keep(_ json: JSON, for pack: IdempotentRequest, start: Timestamp) async {
        do {
            try await services.store.write(.rest) { store in
                try DevtodevPack.keep(json, for: pack, in: store, start: start)
            }
        } catch {
            services.logger.warning("the answer to a pack_id was not kept", metadata: ["error": "\(error)"])
        }
    }

    /// The app that the request names; nil if it names none or an unknown one.
    private func app(_ name: String?) async throws -> App? {
        guard let name else { return nil }
        return try await services.store.read { try $0.app(named: name, in: .devtodev) }
    }

    private static func isNamed(_ name: String, _ app: App) -> Bool {
        app.dialectIDs[.devtodev]?.lowercased() == name.lowercased() || AppID(name) == app.id
    }

    /// - Throws: `not_found` for an unknown app, `forbidden` for one that is not the key's.
    /// - Returns: the key's app if several apps have that name.
    private static func app(_ name: String?, _ named: App?, _ caller: Caller) throws(PealError) -> App {
        if let app = caller.app, let name, isNamed(name, app) { return app }
        guard let named else {
            throw PealError(.notFound, "app_id is missing or unknown", field: DevtodevRefusals.app)
        }
        guard caller.key?.serves(named.key) == true else {
            throw PealError(.forbidden, "this user_token belongs to another app")
        }
        return named
    }
}

/// `pack_id`: the id with which a client repeats a push whose answer it lost. Until the message ends, the stored answer
/// contains its id, so that a repetition waits for the same message, even after a restart of the server.
enum DevtodevPack {
    private static let acceptedStatus = 202

    /// nil if the request has no `pack_id`.
    static func request(_ name: String?, _ call: Call, app: App) -> IdempotentRequest? {
        guard let name else { return nil }
        let scope = SHA256.hash(data: Array("devtodev\n\(app.id)".utf8))
        return IdempotentRequest(
            scope: Array(scope), key: name, digest: Array(SHA256.hash(data: call.body)),
            lifeSeconds: Limits.devtodevPackSeconds)
    }

    /// The answer that is stored in the transaction that accepts the message.
    static func accepted(_ id: MessageID, skipped: [String]) -> Reply {
        Reply(
            status: acceptedStatus,
            ["message_id": .string(id.description), "skipped": .array(skipped.map(JSON.string))])
    }

    /// The message that has not ended yet; nil for a final answer.
    static func pending(_ reply: Reply) -> (id: MessageID, skipped: [String])? {
        guard reply.status == acceptedStatus, let json = try? JSONParser.parse(reply.body),
            let id = json["message_id"]?.stringValue.flatMap({ MessageID($0) })
        else { return nil }
        return (id, json["skipped"]?.arrayValue?.compactMap(\.stringValue) ?? [])
    }

    /// Replaces the pending answer with the final one; a final answer stays.
    /// - Parameter start: when the first request arrived: the lifetime of the name counts from then.
    static func keep(
        _ json: JSON, for request: IdempotentRequest, in store: any StoreWriting, start: Timestamp
    ) throws {
        guard let kept = try store.keptAnswer(request, now: start), kept.status == acceptedStatus else { return }
        try store.keepAnswer(KeptAnswer(digest: kept.digest, status: 200, body: json.bytes), to: request, now: start)
    }
}
