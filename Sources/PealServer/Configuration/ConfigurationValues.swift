/// Values that have passed the check of their key's kind.
struct ConfigurationValues {
    private var values: [ConfigurationKey: String] = [:]

    /// - Throws: `ConfigurationFailure` at the first value that its key cannot take.
    init(_ source: ConfigurationSource) throws {
        for key in ConfigurationKey.all {
            guard let text = source.text(key) else { continue }
            try Self.check(text, key)
            values[key] = text
        }
    }

    func optional(_ key: ConfigurationKey) -> String? { values[key] }

    /// Only for keys with a default.
    func text(_ key: ConfigurationKey) -> String { values[key] ?? key.fallback ?? "" }

    /// Only for integer keys with a default.
    func integer(_ key: ConfigurationKey) -> Int { Int(text(key)) ?? 0 }

    func list(_ key: ConfigurationKey) -> [String] {
        text(key).split(separator: ",").map { $0.trimmingPrefix(" ").lowercased() }.filter { !$0.isEmpty }
    }

    private static func check(_ text: String, _ key: ConfigurationKey) throws {
        switch key.kind {
        case .text, .path: return
        case .integer(let range):
            guard let value = Int(text), range.contains(value) else {
                throw ConfigurationFailure(
                    key, "must be a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
            }
        case .choice(let choices):
            guard choices.contains(text) else {
                throw ConfigurationFailure(key, "must be \(key.kind.name), not \"\(text)\"")
            }
        case .url:
            let isLoopback = ["http://127.", "http://localhost", "http://[::1]"].contains(where: text.hasPrefix)
            guard text.hasPrefix("https://") || isLoopback, text.count > "https://".count else {
                throw ConfigurationFailure(key, "must be an https URL, not \"\(text)\"")
            }
        case .hosts:
            let entries = text.split(separator: ",").map { $0.trimmingPrefix(" ") }
            guard entries.allSatisfy({ $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && !$0.contains("/") }) else {
                throw ConfigurationFailure(key, "must be hosts separated by commas, not \"\(text)\"")
            }
        }
    }
}
