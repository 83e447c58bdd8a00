internal import PealCore

/// Reads a push into a message. Everything goes into the objects of the platforms that the request names, in the form
/// that the native API gives them; the message's id is the payload's `_k`.
struct DevtodevReader {
    let rules: AddressRules
    let lifeSecondsMax: Int64

    /// What was read.
    struct Request: Sendable {
        let draft: MessageDraft
        /// Of the audience, what could not be read.
        let skipped: [String]
        /// What was left out, for a `Warning`.
        let notes: [String]
        /// What the request calls its Windows object.
        let windowsName: String

        private var platforms: [Platform] { Platform.addressable.filter { draft.content.platforms[$0] != nil } }

        /// - Throws: `conflict` when the app can push to none of the platforms.
        func check(_ records: [CredentialRecord]) throws(PealError) {
            let isConfigured = platforms.contains { platform in
                let environment = draft.content.platforms[platform]?.options.environment ?? .production
                let route = Route(platform, environment)
                return records.contains { $0.provider == route.provider && $0.environment == route.environment }
            }
            guard isConfigured else { throw DevtodevRefusals.notConfigured(platforms.map(\.rawValue)) }
        }
    }

    func request(_ body: Tolerance, id: MessageID, app: App, now: Timestamp) throws(PealError) -> Request {
        let elements = try DevtodevAudience.elements(body)
        let campaign = try body.text("campaign_tag", bytesMax: Limits.campaignIDBytesMax)
        var notes: [String] = []
        var content = Content()
        if let ios = try body.object("ios") {
            content.platforms[.ios] = try DevtodevApple.content(ios, id: id, notes: &notes)
        }
        if let android = try body.object("android") {
            content.platforms[.android] = try DevtodevAndroid.content(android, id: id, notes: &notes)
        }
        var windowsName: String?
        for name in ["uwp", "win", "windows"] {
            guard let windows = try body.object(name) else { continue }
            // The first counts, but nothing wrong is passed over.
            let read = try DevtodevWindows.content(windows, isLegacy: name != "uwp")
            if windowsName == nil { (windowsName, content.platforms[.windows]) = (name, read) }
        }
        guard !content.platforms.isEmpty else { throw DevtodevRefusals.noPlatform }
        let audience = DevtodevAudience(elements, content: content, rules: rules)
        var options = MessageOptions()
        if content.platforms.count == 1 { options.life = content.platforms.values.first?.options.life }
        let draft = MessageDraft(
            id: id, app: app.key, dialect: .devtodev, campaignID: campaign, audience: audience.audience,
            content: content, options: options, createdAt: now,
            expiresAt: Lifetime.end(options, content, start: now, lifeSecondsMax: lifeSecondsMax))
        return Request(
            draft: draft, skipped: audience.skipped, notes: notes, windowsName: windowsName ?? "uwp")
    }
}
