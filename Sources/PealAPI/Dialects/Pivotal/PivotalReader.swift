internal import PealCore

/// Reads a push into a message. The message's id is the `receiptId` in its payloads and the receipt in the answer; a
/// scheduled one is known by its first 16 digits.
struct PivotalReader {
    let lifeSecondsMax: Int64

    func draft(
        _ json: JSON, id: MessageID, app: App, createdAt: Timestamp, now: Timestamp
    ) throws(PealError) -> (draft: MessageDraft, timing: PivotalTiming) {
        let body = try Tolerance(json)
        let settings = app.settings.pivotal
        let timing = try PivotalTiming(body, settings: settings, now: now)
        let audience = try PivotalTarget.audience(body)
        var content = try PivotalContent.content(body, receipt: settings.sendReceipt ? id.description : nil)
        var options = MessageOptions()
        if let end = timing.expiresAt {
            options.life = .until(end)
        } else {
            content.platforms[.ios]?.options.life = .until(Timestamp(seconds: Limits.pivotalExpirationSeconds))
        }
        let end = Lifetime.end(
            options, content, start: timing.startAt ?? now, lifeSecondsMax: lifeSecondsMax)
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .pivotal, audience: audience, content: content, options: options,
            startAt: timing.startAt, createdAt: createdAt, expiresAt: end,
            source: timing.startAt == nil ? nil : json.bytes)
        return (draft, timing)
    }
}

extension Identifier where Of == Message {
    /// The dialect's name of a scheduled push: 16 hexadecimal digits.
    var scheduleID: String { Hex.encode(bytes.prefix(8)) }

    /// The message that the dialect calls so, among those that suit the filter; nil when there is none.
    static func named(
        _ scheduleID: String, app: AppKey, _ filter: MessageFilter, in store: any StoreReading
    ) throws -> MessageID? {
        guard scheduleID.utf8.count == 16, let bytes = Hex.decode(scheduleID) else { return nil }
        let high = bytes.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let found = try store.messages(app: app, filter, before: MessageID(high: high, low: .max), limit: 1).first
        return found.flatMap { $0.id.high == high ? $0.id : nil }
    }
}
