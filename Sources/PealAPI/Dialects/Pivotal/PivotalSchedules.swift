internal import HTTPTypes
internal import PealCore

/// `/v1/schedules`, and `/v1/schedule`, which the documents use too: pushes that have not started.
struct PivotalSchedules: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] {
        ["/v1/schedules", "/v1/schedule"].flatMap { path in
            [
                Endpoint(.get, path, .pivotalApplication(.read), list),
                Endpoint(.get, "\(path)/:id", .pivotalApplication(.read), get),
                Endpoint(.put, "\(path)/:id", .pivotalApplication(.send), change),
                Endpoint(.delete, "\(path)/:id", .pivotalApplication(.send), cancel),
            ]
        }
    }

    /// Answers with a bare array, newest first.
    private func list(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let items = try await services.store.read(.heavy) { store in
            let filter = MessageFilter(state: .scheduled, dialect: .pivotal)
            let messages = try store.messages(app: app, filter, before: nil, limit: Limits.schedulesListedMax)
            let drafts = try messages.compactMap { try store.draft(app: app, id: $0.id) }
            return drafts.filter(Self.isSchedule).map(Self.json)
        }
        return Answer(.ok, .array(items))
    }

    private func get(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let name = call.parameter("id")
        let draft = try await services.store.read { store in try Self.find(name, app: app, in: store) }
        return Answer(.ok, Self.json(draft))
    }

    private func cancel(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let name = call.parameter("id")
        let draft = try await services.store.read { store in try Self.find(name, app: app, in: store) }
        _ = try await services.messages.cancel(draft.id, app: app, call.verb) { _ in Reply(status: 204, body: []) }
        return Answer(.noContent)
    }

    /// Each top-level member of the body replaces the stored member.
    private func change(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let name = call.parameter("id")
        let given = try call.object().objectValue ?? .init()
        let id = try await services.store.read { store in try Self.find(name, app: app.key, in: store).id }
        let reader = PivotalReader(lifeSecondsMax: services.options.messageLifeSeconds)
        let records = try await services.credentialRecords(app)
        _ = try await services.messages.change(id, app: app.key, call.verb) {
            [preview = services.preview] draft throws(PealError) in
            let merged = Self.merge(given, over: Self.push(of: draft))
            let changed = try reader.draft(
                .object(merged), id: id, app: app, createdAt: draft.createdAt, now: call.now
            ).draft
            try preview.check(changed, app: app, records, spelling: PivotalSpelling.path)
            draft = changed
            draft.startAt = changed.startAt ?? call.now
        }
        let changed = try await services.store.read { store in try store.draft(app: app.key, id: id) }
        guard let changed, changed.startAt.map({ $0 > call.now }) == true else {
            return Answer(.ok, ["receipt_id": .string(id.description)])
        }
        return Answer(.ok, Self.json(changed))
    }

    /// `scheduleAt` and `scheduleIn` are one setting: a new value of either replaces both, and a body with neither
    /// keeps them. Null changes nothing, except that it removes the expiry.
    private static func merge(_ given: JSON.Members, over push: JSON.Members) -> JSON.Members {
        let unset: [JSON] = [.null, 0, "0", ""]
        let starts = ["scheduleAt", "scheduleIn"]
        var merged = push
        if starts.contains(where: { given[$0].map { !unset.contains($0) } ?? false }) {
            for name in starts { merged[name] = nil }
        }
        for (name, value) in given.pairs {
            let isLeft = starts.contains(name) ? unset.contains(value) : value.isNull && name != "expiryTime"
            if !isLeft { merged[name] = value }
        }
        return merged
    }

    /// - Throws: `not_found` for a push that is unknown or no longer scheduled.
    private static func find(_ name: String, app: AppKey, in store: any StoreReading) throws -> MessageDraft {
        let filter = MessageFilter(state: .scheduled, dialect: .pivotal)
        guard let id = try MessageID.named(name, app: app, filter, in: store),
            let draft = try store.draft(app: app, id: id), isSchedule(draft)
        else { throw PealError.notFound("schedule") }
        return draft
    }

    /// Whether a push that has not started is a schedule. A push that was changed to start immediately is not.
    private static func isSchedule(_ draft: MessageDraft) -> Bool { draft.source != nil }

    /// The push as received, with its start as an instant.
    private static func push(of draft: MessageDraft) -> JSON.Members {
        var push = draft.source.flatMap { try? JSONParser.parse($0) }?.objectValue ?? .init()
        push["scheduleAt"] = draft.startAt.map { .integer($0.milliseconds) }
        push["scheduleIn"] = 0
        return push
    }

    private static func json(_ draft: MessageDraft) -> JSON {
        let push = push(of: draft)
        var shown = JSON.Members([
            ("scheduleAt", push["scheduleAt"] ?? .null), ("scheduleIn", 0), ("expiryTime", push["expiryTime"] ?? .null),
        ])
        for (name, value) in push.pairs { shown[name] = value }
        return [
            "schedule_id": .string(draft.id.scheduleID),
            "scheduled_for": draft.startAt.map { .integer($0.milliseconds) } ?? .null, "push": .object(shown),
        ]
    }
}
