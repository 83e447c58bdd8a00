internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// `POST /v1/push`.
struct PivotalPush: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { [Endpoint(.post, "/v1/push", .pivotalApplication(.send), send)] }

    private func send(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let reader = PivotalReader(services.options)
        let (draft, timing, warnings) = try reader.draft(
            try call.object(), id: services.newMessageID(at: call.now), app: app, createdAt: call.now, now: call.now)
        let records = try await services.sendingFacts(app, for: call.caller).credentials
        try services.verbs.preview.check(draft, app: app, records, spelling: PivotalSpelling.path)
        let reply = try await services.verbs.messages.send(draft, call.verb) { accepted in
            let name: (String, JSON) =
                draft.startAt == nil
                ? ("receipt_id", .string(accepted.id.description)) : ("schedule_id", .string(accepted.id.scheduleID))
            return Reply(status: 200, .object(JSON.Members([name])))
        }
        var answer = Answer(reply)
        answer.warn(timing.warnings + warnings)
        return answer
    }
}

/// Reads a push into a message. The message's id is the `receiptId` in its payloads and the receipt in the answer; the
/// id of a schedule is its first 16 digits.
struct PivotalReader {
    private let lifeSecondsMax: Int64
    private let immediateSeconds: Int64

    init(_ options: APIOptions) {
        lifeSecondsMax = options.messageLifeSeconds
        immediateSeconds = options.pivotalImmediateSeconds
    }

    typealias Reading = (draft: MessageDraft, timing: PivotalTiming, warnings: [String])

    func draft(
        _ json: JSON, id: MessageID, app: App, createdAt: Timestamp, now: Timestamp
    ) throws(PealError) -> Reading {
        let push = try PivotalPushShapes.push.value(of: json, .pivotal, now: now)
        let settings = app.settings
        let timing = try PivotalTiming(push, settings: settings, immediateSeconds: immediateSeconds, now: now)
        let audience = try push.target.audience()
        var (content, warnings) = PivotalContent.content(
            push.message, receipt: settings[PivotalSettings.sendReceipt] ? id.description : nil)
        var options = MessageOptions()
        Self.setEnd(timing.expiresAt, of: &options, &content, now: now)
        let life = MessageLife(options, content, start: timing.startAt ?? now, secondsMax: lifeSecondsMax)
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .pivotal, audience: audience, content: content, options: options,
            startAt: timing.startAt, createdAt: createdAt, expiresAt: life.end,
            source: timing.startAt == nil ? nil : json.bytes)
        return (draft, timing, warnings)
    }

    private static func setEnd(
        _ end: Timestamp?, of options: inout MessageOptions, _ content: inout Content, now: Timestamp
    ) {
        options.life = end.map(MessageOptions.Life.until)
        content.platforms[.ios]?.options.life =
            end == nil ? .until(Timestamp(seconds: Limits.pivotalExpirationSeconds)) : nil
        // A push that has expired is not sent, whatever its `ttl`.
        if let end, end <= now { content.platforms[.windows]?.options.life = nil }
    }

    /// A changed schedule. What the native API or the console has changed since stays, unless the request replaces it.
    /// - Parameters:
    ///   - given: the members of the request.
    ///   - push: the push with these members.
    func draft(
        changing stored: MessageDraft, _ given: JSON.Members, push: JSON, app: App, now: Timestamp
    ) throws(PealError) -> Reading {
        let (read, timing, warnings) = try draft(push, id: stored.id, app: app, createdAt: stored.createdAt, now: now)
        var draft = stored
        (draft.startAt, draft.source) = (read.startAt, read.source)
        if draft.startAt != stored.startAt { draft.options.recipientsTime = nil }
        if given.replaces("target") { draft.audience = read.audience }
        if given.replaces("message") {
            draft.content = read.content
            if draft.options.life != nil { draft.content.platforms[.ios]?.options.life = nil }
        }
        if given["expiryTime"] != nil {
            Self.setEnd(timing.expiresAt, of: &draft.options, &draft.content, now: now)
        }
        let start = draft.options.recipientsTime.map { MessageLife.lastStart(of: $0) } ?? draft.startAt ?? now
        draft.expiresAt = MessageLife(draft.options, draft.content, start: start, secondsMax: lifeSecondsMax).end
        if let start = draft.startAt, draft.expiresAt <= start { throw PivotalTiming.endsEarly }
        return (draft, timing, warnings)
    }
}

extension JSON.Members {
    /// Whether a change has a new value for the member.
    fileprivate func replaces(_ name: String) -> Bool { self[name].map { !$0.isNull } ?? false }
}

extension Identifier where Of == Message {
    /// The dialect's id of a scheduled push: 16 hexadecimal digits.
    var scheduleID: String { Hex.encode(bytes.prefix(8)) }

    /// The matching message with that schedule id; nil if there is none.
    static func named(
        _ scheduleID: String, app: AppKey, _ filter: MessageFilter, in store: any StoreReading
    ) throws -> MessageID? {
        guard scheduleID.utf8.count == 16, let bytes = Hex.decode(scheduleID) else { return nil }
        let high = bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let found = try store.messages(app: app, filter, before: MessageID(high: high, low: .max), limit: 1).first
        return found.flatMap { $0.id.high == high ? $0.id : nil }
    }
}

/// When a push starts and ends.
struct PivotalTiming {
    /// nil to start immediately.
    let startAt: Timestamp?
    /// As the request states it; nil for the platforms' defaults.
    let expiresAt: Timestamp?
    /// About a `scheduleIn` that looks like milliseconds although its unit is seconds.
    let warnings: [String]

    private static let monthSeconds: Int64 = 30 * 24 * 3600

    /// - Parameter immediateSeconds: a push that is due sooner starts immediately.
    /// - Throws: `invalid_field` when a scheduled push would end before it starts.
    init(
        _ push: PivotalPushDraft, settings: AppSettings, immediateSeconds: Int64, now: Timestamp
    ) throws(PealError) {
        var delay = push.delay
        let isSuspicious = delay.map { $0 > Self.monthSeconds && $0.isMultiple(of: 1000) } ?? false
        let isInMilliseconds = isSuspicious && settings[PivotalSettings.scheduleInMillisHeuristic]
        if isInMilliseconds { delay = delay.map { $0 / 1000 } }
        let unit = isInMilliseconds ? "was read as milliseconds" : "is in seconds"
        warnings = isSuspicious ? ["scheduleIn \(unit)"] : []
        if let delay, !(0...Limits.ttlSecondsMax).contains(delay) {
            throw .invalid("scheduleIn", "scheduleIn must be 0 to \(Limits.ttlSecondsMax) seconds")
        }
        let due = push.at ?? delay.map { now + .seconds($0) }
        let start = due.flatMap { $0 > now && $0 - now >= .seconds(immediateSeconds) ? $0 : nil }
        expiresAt = push.expiry
        if let start, let expiresAt, expiresAt <= start {
            throw Self.endsEarly
        }
        startAt = start
    }

    static let endsEarly = PealError.invalid("expiryTime", "expiryTime must be later than the start")
}

/// `GET /v1/receipts/{id}`: the result of a push. The id of its schedule also identifies it.
struct PivotalReceipts: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { [Endpoint(.get, "/v1/receipts/:id", .pivotalApplication(.read), get)] }

    private func get(_ call: Call) async throws -> Answer {
        let app = try call.app().key
        let name = call.parameter("id")
        let report = try await services.store.read { store in
            let id = try MessageID(name) ?? .named(name, app: app, MessageFilter(), in: store)
            return try id.flatMap { try store.report(app: app, id: $0) }
        }
        guard let report, report.message.dialect == .pivotal else { throw PealError.notFound("receipt") }
        let platforms = report.platforms.map { (PivotalPlatform.os($0.key), $0.value.nativeJSON) }
        return Answer(
            .ok,
            [
                "receipt_id": .string(report.message.id.description), "state": .string(report.message.state.name),
                "devices": .integer(report.total.devices), "counts": report.total.nativeJSON,
                "received": .integer(report.receipts[.received] ?? 0),
                "opened": .integer(report.receipts[.opened] ?? 0),
                "platforms": .object(JSON.Members(platforms.sorted { $0.0 < $1.0 })),
            ])
    }
}
