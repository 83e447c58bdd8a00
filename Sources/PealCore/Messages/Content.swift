/// The content of a message: common fields, and for each platform the provider's own fields, which take precedence.
package struct Content: Sendable, Hashable {
    package var title: LocalizedText?
    package var subtitle: LocalizedText?
    package var body: LocalizedText?
    package var imageURL: String?
    /// The author's own members, delivered in addition to those that the provider defines.
    package var data: JSON.Members = .init()
    package var badge: Int64?
    package var sound: String?
    package var threadID: String?
    package var category: String?
    package var defaultLocale: String?
    package var platforms: [Platform: PlatformContent] = [:]
    /// Whether payloads name the message in `peal`, for apps with Peal's SDK.
    package var namesMessage = false
    /// Platforms without content. Their devices count as suppressed with the reason `NoContent`.
    package var absentPlatforms: Set<Platform> = []

    package init() {}

    /// The content and the sending options for only one platform.
    package struct PlatformContent: Sendable, Hashable {
        /// The members of the network's `NetworkContent`.
        package var fields: JSON.Members
        package var options: PlatformOptions

        package init(fields: JSON.Members = .init(), options: PlatformOptions = .init()) {
            self.fields = fields
            self.options = options
        }

        package init(_ own: some NetworkContent, options: PlatformOptions = .init()) {
            self.init(fields: own.members, options: options)
        }
    }

    /// The content for only one network; empty if the author gives none.
    package func own<Own: NetworkContent>(_: Own.Type = Own.self) -> Own {
        Own(members: platforms[Own.platform]?.fields ?? .init())
    }

    /// The number of its texts and platform contents, at least 1: a measure of its size.
    package var textCount: Int {
        [title, subtitle, body].reduce(1 + platforms.count) { $0 + ($1?.count ?? 0) }
    }

    /// What payloads add for Peal's SDK; nil unless `namesMessage`.
    package func reference(to message: MessageID) -> JSON? {
        namesMessage ? ["message": .string(message.description)] : nil
    }

    /// All locales of the texts; empty if none is localized.
    package var locales: Set<String> {
        [title, subtitle, body].reduce(into: []) { locales, text in
            if case .localized(let texts) = text { locales.formUnion(texts.keys) }
        }
    }
}

extension Content {
    /// The platforms for which it contains nothing: neither a common member nor one of their own.
    package var emptyPlatforms: Set<Platform> {
        var common = self
        (common.platforms, common.defaultLocale) = ([:], nil)
        (common.namesMessage, common.absentPlatforms) = (false, [])
        guard common == Content() else { return [] }
        return Set(Platform.allCases.filter { platforms[$0]?.fields.isEmpty ?? true })
    }

    /// The content locale for a device's locale: that locale, else its language, else the default; nil if nothing is
    /// localized. `de-AT` finds `de-AT`, then `de`; letter case and `_` do not matter.
    package func contentLocale(forDevice locale: String?) -> String? {
        let offered = locales.sorted().map { (name: $0, plain: $0.plainLocale) }
        guard !offered.isEmpty else { return nil }
        var wanted = locale?.plainLocale ?? ""
        while !wanted.isEmpty {
            if let match = offered.first(where: { $0.plain == wanted }) { return match.name }
            guard let cut = wanted.lastIndex(of: "-") else { break }
            wanted = String(wanted[..<cut])
        }
        return defaultLocale
    }
}

/// Content for one network in the network's own terms. Members keep the author's order and unknown members stay, so
/// that the network receives what the author wrote. The provider refuses a member of the wrong type, because a message
/// may never go to that network.
package protocol NetworkContent: Sendable, Hashable {
    static var platform: Platform { get }
    var members: JSON.Members { get set }
    init(members: JSON.Members)
}

extension NetworkContent {
    /// The object's name in an error.
    package static var field: MessageField { .platform(platform, "") }

    /// nil if it is absent or null.
    package subscript(_ name: String) -> JSON? {
        get { members[name].flatMap { $0.isNull ? nil : $0 } }
        set { members[name] = newValue }
    }
}

/// A text in one language, or one text for each locale.
package enum LocalizedText: Sendable, Hashable {
    case plain(String)
    case localized([String: String])

    /// The text for a content locale: the one for that locale, else for its language, else for `fallback`. Texts of one
    /// message may have different locales.
    package func text(for locale: String?, fallback: String?) -> String? {
        switch self {
        case .plain(let text): text
        case .localized(let texts):
            locale.flatMap { Self.closestText(in: texts, to: $0) }
                ?? fallback.flatMap { Self.text(in: texts, for: $0) }
        }
    }

    /// How many locales it has a text for; 1 if it has one for all.
    package var count: Int {
        switch self {
        case .plain: 1
        case .localized(let texts): texts.count
        }
    }

    /// The same locales with other texts.
    package func map(_ change: (String) -> String) -> LocalizedText {
        switch self {
        case .plain(let text): .plain(change(text))
        case .localized(let texts): .localized(texts.mapValues(change))
        }
    }

    private static func closestText(in texts: [String: String], to locale: String) -> String? {
        if let text = texts[locale] { return text }
        // A locale may have many subtags, and each round would compare it with hundreds of others.
        let near = texts.filter { $0.key.mayBegin(locale) }
        guard !near.isEmpty else { return nil }
        var wanted = locale
        while true {
            if let text = text(in: near, for: wanted) { return text }
            guard let cut = wanted.lastIndex(where: { $0 == "-" || $0 == "_" }) else { return nil }
            wanted = String(wanted[..<cut])
        }
    }

    /// Two texts of one message may spell the same locale differently.
    private static func text(in texts: [String: String], for locale: String) -> String? {
        if let text = texts[locale] { return text }
        return texts.keys.filter { $0.isSameLocale(as: locale) }.min().flatMap { texts[$0] }
    }
}

extension String {
    /// A normalized locale: lower case, with `-` for `_`.
    package var plainLocale: String { lowercased().replacing("_", with: "-") }

    /// Whether both have the same `plainLocale`. A message may compare hundreds of locales with each other, so ASCII is
    /// compared without creating strings.
    fileprivate func isSameLocale(as other: String) -> Bool {
        for (own, its) in zip(utf8, other.utf8) where own != its {
            guard own < 0x80, its < 0x80 else { return plainLocale == other.plainLocale }
            if Self.plain(own) != Self.plain(its) { return false }
        }
        return utf8.count == other.utf8.count || plainLocale == other.plainLocale
    }

    /// Whether `other` may begin with a locale that has the same `plainLocale`.
    fileprivate func mayBegin(_ other: String) -> Bool {
        for (own, its) in zip(utf8, other.utf8) where own != its {
            guard own < 0x80, its < 0x80 else { return true }
            if Self.plain(own) != Self.plain(its) { return false }
        }
        return true
    }

    private static func plain(_ byte: UInt8) -> UInt8 {
        byte == UInt8(ascii: "_") ? UInt8(ascii: "-") : byte.lowercasedASCII
    }
}
