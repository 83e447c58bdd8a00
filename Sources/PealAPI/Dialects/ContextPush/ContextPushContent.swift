internal import PealCore

/// Reads the content of a message. The notification service extension of existing apps reads `ctx_image_url` and
/// `ctx_idempotency_key`, which are added to the caller's own data.
enum ContextPushContent {
    static func content(
        _ given: Tolerance, key: String, platform: Platform
    ) throws(PealError) -> Content {
        let fields = try given.withoutLineEnds(except: ["title", "subtitle", "body"])
        var content = Content()
        content.title = try text(fields, "title")
        content.subtitle = try text(fields, "subtitle")
        content.body = try text(fields, "body")
        guard content.body != nil else { throw .missing("content.body") }
        content.defaultLocale = try defaultLocale(fields, content)
        content.sound = try fields.contentText(["sound"])
        content.threadID = try fields.contentText(["thread-id", "thread_id", "threadId"])
        content.badge = try badge(fields)
        if let (value, path) = fields["userInfo", "user_info"] {
            guard let members = value.objectValue else {
                throw .invalid(path, "\(path) must be an object, not \(value.typeName)")
            }
            try ControlCharacters.refuse(in: value, path, except: ControlCharacters.inContent)
            if platform == .ios, members["aps"] != nil {
                throw .invalid("\(path).aps", "\(path).aps is made from the other members of content")
            }
            content.data = members
        }
        let image = try imageURL(fields)
        content.data["ctx_image_url"] = image.map(JSON.string) ?? content.data["ctx_image_url"]
        content.data["ctx_idempotency_key"] = .string(key)
        if platform == .ios {
            // So that the extension runs: for the image, and to report that the alert was shown.
            content.platforms[.ios] = .init(
                fields: JSON.Members([("payload", ["aps": ["mutable-content": 1]])]))
        } else {
            content.imageURL = image
        }
        return content
    }

    /// A string, or one for each locale.
    private static func text(_ fields: Tolerance, _ name: String) throws(PealError) -> LocalizedText? {
        guard let (value, path) = fields[name] else { return nil }
        guard value.objectValue != nil else { return try fields.contentText([name]).map(LocalizedText.plain) }
        let given = try Tolerance(value, path: path)
        guard given.members.count <= Limits.localesPerMessageMax else {
            throw .invalid(path, "\(path) may have at most \(Limits.localesPerMessageMax) locales")
        }
        var texts: [String: String] = [:]
        for locale in given.members.names {
            guard locale.isLocaleName else {
                throw .invalid("\(path).\(locale)", "a locale is a language tag such as de or de-AT")
            }
            if let text = try given.contentText([locale]) { texts[locale] = text }
        }
        return texts.isEmpty ? nil : .localized(texts)
    }

    /// - Throws: where something is translated: `missing_field` without a default, `invalid_field` for texts in
    ///   different sets of languages, or a default that they lack.
    private static func defaultLocale(_ fields: Tolerance, _ content: Content) throws(PealError) -> String? {
        let sets: [(name: String, locales: Set<String>)] = [
            ("title", content.title), ("subtitle", content.subtitle), ("body", content.body),
        ].compactMap { name, text in
            if case .localized(let texts) = text { (name, Set(texts.keys)) } else { nil }
        }
        let given = try fields.text("default_locale", bytesMax: Limits.localeCharactersMax)
        guard let first = sets.first else { return nil }
        for other in sets.dropFirst()
        where Set(other.locales.map(\.plainLocale)) != Set(first.locales.map(\.plainLocale)) {
            throw .invalid(
                "content.\(other.name)",
                "content.\(other.name) and content.\(first.name) must be translated into the same locales")
        }
        guard let given else {
            throw PealError(
                .missingField, "content.default_locale is required where texts are translated",
                field: "content.default_locale")
        }
        guard
            let locale = first.locales.contains(given)
                ? given : first.locales.first(where: { $0.plainLocale == given.plainLocale })
        else {
            throw .invalid("content.default_locale", "there is no translation for \(given)")
        }
        return locale
    }

    private static func badge(_ fields: Tolerance) throws(PealError) -> Int64? {
        guard let badge = try fields.integer("badge") else { return nil }
        guard (0...Int64(Int32.max)).contains(badge) else {
            throw .invalid("content.badge", "content.badge must be an integer from 0 to \(Int32.max)")
        }
        return badge
    }

    private static func imageURL(_ fields: Tolerance) throws(PealError) -> String? {
        guard let (value, path) = fields["imageUrl", "imageURL", "image_url"] else { return nil }
        let url = try Tolerance.text(value, path, bytesMax: Limits.imageURLBytesMax)
        let parts = url.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let host = parts.count == 2 ? parts[1].prefix { !"/?#".contains($0) } : ""
        guard ["https", "http"].contains(parts[0].lowercased()), !host.isEmpty, !url.contains(" ") else {
            throw .invalid(path, "\(path) must be an http or https URL")
        }
        return url
    }
}
