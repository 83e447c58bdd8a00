/// A path as it is matched: without doubled or trailing slashes, `/v1/v1/…` taken as `/v1/…` (an older Android client
/// makes that of a base address that ends in `/v1`), each segment percent-decoded.
struct RequestPath: Sendable, Hashable {
    let segments: [String]
    /// Whether it came without doubled and trailing slashes.
    let isPlain: Bool

    /// Takes the path as it came, without the query; nil when an escape in it is broken.
    init?(_ raw: some StringProtocol) {
        var segments: [String] = []
        for part in raw.split(separator: "/") {
            guard let segment = PercentCoding.decode(part) else { return nil }
            segments.append(segment)
        }
        isPlain = !raw.contains("//") && (segments.isEmpty || !raw.hasSuffix("/"))
        if segments.count >= 2, segments[0] == "v1", segments[1] == "v1" { segments.removeFirst() }
        self.segments = segments
    }

    /// Whether it is one of the native API's, which takes paths as they are written.
    var isNative: Bool { segments.first == "peal" }

    /// The path for messages and for telling requests apart.
    var text: String { "/" + segments.joined(separator: "/") }
}
