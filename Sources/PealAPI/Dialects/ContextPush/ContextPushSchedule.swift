internal import PealCore

/// Reads a request to schedule into a message with a delivery window, for one user on one platform.
struct ContextPushReader {
    let limits: APIOptions

    func draft(_ body: Tolerance, id: MessageID, app: AppKey, now: Timestamp) throws(PealError) -> MessageDraft {
        let target = try ContextPushTarget(body)
        let until = try end(body, now: now)
        let window = DeliveryWindow(
            until: until, method: try method(body), holdSeconds: limits.contextPushHoldSeconds, name: target.name)
        guard let content = try body.object("content") else { throw .missing("content") }
        let source = JSON.object(content.members).bytes
        guard source.count <= Limits.contextPushContentBytesMax else {
            throw PealError(
                .payloadTooLarge, "content may have \(Limits.contextPushContentBytesMax) bytes", field: "content")
        }
        var audience = Audience()
        audience.users = [target.userID]
        audience.platforms = [target.platform]
        let sent = try ContextPushContent.content(
            content, key: target.key ?? id.description, platform: target.platform)
        let life = MessageLife(
            MessageOptions(), sent, window: window, start: now, secondsMax: limits.messageLifeSeconds)
        return MessageDraft(
            id: id, app: app, dialect: .contextPush, campaignID: target.campaignID, audience: audience,
            content: sent, createdAt: now, expiresAt: life.end, source: source, window: window)
    }

    /// An instant takes precedence over a number of hours.
    private func end(_ body: Tolerance, now: Timestamp) throws(PealError) -> Timestamp {
        let latest = now + .seconds(limits.contextPushWindowSecondsMax)
        let hoursMax = limits.contextPushWindowSecondsMax / 3600
        if let until = try body.time("target_delivery_time") {
            guard until > now, until <= latest else {
                throw .invalid(
                    "target_delivery_time", "target_delivery_time must lie ahead, at most \(hoursMax) hours")
            }
            return until
        }
        guard let hours = try body.decimal("deliver_within_hours") else {
            throw PealError(
                .missingField, "deliver_within_hours or target_delivery_time is required",
                field: "deliver_within_hours")
        }
        guard hours > 0, hours <= Double(hoursMax) else {
            throw .invalid(
                "deliver_within_hours", "deliver_within_hours must be more than 0 and at most \(hoursMax)")
        }
        return now + .milliseconds(max(1, Int64(hours * 3_600_000)))
    }

    private func method(_ body: Tolerance) throws(PealError) -> DeliveryWindow.Method {
        guard let word = try body.text("delivery_method") else { return .experiment }
        guard let method = DeliveryWindow.Method(rawValue: word.lowercased()) else {
            throw .invalid("delivery_method", "delivery_method must be context_aware or traditional")
        }
        return method
    }
}

/// Reads which message of which user a request is about.
struct ContextPushTarget {
    let platform: Platform
    let userID: String
    let campaignID: String
    /// nil if the caller leaves it to the server.
    let key: String?

    init(_ body: Tolerance) throws(PealError) {
        guard let word = try body.text("platform") else { throw .missing("platform") }
        guard let platform = Platform(rawValue: word.lowercased()), [.ios, .android].contains(platform) else {
            throw .unsupported("platform", "platform must be ios or android")
        }
        self.platform = platform
        guard let user = try body.text("user_id", bytesMax: Limits.userIDBytesMax) else { throw .missing("user_id") }
        userID = user
        guard let campaign = try body.text("campaign_id", bytesMax: Limits.campaignIDBytesMax) else {
            throw .missing("campaign_id")
        }
        campaignID = campaign
        key = try body.text("idempotency_key", bytesMax: Limits.contextPushKeyBytesMax)
    }

    /// The name under which a later request finds the message.
    var name: MomentName? {
        key.map { MomentName(platform: platform, userID: userID, campaignID: campaignID, key: $0) }
    }

    /// - Throws: `forbidden` if the key's app does not have that bundle id.
    static func checkBundle(_ body: Tolerance, app: App, _ records: [CredentialRecord]) throws(PealError) {
        guard let bundle = try body.text("bundle_id") else { throw .missing("bundle_id") }
        let own = [app.bundleID] + (app.bundleID == nil ? records.map { $0.facts["bundle_id"]?.stringValue } : [])
        guard own.contains(bundle) else {
            throw PealError(.forbidden, "this key does not cover that bundle_id", field: "bundle_id")
        }
    }
}

extension Tolerance {
    /// The same object without the line ends that templates leave behind values (`{{ user.id }}` and a new line).
    /// - Parameter kept: members that stay as they are written.
    func withoutLineEnds(except kept: Set<String> = []) throws(PealError) -> Tolerance {
        var trimmed = members
        for (name, value) in members.pairs where !kept.contains(name) {
            guard let text = value.stringValue else { continue }
            // By bytes: Swift takes a carriage return with its line feed for one character, and knows other line ends.
            let end = text.utf8.reversed().prefix { $0 == 0x0A || $0 == 0x0D }.count
            if end > 0, let start = String(text.utf8.dropLast(end)) { trimmed[name] = .string(start) }
        }
        return try Tolerance(.object(trimmed), path: path)
    }
}
