/// What a message says: common fields, and per platform the provider's own fields, which win over the common ones.
package struct Content: Sendable, Hashable {
    package var title: LocalizedText?
    package var subtitle: LocalizedText?
    package var body: LocalizedText?
    package var imageURL: String?
    /// The author's own members, delivered beside what the provider defines.
    package var data: JSON.Members = .init()
    package var badge: Int64?
    package var sound: String?
    package var threadID: String?
    package var category: String?
    package var defaultLocale: String?
    package var platforms: [Platform: PlatformContent] = [:]

    package init() {}

    /// One platform's object: the fields as the author wrote them (without `options`), unknown ones included.
    package struct PlatformContent: Sendable, Hashable {
        package var fields: JSON.Members
        package var options: PlatformOptions

        package init(fields: JSON.Members = .init(), options: PlatformOptions = .init()) {
            self.fields = fields
            self.options = options
        }
    }

    /// Every locale that some text is given in; empty when nothing is localized.
    package var locales: Set<String> {
        [title, subtitle, body].reduce(into: []) { locales, text in
            if case .localized(let texts) = text { locales.formUnion(texts.keys) }
        }
    }
}

extension Content {
    /// The content locale for a device's locale: itself, else its language, else the default; nil when nothing is
    /// localized. `de-AT` finds `de-AT`, then `de`; case and `_` do not matter.
    package func contentLocale(forDevice locale: String?) -> String? {
        let offered = locales
        guard !offered.isEmpty else { return nil }
        var wanted = locale?.plainLocale ?? ""
        while !wanted.isEmpty {
            if let match = offered.sorted().first(where: { $0.plainLocale == wanted }) { return match }
            guard let cut = wanted.lastIndex(of: "-") else { break }
            wanted = String(wanted[..<cut])
        }
        return defaultLocale
    }
}

/// A text in one language, or one per locale.
package enum LocalizedText: Sendable, Hashable {
    case plain(String)
    case localized([String: String])

    /// The text for a content locale; of a localized text that lacks it, the one for `fallback`.
    package func text(for locale: String?, fallback: String?) -> String? {
        switch self {
        case .plain(let text): text
        case .localized(let texts):
            locale.flatMap { Self.text(in: texts, for: $0) } ?? fallback.flatMap { Self.text(in: texts, for: $0) }
        }
    }

    /// Two texts of one message may spell the same locale differently.
    private static func text(in texts: [String: String], for locale: String) -> String? {
        if let text = texts[locale] { return text }
        let spelling = texts.keys.sorted().first { $0.plainLocale == locale.plainLocale }
        return spelling.flatMap { texts[$0] }
    }
}

extension String {
    /// What spellings of one locale have in common: lower case, `-` for `_`.
    package var plainLocale: String { lowercased().replacing("_", with: "-") }
}
