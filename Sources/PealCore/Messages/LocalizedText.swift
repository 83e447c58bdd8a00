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
