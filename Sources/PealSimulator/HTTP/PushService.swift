import Foundation

/// What is specific to a network behind one listener: how it judges a request, and what its answers look like.
/// Responder and handlers do the rest: counting, faults and connections.
protocol PushService: Sendable {
    var provider: PushProvider { get }
    var environment: PushEnvironment { get }
    /// The number of concurrent streams on a new HTTP/2 connection.
    var streamsAtFirst: Int { get }

    /// Judges `request`, received at `milliseconds` (since 1970). `memory` is that of its connection.
    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement

    /// The network's answer to the accepted request for `fault`.
    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer

    /// The answer to an expired provider token or access token.
    var expired: FaultAnswer { get }

    /// Final changes to a reply; `refusal` is its reason if it refuses the request.
    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory)
}

extension PushService {
    var environment: PushEnvironment { .production }
    var streamsAtFirst: Int { SimulatorLimits.ordinaryStreamsMax }

    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory) {}
}

/// A network's judgement of a request.
enum Judgement: Sendable {
    /// All checks passed. The request is accepted unless a fault applies.
    case accepted(Acceptance)
    /// The first check that failed, and the answer.
    case refused(reason: String, HTTPAnswer)
    /// Like `refused`, for a request without a notification, which the inbox does not count.
    case declined(HTTPAnswer)
}

/// A request that passed all checks, and its answer unless a fault applies.
struct Acceptance: Sendable {
    var kind = RequestKind.send
    /// The device token, registration token, channel URI or endpoint; empty when it is for no device.
    var device = ""
    /// The notification's id, as in the answer.
    var id = ""
    var answer: HTTPAnswer
    /// The fingerprint of the request's provider token, access token or VAPID token.
    var credential: UInt64?
    /// What is delivered to the device; nil if nothing is.
    var item: InboxItem?
}

/// The kind of request, `request` in the rules of a fault script.
enum RequestKind: String, Sendable, CaseIterable {
    /// A notification for a device, a topic or a channel.
    case send
    /// An access token.
    case authorization = "token"
    /// A change to the channels of an app.
    case management
}

/// A request: pseudo-headers, the other headers in order, and the body.
package struct PushRequest: Sendable {
    /// The method, in capitals.
    package var method: String
    /// Path and query, undecoded.
    package var path: String
    /// `http` or `https`.
    package var scheme = "https"
    /// The `:authority`, or `Host`: host and port as the client addresses them.
    package var authority = ""
    /// Names in lower case and values.
    package var headers: [(name: String, value: String)]
    /// The body, or its beginning.
    package var body: [UInt8]
    /// The size of the whole body, which may be more than is kept in `body`.
    package var bodyBytes: Int

    /// A request with these parts.
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

    /// `https://HOST:PORT`, as the client addresses it.
    var origin: String { "\(scheme)://\(authority)" }

    /// The whole requested URI.
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

/// The state of one connection: its client certificate, and for APNs the authenticated sender, when its provider token
/// changed, and how many errors it has caused.
package struct ConnectionMemory: Sendable {
    /// The client certificate as presented in TLS (DER); nil without one.
    var certificateDER: [UInt8]?
    /// What the certificate is valid for, once checked.
    var standing: CertificateStanding?
    /// Whether a request with a valid provider token or certificate was received.
    package internal(set) var isAuthenticated = false
    /// The team and key of the first valid provider token, which bind the connection.
    var keyID: String?
    var teamID: String?
    /// The bundle identifiers for which the key was valid at that moment; later ones need a new connection.
    var bundleIDs: Set<String> = []
    /// Fingerprints of the provider tokens seen, the current one's `iat`, and when it last changed.
    var tokensSeen: [UInt64] = []
    var issuedAtSeconds: Int64 = 0
    var updatedAtSeconds: Int64?
    /// The warning about the provider token of the latest request.
    var warning: String?
    /// Whether the stream limit has been raised, error points, and whether an error has lowered the limit again.
    var isOpened = false
    var errorPoints = 0
    var isSlowedDown = false

    /// The memory of a new connection.
    package init() {}
}
