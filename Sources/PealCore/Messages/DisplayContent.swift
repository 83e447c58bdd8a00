/// What a device displays of a message that it shows itself, in the device's language. It equals what the push network
/// would have delivered.
package struct DisplayContent: Sendable, Hashable {
    package var title: String?
    package var subtitle: String?
    package var body: String?
    package var imageURL: String?
    package var badge: Int64?
    package var sound: String?
    package var threadID: String?
    package var category: String?
    package var interruptionLevel: InterruptionLevel?
    /// The payload's members other than the network's own.
    package var data: JSON.Members

    /// The raw value is part of the API.
    package enum InterruptionLevel: String, CaseIterable, Sendable, Hashable {
        case passive, active
        case timeSensitive = "time_sensitive"
    }

    /// - Parameter locale: the device's.
    package init(_ content: Content, of message: MessageID, locale: String?, on route: Route) {
        let chosen = content.contentLocale(forDevice: locale)
        func text(_ text: LocalizedText?) -> String? { text?.text(for: chosen, fallback: content.defaultLocale) }
        (title, subtitle, body) = (text(content.title), text(content.subtitle), text(content.body))
        (imageURL, badge, sound) = (content.imageURL, content.badge, content.sound)
        (threadID, category) = (content.threadID, content.category)
        data = content.data
        if let reference = content.reference(to: message), data["peal"] == nil { data["peal"] = reference }
        route.display?(content, &self)
    }
}

extension DisplayContent {
    /// Applies the payload for APNs, whose members take precedence over the common fields.
    static func applyAPNs(_ content: Content, to display: inout DisplayContent) {
        guard let payload = content.own(APNsContent.self).payload?.objectValue else { return }
        var others = payload
        others["aps"] = nil
        display.merge(others)
        guard let aps = payload["aps"] else { return }
        if let alert = aps["alert"]?.stringValue { display.body = alert }
        display.title = aps["alert"]?["title"]?.stringValue ?? display.title
        display.subtitle = aps["alert"]?["subtitle"]?.stringValue ?? display.subtitle
        display.body = aps["alert"]?["body"]?.stringValue ?? display.body
        display.badge = aps["badge"]?.integerValue ?? display.badge
        display.sound = aps["sound"]?.stringValue ?? aps["sound"]?["name"]?.stringValue ?? display.sound
        display.threadID = aps["thread-id"]?.stringValue ?? display.threadID
        display.category = aps["category"]?.stringValue ?? display.category
        display.interruptionLevel =
            (aps["interruption-level"]?.stringValue?.replacing("-", with: "_")).flatMap(InterruptionLevel.init)
    }

    /// Applies the `Message` for FCM.
    static func applyFCM(_ content: Content, to display: inout DisplayContent) {
        let message = content.own(FCMContent.self).message
        if let data = message["data"]?.objectValue { display.merge(data) }
        let shown = message["notification"]
        display.title = shown?["title"]?.stringValue ?? display.title
        display.body = shown?["body"]?.stringValue ?? display.body
        display.imageURL = shown?["image"]?.stringValue ?? display.imageURL
    }

    private mutating func merge(_ others: JSON.Members) {
        data = JSON.object(data).merging(.object(others)).objectValue ?? data
    }
}
