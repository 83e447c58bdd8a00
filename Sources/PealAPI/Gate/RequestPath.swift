internal import PealCore

/// A path as it is matched: without doubled or trailing slashes, each segment percent-decoded. `/v1/v1/…` is read as
/// `/v1/…`, which an older Android client sends if its base address ends in `/v1`.
struct RequestPath: Sendable, Hashable {
    let segments: [String]

    /// - Parameter raw: the path as received, without the query. nil if an escape in it is invalid, or if it contains
    ///   U+0000, which nothing's name contains.
    init?(_ raw: some StringProtocol) {
        var segments: [String] = []
        for part in Substring(raw).utf8.split(separator: UInt8(ascii: "/")) {
            guard let segment = PercentCoding.decode(Substring(part)), !segment.utf8.contains(0) else { return nil }
            segments.append(segment)
        }
        if segments.count >= 2, segments[0] == "v1", segments[1] == "v1" { segments.removeFirst() }
        self.segments = segments
    }

    /// The path for messages, and to distinguish requests.
    var text: String { "/" + segments.joined(separator: "/") }
}

/// The parameters of a request's query. If a name is repeated, the last value counts.
struct Query: Sendable {
    private let values: [String: String]
    /// In the order of the request, repetitions included.
    let names: [String]

    /// - Throws: `invalid_field` naming the parameter whose escape is invalid, or which contains U+0000: PostgreSQL's
    ///   texts cannot contain it.
    init(_ raw: Substring) throws(PealError) {
        var (values, names): ([String: String], [String]) = ([:], [])
        for pair in raw.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decode(halves[0], plusIsSpace: true) else {
                throw .invalid("query", "the query contains an invalid escape")
            }
            guard let value = PercentCoding.decode(halves.count > 1 ? halves[1] : "", plusIsSpace: true) else {
                throw .invalid(name, "\(name) contains an invalid escape")
            }
            guard !value.utf8.contains(0) else { throw .invalid(name, "\(name) must not contain U+0000") }
            values[name] = value
            names.append(name)
        }
        self.values = values
        self.names = names
    }

    /// The value of `name`, which may be empty; nil when it is missing.
    func given(_ name: String) -> String? { values[name] }

    /// The value of `name`; nil when it is missing or empty.
    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }
}
