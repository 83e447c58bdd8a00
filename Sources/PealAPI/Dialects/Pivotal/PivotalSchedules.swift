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
            let messages = try Self.filters.flatMap { filter in
                try store.messages(app: app, filter, before: nil, limit: Limits.schedulesListedMax)
            }
            let newest = messages.sorted { $0.id > $1.id }.prefix(Limits.schedulesListedMax)
            return try newest.compactMap { try Self.schedule($0, in: store) }.map(Self.json)
        }
        return Answer(.ok, .array(items))
    }

    private func get(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let name = call.parameter("id")
        let draft = try await services.store.read(.heavy) { store in try Self.find(name, app: app, in: store) }
        return Answer(.ok, Self.json(draft))
    }

    private func cancel(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let name = call.parameter("id")
        let draft = try await services.store.read { store in try Self.find(name, app: app, in: store) }
        try await whileScheduled(name, app) {
            _ = try await services.verbs.messages.cancel(draft.id, app: app, call.verb) { _ in
                Reply(status: 204, body: [])
            }
        }
        return Answer(.noContent)
    }

    /// Each top-level member of the body replaces the stored member, and only that.
    private func change(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let name = call.parameter("id")
        let given = try call.object().objectValue ?? .init()
        let found = try await services.store.read { store in try Self.find(name, app: app.key, in: store) }
        let reader = PivotalReader(services.options)
        // The schedule may change or start in the meantime, so it is read again in the transaction that writes it.
        let change: @Sendable (MessageDraft) throws(PealError) -> PivotalReader.Reading = { draft throws(PealError) in
            // Another request may have started it since it was found.
            guard draft.source != nil else { throw .notFound("schedule") }
            let merged = Self.merge(given, over: Self.push(of: draft))
            return try reader.draft(changing: draft, given, push: .object(merged), app: app, now: call.now)
        }
        let (_, timing, warnings) = try change(found)
        let records = try await services.sendingFacts(app, for: call.caller).credentials
        try await whileScheduled(name, app.key) {
            _ = try await services.verbs.messages.change(found.id, app: app.key, call.verb) {
                [preview = services.verbs.preview] draft throws(PealError) in
                let changed = try change(draft).draft
                try preview.check(changed, app: app, records, spelling: PivotalSpelling.path)
                draft = changed
                draft.startAt = changed.startAt ?? call.now
            }
        }
        let changed = try await services.store.read { store in try store.draft(app: app.key, id: found.id) }
        var answer = Answer(.ok, ["receipt_id": .string(found.id.description)])
        if let changed, changed.startAt.map({ $0 > call.now }) == true { answer = Answer(.ok, Self.json(changed)) }
        answer.warn(timing.warnings + warnings)
        return answer
    }

    /// Runs an action on a schedule that was found. If it has started or ended since, a conflict means that it is no
    /// longer a schedule.
    /// - Throws: `not_found` then.
    private func whileScheduled(
        _ name: String, _ app: AppKey, _ action: () async throws -> Void
    ) async throws {
        do {
            try await action()
        } catch let refusal as PealError where refusal.code == .conflict {
            _ = try await services.store.read { store in try Self.find(name, app: app, in: store) }
            throw refusal
        }
    }

    /// `scheduleAt` and `scheduleIn` are one setting: a new value of either replaces both, and a body with neither
    /// keeps them. Null changes nothing, except that it removes the expiry.
    private static func merge(_ given: JSON.Members, over push: JSON.Members) -> JSON.Members {
        let starts = ["scheduleAt", "scheduleIn"]
        var merged = push
        if starts.contains(where: { given[$0].map { !isUnset($0) } ?? false }) {
            for name in starts { merged[name] = nil }
        }
        for (name, value) in given.pairs {
            let isLeft = starts.contains(name) ? isUnset(value) : value.isNull && name != "expiryTime"
            if !isLeft { merged[name] = value }
        }
        return merged
    }

    /// Whether a time counts as absent: null, an empty text, or 0 in any spelling.
    private static func isUnset(_ value: JSON) -> Bool {
        value.isNull || value.tolerantInteger == 0 || value.stringValue?.trimmedBlanks.isEmpty == true
    }

    /// Includes paused messages, because an operator may have paused a schedule before its start.
    private static let filters = [Message.State.scheduled, .paused].map { MessageFilter(state: $0, dialect: .pivotal) }

    /// - Throws: `not_found` for a push that is unknown or no longer scheduled.
    private static func find(_ name: String, app: AppKey, in store: any StoreReading) throws -> MessageDraft {
        for filter in filters {
            guard let id = try MessageID.named(name, app: app, filter, in: store),
                let message = try store.message(app: app, id: id), let draft = try schedule(message, in: store)
            else { continue }
            return draft
        }
        throw PealError.notFound("schedule")
    }

    /// nil for a push that has started, or that was changed to start immediately.
    private static func schedule(_ message: Message, in store: any StoreReading) throws -> MessageDraft? {
        guard message.cutoffAt == nil, let draft = try store.draft(app: message.app, id: message.id) else { return nil }
        return draft.source == nil ? nil : draft
    }

    /// The push as received, with its start as an instant.
    private static func push(of draft: MessageDraft) -> JSON.Members {
        var push = draft.source.flatMap { try? JSONParser.parse($0, isStored: true) }?.objectValue ?? .init()
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
