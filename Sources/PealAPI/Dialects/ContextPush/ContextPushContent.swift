internal import PealCore
internal import PealShapes

/// The content of a message as received.
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

    /// The core's content. `ctx_image_url` and `ctx_idempotency_key`, which the notification service extension of
    /// existing apps reads, are added to the caller's own data.
    /// - Returns: the content, and warnings about removed members.
    func content(
        key: String, platform: Platform
    ) throws(PealError) -> (content: Content, warnings: [String]) {
        var content = Content()
        var warnings: [String] = []
        (content.title, content.subtitle, content.body) = (title, subtitle, body)
        content.defaultLocale = try defaultLocale()
        (content.sound, content.threadID, content.badge) = (sound, threadID, badge)
        // For phones that show the message themselves, and for Android; the extension reads `ctx_image_url`.
        content.imageURL = imageURL
        if let userInfo {
            if platform == .ios, userInfo.value["aps"] != nil {
                let path = "\(userInfo.path).aps"
                throw .invalid(path, "\(path) is derived from the other members of content")
            }
            content.data = userInfo.value
            if platform == .android {
                warnings += FCMContent.removeReserved(from: &content.data, userInfo.path)
            }
        }
        content.data["ctx_image_url"] = imageURL.map(JSON.string) ?? content.data["ctx_image_url"]
        content.data["ctx_idempotency_key"] = .string(key)
        if platform == .ios {
            // Starts the extension, which loads the image and reports that the alert was shown.
            content.platforms[.ios] = .init(APNsContent(payload: JSON.Members([("aps", ["mutable-content": 1])])))
        }
        return (content, warnings)
    }

    /// The locale for devices whose own locale the content lacks, spelled as in the texts; nil if nothing is localized.
    /// - Throws: for localized texts: `missing_field` without a default, `invalid_field` if the texts have different
    ///   sets of languages or lack the default.
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
                .missingField, "content.default_locale is required if texts are translated",
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
