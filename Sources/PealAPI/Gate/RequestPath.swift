/// A path as it is matched: without doubled or trailing slashes, `/v1/v1/…` taken as `/v1/…` (an older Android client
/// makes that of a base address that ends in `/v1`), each segment percent-decoded.
struct RequestPath: Sendable, Hashable {
    let segments: [String]

    /// Takes the path as it came, without the query; nil when an escape in it is broken.
    init?(_ raw: some StringProtocol) {
        var segments: [String] = []
        for part in raw.split(separator: "/") {
            guard let segment = PercentCoding.decode(part) else { return nil }
            segments.append(segment)
        }
        if segments.count >= 2, segments[0] == "v1", segments[1] == "v1" { segments.removeFirst() }
        self.segments = segments
    }

    /// The path for messages and for telling requests apart.
    var text: String { "/" + segments.joined(separator: "/") }
}
