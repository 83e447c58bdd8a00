internal import PealCore
internal import PealShapes

/// What a message says, as it was given.
struct ContextPushContent: Sendable {
    var title: LocalizedText?
    var subtitle: LocalizedText?
    var body: LocalizedText?
    var givenLocale: String?
    var sound: String?
    var threadID: String?
    var badge: Int64?
    /// The caller's own data.
    var userInfo: Located<JSON.Members>?
    var imageURL: String?

    /// The content of the core. What the notification service extension of existing apps reads, `ctx_image_url` and
    /// `ctx_idempotency_key`, goes beside the caller's own data.
    func content(key: String, platform: Platform) throws(PealError) -> Content {
        var content = Content()
        (content.title, content.subtitle, content.body) = (title, subtitle, body)
        content.defaultLocale = try defaultLocale()
        (content.sound, content.threadID, content.badge) = (sound, threadID, badge)
        if let userInfo {
            if platform == .ios, userInfo.value["aps"] != nil {
                let path = "\(userInfo.path).aps"
                throw .invalid(path, "\(path) is made from the other members of content")
            }
            content.data = userInfo.value
        }
        content.data["ctx_image_url"] = imageURL.map(JSON.string) ?? content.data["ctx_image_url"]
        content.data["ctx_idempotency_key"] = .string(key)
        if platform == .ios {
            // So that the extension runs: for the image, and to report that the alert was shown.
            content.platforms[.ios] = .init(
                fields: JSON.Members([("payload", ["aps": ["mutable-content": 1]])]))
        } else {
            content.imageURL = imageURL
        }
        return content
    }

    /// The locale for devices that have none of the content's, as the texts spell it; nil where nothing is translated.
    /// - Throws: where something is translated: `missing_field` without a default, `invalid_field` for texts in
    ///   different sets of languages, or a default that they lack.
    private func defaultLocale() throws(PealError) -> String? {
        let sets: [(name: String, locales: Set<String>)] = [
            ("title", title), ("subtitle", subtitle), ("body", body),
        ].compactMap { name, text in
            if case .localized(let texts) = text { (name, Set(texts.keys)) } else { nil }
        }
        guard let first = sets.first else { return nil }
        for other in sets.dropFirst()
        where Set(other.locales.map(\.plainLocale)) != Set(first.locales.map(\.plainLocale)) {
            throw .invalid(
                "content.\(other.name)",
                "content.\(other.name) and content.\(first.name) must be translated into the same locales")
        }
        guard let givenLocale else {
            throw PealError(
                .missingField, "content.default_locale is required where texts are translated",
                field: "content.default_locale")
        }
        guard
            let locale = first.locales.contains(givenLocale)
                ? givenLocale : first.locales.first(where: { $0.plainLocale == givenLocale.plainLocale })
        else {
            throw .invalid("content.default_locale", "there is no translation for \(givenLocale)")
        }
        return locale
    }
}
