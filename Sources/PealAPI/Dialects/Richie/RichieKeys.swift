internal import PealCore

/// The documented keys of a notification (https://richie.dev/docs/push/push-api), checked wherever they were sent. All
/// others are the app's own, for its analytics, and pass as they are.
struct RichieKeys {
    let allowsHTTP: Bool
    private(set) var warnings: [String] = []

    /// What the system shows.
    private static let shown = ["title", "body"]
    private static let link = "external-browser-url"
    private static let page = "issue-page"
    private static let item = "publisher-item-id"
    private static let texts =
        shown + [
            item, link, "issue-guid", "issue-title", "issue-product-tag", "tab-id",
        ]
    /// Keys with a dash of an APNs alert ("Generating a remote notification", table 2).
    private static let apple: Set<String> = [
        "title-loc-key", "title-loc-args", "subtitle-loc-key", "subtitle-loc-args", "loc-key", "loc-args",
        "action-loc-key", "launch-image", "summary-arg", "summary-arg-count",
    ]

    init(allowsHTTP: Bool) { self.allowsHTTP = allowsHTTP }

    /// The members of one object, without documented ones that are null or "". Title and body become texts, which is
    /// what systems show; everything else stays as it was written.
    mutating func checked(_ object: Tolerance) throws(PealError) -> JSON.Members {
        var members = object.members
        for name in Self.texts where members[name] != nil {
            guard let (value, path) = object[name] else {
                members[name] = nil
                continue
            }
            guard let text = Tolerance.plainText(value) else {
                throw .invalid(path, "\(path) must be a string, not \(value.typeName)")
            }
            if Self.shown.contains(name) { members[name] = .string(text) }
            if name == Self.link { try check(link: text, path) }
        }
        if members[Self.page] != nil, try object.integer(Self.page) == nil { members[Self.page] = nil }
        return members
    }

    /// Notes what the documentation rules out and clients do all the same, of one whole notification.
    mutating func look(at notification: JSON.Members, _ path: String) {
        let names = notification.names
        let documented = Set(Self.texts + [Self.page]).union(Self.apple)
        let dashed = names.count { $0.contains("-") && !documented.contains($0) }
        if dashed > 0 { warnings.append("\(path) has \(dashed) keys with a dash, which analytics cannot take") }
        if names.contains(Self.item), names.contains(Self.link), !names.contains("tab-id") {
            warnings.append("\(path) has both \(Self.item) and \(Self.link)")
        }
    }

    mutating func warn(_ words: String) { warnings.append(words) }

    private mutating func check(link: String, _ path: String) throws(PealError) {
        let lowered = link.lowercased()
        let isSecure = lowered.hasPrefix("https://")
        guard isSecure || (allowsHTTP && lowered.hasPrefix("http://")) else {
            throw .invalid(path, "\(path) must be an https URL")
        }
        let host = link.dropFirst(isSecure ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !host.isEmpty, link.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw .invalid(path, "\(path) must be a full URL without blanks")
        }
        if !isSecure { warnings.append("\(path) is not https") }
    }
}
