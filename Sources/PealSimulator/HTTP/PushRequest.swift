import Foundation

/// A request: pseudo-headers, the other headers in order, and the body.
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
    /// The body, or its beginning.
    package var body: [UInt8]
    /// The size of the whole body, which may be more than is kept in `body`.
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

    /// Appends `bytes` to the body up to `limit`; the rest is only counted.
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

/// Reads bodies of `application/x-www-form-urlencoded`.
enum FormText {
    /// The fields of the body; nil when it is of another type.
    static func read(_ request: PushRequest) -> [String: String]? {
        let type = (request.value("content-type") ?? "").prefix { $0 != ";" }
        guard type.lowercased() == "application/x-www-form-urlencoded" else { return nil }
        var fields: [String: String] = [:]
        for pair in String(decoding: request.body, as: UTF8.self).split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            fields[decode(halves[0])] = halves.count > 1 ? decode(halves[1]) : ""
        }
        return fields
    }

    private static func decode(_ text: Substring) -> String {
        let spaced = text.replacingOccurrences(of: "+", with: " ")
        return spaced.removingPercentEncoding ?? spaced
    }
}

/// The state of one connection: its client certificate, and for APNs who authenticated on it, when its provider token
/// changed and how many errors it has caused.
package struct ConnectionMemory: Sendable {
    /// The client certificate as it was shown in TLS (DER); nil without one.
    var certificateDER: [UInt8]?
    /// What the certificate is valid for, once checked.
    var standing: CertificateStanding?
    /// Whether a request with a valid provider token or certificate was received.
    package internal(set) var isAuthenticated = false
    /// The team and key of the first valid provider token, which bind the connection.
    var keyID: String?
    var teamID: String?
    /// The bundle identifiers that the key was valid for at that moment; later ones need a new connection.
    var bundleIDs: Set<String> = []
    /// Fingerprints of the provider tokens seen, the present one's `iat`, and when it changed last.
    var tokensSeen: [UInt64] = []
    var issuedAtSeconds: Int64 = 0
    var updatedAtSeconds: Int64?
    /// Whether the stream limit has been raised, error points, and whether an error has lowered the limit again.
    var isOpened = false
    var errorPoints = 0
    var isSlowedDown = false

    /// The memory of a new connection.
    package init() {}
}
