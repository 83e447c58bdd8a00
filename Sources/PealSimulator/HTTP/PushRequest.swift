/// One request as it came over the wire: pseudo-headers apart, the other headers in their order, and the body.
package struct PushRequest: Sendable {
    /// The method, in capitals.
    package var method: String
    /// Path and query, undecoded.
    package var path: String
    /// `http` or `https`.
    package var scheme = "https"
    /// The `:authority`, or `Host`: host and port as the client calls them.
    package var authority = ""
    /// Names in lower case and values.
    package var headers: [(name: String, value: String)]
    /// The body, as far as it is kept.
    package var body: [UInt8]
    /// How long the whole body was; more than `body` has when it was cut off.
    package var bodyBytes: Int

    /// A request of these parts.
    package init(method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        bodyBytes = body.count
    }

    /// The first value of the header `name` (lower case).
    package func value(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// `https://HOST:PORT`, as the client calls it.
    var origin: String { "\(scheme)://\(authority)" }

    /// The whole URI that was asked for.
    var uri: String { origin + path }

    /// The path without its query.
    var route: Substring { path.prefix { $0 != "?" } }

    /// Keeps what fits of `bytes`; the rest only counts.
    mutating func append(_ bytes: some Collection<UInt8>, upTo limit: Int) {
        bodyBytes += bytes.count
        body.append(contentsOf: bytes.prefix(max(0, limit - body.count)))
    }

    /// What follows `scheme ` in `authorization` (RFC 9110 §11.6.2), the scheme in any case; nil without it.
    func credentials(_ scheme: String) -> String? {
        guard let value = value("authorization"), value.utf8.count > scheme.utf8.count,
            value.prefix(scheme.count).lowercased() == scheme.lowercased(),
            value.dropFirst(scheme.count).first == " "
        else { return nil }
        return value.dropFirst(scheme.count + 1).trimmingPrefix(" ").description
    }
}
