internal import PealCore

/// Reads a request to schedule into a message with a window, for one user on one platform.
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
        return MessageDraft(
            id: id, app: app, dialect: .contextpush, campaignID: target.campaignID, audience: audience,
            content: try ContextPushContent.content(
                content, key: target.key ?? id.description, platform: target.platform),
            createdAt: now, expiresAt: until + .seconds(Limits.momentRecoverySeconds), source: source, window: window)
    }

    /// An instant goes before a number of hours.
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
