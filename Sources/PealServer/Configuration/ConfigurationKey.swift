/// One thing that can be configured; it documents itself (`peal serve --print-config`, `docs/configuration.md`).
package struct ConfigurationKey: Sendable, Hashable {
    /// The words of its name: `http.port.file` is `PEAL_HTTP_PORT_FILE`, `--http-port-file`, and in the file
    /// `http: {port_file: …}`.
    package let words: String
    package let kind: Kind
    /// The default as people read it; nil = none.
    package let fallback: String?
    package let meaning: String
    package let isSecret: Bool

    init(_ words: String, _ kind: Kind, default fallback: String? = nil, isSecret: Bool = false, _ meaning: String) {
        self.words = words
        self.kind = kind
        self.fallback = fallback
        self.isSecret = isSecret
        self.meaning = meaning
    }

    package enum Kind: Sendable, Hashable {
        case text
        /// An https URL; http on loopback.
        case url
        /// Comma-separated `host`, `host:port` or `.suffix`.
        case hosts
        case path
        case choice([String])
        case integer(ClosedRange<Int>)

        /// The type and range in words.
        package var name: String {
            switch self {
            case .text: "text"
            case .url: "URL"
            case .hosts: "list of hosts"
            case .path: "path"
            case .choice(let values): values.joined(separator: " or ")
            case .integer(let range): "whole number, \(range.lowerBound) to \(range.upperBound)"
            }
        }
    }

    package var environmentName: String { "PEAL_" + words.uppercased().replacing(".", with: "_") }
    package var flag: String { "--" + words.replacing(".", with: "-") }
}
