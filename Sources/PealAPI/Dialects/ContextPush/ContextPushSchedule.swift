internal import PealCore

/// The user, platform and campaign that a request is about.
struct ContextPushTarget: Sendable {
    var platform = Platform.ios
    var userID = ""
    var campaignID = ""

    /// The name by which a later request finds the message.
    func name(_ key: String) -> MomentName {
        MomentName(platform: platform, userID: userID, campaignID: campaignID, key: key)
    }
}

/// A request to cancel a message.
struct ContextPushCancel: Sendable {
    var bundleID = ""
    var target = ContextPushTarget()
    var key = ""
}

/// A request to show a message to one user at a good moment.
struct ContextPushSchedule: Sendable {
    var bundleID = ""
    var target = ContextPushTarget()
    /// nil if the server chooses the key.
    var key: String?
    /// Takes precedence over a number of hours.
    var end: Timestamp?
    var hours: Result<Double, PealError>?
    var method = DeliveryWindow.Method.experiment
    var content: (value: ContextPushContent, source: JSON) = (ContextPushContent(), .null)

    /// The message: with a delivery window, for one user on one platform.
    /// - Parameter digest: of the body, to recognize a repetition.
    /// - Returns: the message, and warnings about unusual but accepted values.
    func draft(
        id: MessageID, app: App, digest: [UInt8], now: Timestamp, _ options: APIOptions
    ) throws(PealError) -> (draft: MessageDraft, warnings: [String]) {
        let end = try windowEnd(now: now)
        let source = content.source.bytes
        guard source.count <= Limits.contextPushContentBytesMax else {
            throw PealError(
                .payloadTooLarge, "content may be at most \(Limits.contextPushContentBytesMax) bytes long",
                field: "content")
        }
        var audience = Audience()
        audience.users = [target.userID]
        audience.platforms = [target.platform]
        let (sent, notes) = try content.value.content(key: key ?? id.description, platform: target.platform)
        let window = DeliveryWindow(
            until: end, method: method, holdSeconds: options.contextPushHoldSeconds, name: key.map(target.name),
            request: key.map { _ in Moment.Request(digest: digest, at: now) },
            graceSeconds: app.settings[.windowGrace].seconds)
        let life = MessageLife(
            MessageOptions(), sent, window: window, start: now, secondsMax: options.messageLifeSeconds)
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .contextPush, campaignID: target.campaignID, audience: audience,
            content: sent, createdAt: now, expiresAt: life.end, source: source, window: window)
        let emptyUserNotes = target.userID.isEmpty ? ["user_id is empty: no device has it"] : []
        return (draft, emptyUserNotes + notes)
    }

    private func windowEnd(now: Timestamp) throws(PealError) -> Timestamp {
        if let end { return end }
        guard let hours = try hours?.get() else { return now }
        return now + .milliseconds(max(1, Int64(hours * 3_600_000)))
    }
}
