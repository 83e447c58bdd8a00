internal import HTTPTypes
internal import PealCore

/// `POST /v1/push`.
struct PivotalPush: Sendable {
    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var endpoints: [Endpoint] { [Endpoint(.post, "/v1/push", .pivotalApplication(.send), send)] }

    private func send(_ call: Call) async throws -> Answer {
        let app = try call.app()
        let reader = PivotalReader(lifeSecondsMax: services.options.messageLifeSeconds)
        let (draft, timing) = try reader.draft(
            try call.object(), id: services.newMessageID(at: call.now), app: app, createdAt: call.now, now: call.now)
        try services.preview.checkPivotal(draft, app: app, try await services.credentialRecords(app))
        let reply = try await services.messages.send(draft, call.verb) { accepted in
            let name: (String, JSON) =
                draft.startAt == nil
                ? ("receipt_id", .string(accepted.id.description)) : ("schedule_id", .string(accepted.id.scheduleID))
            return Reply(status: 200, .object(JSON.Members([name])))
        }
        var answer = Answer(reply)
        if timing.isSuspicious { answer.headers[.warning] = "299 - \"scheduleIn is in seconds\"" }
        return answer
    }
}

/// Reads a push into a message. The message's id is the `receiptId` in its payloads and the receipt in the answer; the
/// id of a schedule is its first 16 digits.
struct PivotalReader {
    let lifeSecondsMax: Int64

    func draft(
        _ json: JSON, id: MessageID, app: App, createdAt: Timestamp, now: Timestamp
    ) throws(PealError) -> (draft: MessageDraft, timing: PivotalTiming) {
        let body = try Tolerance(json)
        let settings = app.settings
        let timing = try PivotalTiming(body, settings: settings, now: now)
        let audience = try PivotalTarget.audience(body)
        var content = try PivotalContent.content(
            body, receipt: settings[PivotalSettings.sendReceipt] ? id.description : nil)
        var options = MessageOptions()
        if let end = timing.expiresAt {
            options.life = .until(end)
        } else {
            content.platforms[.ios]?.options.life = .until(Timestamp(seconds: Limits.pivotalExpirationSeconds))
        }
        let life = MessageLife(options, content, start: timing.startAt ?? now, secondsMax: lifeSecondsMax)
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .pivotal, audience: audience, content: content, options: options,
            startAt: timing.startAt, createdAt: createdAt, expiresAt: life.end,
            source: timing.startAt == nil ? nil : json.bytes)
        return (draft, timing)
    }
}

extension Identifier where Of == Message {
    /// The dialect's id of a scheduled push: 16 hexadecimal digits.
    var scheduleID: String { Hex.encode(bytes.prefix(8)) }

    /// The message with that id among those that match the filter; nil if there is none.
    static func named(
        _ scheduleID: String, app: AppKey, _ filter: MessageFilter, in store: any StoreReading
    ) throws -> MessageID? {
        guard scheduleID.utf8.count == 16, let bytes = Hex.decode(scheduleID) else { return nil }
        let high = bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let found = try store.messages(app: app, filter, before: MessageID(high: high, low: .max), limit: 1).first
        return found.flatMap { $0.id.high == high ? $0.id : nil }
    }
}

/// Reads the target of a push. `devices` overrides everything else; custom user ids and topics are united; platforms
/// narrow both, or alone address every device on them.
enum PivotalTarget {
    static func audience(_ body: Tolerance) throws(PealError) -> Audience {
        guard let target = try body.object("target") else { throw .missing("target") }
        var audience = Audience()
        audience.interactiveOnly = try target.flag("interactive-only", "interactive_only") ?? false
        let devices = try target.names("devices", countMax: Limits.pivotalDevicesMax)
        let users = try target.names("custom_user_ids", countMax: Limits.pivotalUsersMax)
        let topics = try target.names("topics", "tags", countMax: Limits.audienceTopicsMax)
        guard topics.count <= Limits.audienceTopicsMax else {
            throw .invalid("target.topics", "a target may have at most \(Limits.audienceTopicsMax) topics")
        }
        if isGiven(target, ["devices"]) {
            // Every id from this server is a UUID: no device has any other.
            var seen: Set<DeviceID> = []
            audience.devices = devices.compactMap { DeviceID($0) }.filter { seen.insert($0).inserted }
            return audience
        }
        let platforms = try platforms(target)
        let isNarrow = isGiven(target, ["custom_user_ids", "topics", "tags"])
        guard isNarrow || platforms != nil else {
            throw PealError(
                .missingField, "target must hold devices, topics, platforms, platform or custom_user_ids",
                field: "target")
        }
        audience.users = users.filter { Self.isName($0, bytesMax: Limits.userIDBytesMax) }
        let lowered = Set(topics.map { $0.lowercased() }).filter { Self.isName($0, bytesMax: Limits.topicBytesMax) }
        audience.topics = lowered.sorted()
        audience.includesAll = !isNarrow
        if let platforms, platforms.count < Platform.allCases.count { audience.platforms = platforms }
        return audience
    }

    /// Whether one of the lists has elements. A list of only empty names addresses nobody, never everybody.
    private static func isGiven(_ target: Tolerance, _ names: [String]) -> Bool {
        names.contains { target[$0]?.value.arrayValue?.isEmpty == false }
    }

    /// Whether a user or a topic can have this name; other names address nobody.
    private static func isName(_ text: String, bytesMax: Int) -> Bool {
        text.utf8.count <= bytesMax && text.isPrintable
    }

    /// Of `platforms` and the older `platform`; nil when neither is given.
    private static func platforms(_ target: Tolerance) throws(PealError) -> Set<Platform>? {
        var named = try target.texts("platforms", countMax: Limits.listItemsMax, bytesMax: Limits.nameCharactersMax)
            .enumerated().map { (name: $1, path: "target.platforms[\($0)]") }
        if let older = try target.text("platform") { named.append((older, "target.platform")) }
        guard !named.isEmpty else { return nil }
        var platforms: Set<Platform> = []
        for (name, path) in named {
            if name.lowercased() == "all" {
                platforms.formUnion(Platform.allCases)
            } else if let platform = PivotalPlatform.platform(os: name) {
                platforms.insert(platform)
            } else {
                throw .invalid(path, "platform \(name) is unknown")
            }
        }
        return platforms
    }
}

/// Reads when a push starts and ends.
struct PivotalTiming {
    /// nil to start at once.
    let startAt: Timestamp?
    /// As given; nil for the platforms' own.
    let expiresAt: Timestamp?
    /// Whether `scheduleIn` looks like milliseconds although its unit is seconds.
    let isSuspicious: Bool

    private static let monthSeconds: Int64 = 30 * 24 * 3600

    /// - Throws: `invalid_field` when both schedule fields are set, or a scheduled push would end before it starts.
    init(_ body: Tolerance, settings: AppSettings, now: Timestamp) throws(PealError) {
        let at = try body.milliseconds("scheduleAt")
        var delay = try body.integer("scheduleIn").flatMap { $0 == 0 ? nil : $0 }
        if at != nil, delay != nil {
            throw .invalid("scheduleIn", "scheduleAt and scheduleIn must not both be set")
        }
        isSuspicious = delay.map { $0 > Self.monthSeconds && $0.isMultiple(of: 1000) } ?? false
        if isSuspicious, settings[PivotalSettings.scheduleInMillisHeuristic] { delay = delay.map { $0 / 1000 } }
        if let delay, !(0...Limits.ttlSecondsMax).contains(delay) {
            throw .invalid("scheduleIn", "scheduleIn must be 0 to \(Limits.ttlSecondsMax) seconds")
        }
        let due = at ?? delay.map { now + .seconds($0) }
        let start = due.flatMap { $0 - now > .seconds(Limits.pivotalImmediateSeconds) ? $0 : nil }
        expiresAt = try body.milliseconds("expiryTime")
        if let start, let expiresAt, expiresAt <= start {
            throw .invalid("expiryTime", "expiryTime must be later than the start")
        }
        startAt = start
    }
}

/// `GET /v1/receipts/{id}`: the result of a push. The id of its schedule finds it too.
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
