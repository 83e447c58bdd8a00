internal import Crypto
internal import HTTPTypes
internal import PealCore
internal import PealShapes

/// The paths under `/peal/device/v1`.
struct DeviceRoutes: Sendable {
    static let base = "/peal/device/v1"

    private let services: APIServices

    init(_ services: APIServices) { self.services = services }

    var all: [Endpoint] {
        let base = Self.base
        let registrations = DeviceRegistrations(services)
        return [
            Endpoint(.post, "\(base)/register", .deviceKey, registrations.register),
            Endpoint(.get, "\(base)/web", .deviceKey, registrations.webKey),
            Endpoint(.get, "\(base)/registration", .deviceToken, registrations.show),
            Endpoint(.delete, "\(base)/registration", .deviceToken, registrations.delete),
            Endpoint(.put, "\(base)/topics/:topic", .deviceToken, registrations.subscribe),
            Endpoint(.delete, "\(base)/topics/:topic", .deviceToken, registrations.unsubscribe),
            Endpoint(.post, "\(base)/sync", .deviceToken, sync),
            Endpoint(.get, "\(base)/model", .deviceToken, model),
            Endpoint(.post, "\(base)/messages/:id/claim", .deviceToken, claim),
            Endpoint(.post, "\(base)/messages/:id/events", .deviceToken, messageEvents),
            Endpoint(.post, "\(base)/events", .deviceToken, events),
        ]
    }

    private func sync(_ call: Call) async throws -> Answer {
        let caller = try call.device()
        let body = try call.object()
        let given = try DeviceShapes.sync.value(of: body, .device, now: call.now)
        try caller.check(given.device)
        let (events, unreadable) = Self.sort(given.events, body["events"]?.arrayValue ?? [], of: nil)
        var sync = given.sync
        sync.events = events
        let result = try await services.verbs.installations.sync(
            sync, of: caller.installation.device, app: caller.installation.app, now: call.now)
        return Answer(.ok, Self.json(result, refused: unreadable + result.refused, now: call.now))
    }

    /// The newest signed model of a campaign.
    private func model(_ call: Call) async throws -> Answer {
        let caller = try call.device()
        let release = try await services.verbs.models.newest(
            of: call.query["campaign"] ?? "", app: caller.installation.app, now: call.now)
        let bytes = release.json.bytes
        let tag = "\"\(Hex.encode(Array(SHA256.hash(data: bytes).prefix(16))))\""
        var answer = call.answer(bytes, type: Answer.jsonType, tag: tag)
        answer.headers[.cacheControl] = "private, no-cache"
        return answer
    }

    private func claim(_ call: Call) async throws -> Answer {
        let caller = try call.device()
        let given = try call.body(DeviceShapes.claim.shape, .device)
        try caller.check(given.device)
        let grant = try await services.verbs.installations.claim(
            try call.id("id", of: "message"), for: caller.installation.device, app: caller.installation.app,
            id: given.id, rev: given.rev, score: given.score, now: call.now)
        let now = JSON.string(call.now.withMilliseconds)
        switch grant {
        case .granted(let showBy):
            return Answer(.ok, ["granted": true, "show_by": .string(showBy.withMilliseconds), "now": now])
        case .refused(let reason):
            let error = PealError(.conflict, "the message cannot be claimed: \(reason.rawValue)")
            return Answer(
                .conflict,
                [
                    "granted": false, "reason": .string(reason.rawValue), "now": now,
                    "error": NativeEnvelope.json(error, requestID: call.visit.requestID),
                ])
        }
    }

    private func events(_ call: Call) async throws -> Answer { try await record(call, of: nil) }

    private func messageEvents(_ call: Call) async throws -> Answer {
        try await record(call, of: try call.id("id", of: "message"))
    }

    private func record(_ call: Call, of message: MessageID?) async throws -> Answer {
        let caller = try call.device()
        let elements = try call.array()
        let given = try DeviceShapes.events.value(of: .array(elements), .device, now: call.now)
        let (events, unreadable) = Self.sort(given, elements, of: message)
        let refused = try await services.verbs.installations.record(
            events, of: message, from: caller.installation.device, app: caller.installation.app, now: call.now)
        return Answer(
            .accepted,
            .compact([("now", .string(call.now.withMilliseconds)), ("refused", Self.json(unreadable + refused))]))
    }

    /// Divides events into those that can be stored and those that cannot.
    /// - Parameter message: the message that all of them are about; nil if each names its own.
    private static func sort(
        _ given: [Result<DeviceEvent, PealError>], _ elements: [JSON], of message: MessageID?
    ) -> (events: [DeviceEvent], refused: [RefusedEvent]) {
        var (events, refused): ([DeviceEvent], [RefusedEvent]) = ([], [])
        for (event, element) in zip(given, elements) {
            do throws(PealError) {
                var event = try event.get()
                if let message {
                    guard event.message ?? message == message else {
                        throw .invalid("message", "message must be the one in the path")
                    }
                    event.message = message
                } else if event.kind.needsMessage, event.message == nil {
                    throw .invalid("message", "message is required")
                }
                events.append(event)
            } catch {
                let id = element["event_id"]?.stringValue ?? ""
                refused.append(RefusedEvent(id: id, error: .invalid(error.field ?? "event", error.message)))
            }
        }
        return (events, refused)
    }
}

extension DeviceRoutes {
    private static func json(_ refused: [RefusedEvent]) -> JSON? {
        guard !refused.isEmpty else { return nil }
        return .array(
            refused.map { event in
                [
                    "event_id": .string(event.id), "code": .string(event.error.code.rawValue),
                    "message": .string(event.error.message),
                ]
            })
    }

    private static func json(_ result: SyncResult, refused: [RefusedEvent], now: Timestamp) -> JSON {
        .compact([
            ("now", .string(now.withMilliseconds)),
            ("messages", .array(result.messages.map { json($0, for: result.device) })),
            ("revoked", .array(result.revoked.map { .string($0.description) })),
            ("models", .array(result.models.map(\.json))),
            ("rules", json(result.rules)),
            ("refused", json(refused)), ("next", result.next.map { JSON.string(DeviceShapes.text($0)) } ?? .null),
        ])
    }

    private static func json(_ rules: SendRules) -> JSON {
        .compact([
            ("spacing_seconds", .integer(Limits.displaySpacingSeconds)),
            (
                "frequency_cap",
                rules.frequencyCap.map { ["messages": .integer($0.messages), "hours": .integer($0.hours)] }
            ),
            (
                "quiet_hours",
                rules.quietHours.map {
                    ["from": .string(QuietHours.text($0.from)), "to": .string(QuietHours.text($0.to))]
                }
            ), ("wake_interval_seconds", .integer(Limits.wakeIntervalSeconds)),
        ])
    }

    private static func json(_ open: OpenMoment, for device: Device) -> JSON {
        let moment = open.moment
        let content = DisplayContent(
            open.content, of: moment.message, locale: device.locale, on: device.address.route)
        return .compact([
            ("id", .string(moment.message.description)), ("rev", .integer(moment.rev)),
            ("campaign", open.campaignID.map(JSON.string)), ("claimable", .bool(moment.isClaimable)),
            ("start", .string(open.start.withMilliseconds)),
            ("fallback_at", .string(moment.fallbackAt.withMilliseconds)),
            ("explore", .string(moment.exploration.name)), ("salt", .string(Exploration.salt(of: moment.userID))),
            ("transactional", open.isTransactional ? true : nil), ("content", json(content)),
        ])
    }

    private static func json(_ content: DisplayContent) -> JSON {
        .compact([
            ("title", content.title.map(JSON.string)), ("subtitle", content.subtitle.map(JSON.string)),
            ("body", content.body.map(JSON.string)), ("image_url", content.imageURL.map(JSON.string)),
            ("badge", content.badge.map(JSON.integer)), ("sound", content.sound.map(JSON.string)),
            ("thread_id", content.threadID.map(JSON.string)), ("category", content.category.map(JSON.string)),
            ("interruption_level", content.interruptionLevel.map { .string($0.rawValue) }),
            ("data", content.data.isEmpty ? nil : .object(content.data)),
        ])
    }
}
