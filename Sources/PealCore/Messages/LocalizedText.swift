/// A text in one language, or one per locale.
package enum LocalizedText: Sendable, Hashable {
    case plain(String)
    case localized([String: String])

    /// The text for a content locale; of a localized text that lacks it, the one for `fallback`.
    package func text(for locale: String?, fallback: String?) -> String? {
        switch self {
        case .plain(let text): text
        case .localized(let texts): locale.flatMap { texts[$0] } ?? fallback.flatMap { texts[$0] }
        }
    }
}
