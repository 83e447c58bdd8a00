import PealCore

/// Requests access tokens from one token endpoint under one credential.
protocol AccessTokenSource: Sendable {
    /// Sends one request, without a retry. Limited in time; ends early if the task is cancelled.
    func fetch() async -> AccessTokenReply
}

/// The reply to a request for an OAuth access token (RFC 6749 §5).
enum AccessTokenReply: Sendable, Hashable {
    /// - Parameter life: the token's lifetime, counted from the request.
    case granted(accessToken: String, life: Duration)
    /// The credential is at fault and must be replaced or repaired.
    case refused(Failure)
    /// The token endpoint has a problem or was not reached.
    case failed(Failure, retryAfter: Duration?)

    /// Why there is no token.
    struct Failure: Sendable, Hashable {
        /// The endpoint's error code, such as `invalid_grant`, or Peal's own reason.
        var reason: String
        /// HTTP status; 0 if there is none.
        var status = 0
        /// A sentence for people; may be empty.
        var detail = ""
    }
}

extension AccessTokenReply {
    /// The lifetime of a grant without one: what Google and Microsoft grant.
    private static let lifeSecondsDefault: Int64 = 3600
    private static let lifeSecondsMax: Int64 = 24 * 3600
    /// Error codes of temporary problems, whatever their status (RFC 6749 §4.1.2.1, RFC 8628 §3.5).
    private static let passing: Set<String> = ["temporarily_unavailable", "server_error", "slow_down"]

    /// Judges a token endpoint's reply. 400 and 401 concern the credential (RFC 6749 §5.2); so does 403 if the body has
    /// an `error`.
    /// - Parameter now: the time to count a Retry-After date from.
    init(_ reply: OutboundReply, now: Timestamp) {
        let document = (try? JSONParser.parse(reply.body)) ?? .null
        if (200...299).contains(reply.status) {
            self = Self.grant(document, status: reply.status)
            return
        }
        let code = document["error"]?.stringValue?.asReason(allowsUnderscores: true)
        let failure = Failure(
            reason: code ?? "Status\(reply.status)", status: reply.status,
            detail: Self.sentence(document["error_description"]?.stringValue ?? ""))
        let isPassing = code.map(Self.passing.contains) ?? false
        switch reply.status {
        case 400, 401: self = isPassing ? .failed(failure, retryAfter: nil) : .refused(failure)
        case 403 where code != nil && !isPassing: self = .refused(failure)
        default: self = .failed(failure, retryAfter: reply.retryAfter(now: now))
        }
    }

    /// Sends a request to a token endpoint.
    init(to request: OutboundRequest, over client: OutboundClient, _ time: any TimeSource) async {
        do {
            self.init(try await client.send(request), now: time.now)
        } catch {
            self = .failed(Failure(reason: error.answer.reason), retryAfter: nil)
        }
    }

    private static func grant(_ document: JSON, status: Int) -> AccessTokenReply {
        guard let accessToken = document["access_token"]?.stringValue, isSafe(accessToken) else {
            return .failed(
                Failure(reason: "BadTokenAnswer", status: status, detail: "the answer contains no access token"),
                retryAfter: nil)
        }
        // Microsoft also sends it as a string.
        let given = document["expires_in"]
        let seconds = given?.integerValue ?? given?.stringValue.flatMap { Int64($0) } ?? lifeSecondsDefault
        return .granted(accessToken: accessToken, life: .seconds(min(max(seconds, 1), lifeSecondsMax)))
    }

    /// Whether the token may follow `Bearer` in a header field (RFC 6750 §2.1, slightly wider).
    private static func isSafe(_ accessToken: String) -> Bool {
        (1...Limits.accessTokenBytesMax).contains(accessToken.utf8.count)
            && accessToken.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// The first 300 bytes of a description, with unprintable bytes replaced.
    private static func sentence(_ text: String) -> String {
        String(decoding: text.utf8.prefix(300).map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: " ") }, as: UTF8.self)
    }
}

extension CredentialVerification {
    /// The result of a token endpoint's reply, for networks that verify nothing else.
    init(_ reply: AccessTokenReply) {
        switch reply {
        case .granted:
            self.init(.accepted, status: 200, detail: "An access token was granted. Nothing was sent to a device.")
        case .refused(let failure):
            self.init(.refused, failure, "The token endpoint refused the credential")
        case .failed(let failure, _):
            self.init(.unreachable, failure, "The token endpoint issued no access token")
        }
    }

    /// - Parameter sentence: what happened, for people, without a full stop; the failure's own detail follows.
    init(_ result: Result, _ failure: AccessTokenReply.Failure, _ sentence: String) {
        self.init(
            result, status: failure.status, reason: failure.reason,
            detail: failure.detail.isEmpty ? "\(sentence)." : "\(sentence): \(failure.detail)")
    }
}

/// The hosts at which credentials may request access tokens. A stored credential must not direct the server to others.
struct TokenHosts: Sendable, Hashable {
    /// `host` or `.suffix`, over https on port 443.
    let vendors: [String]
    /// `host`, `host:port` or `.suffix`, from the configuration; on loopback these may use http.
    let allowed: [String]

    private static let urlBytesMax = 2048

    /// Whether `url` is on a vendor's host or an allowed one, compared as a parsed URL.
    func contains(_ url: String) -> Bool {
        guard url.utf8.count <= Self.urlBytesMax, let uri = EndpointURI(url) else { return false }
        if uri.isSecure, uri.port == 443, Self.matches(uri, vendors) { return true }
        return (uri.isSecure || uri.isLoopback) && Self.matches(uri, allowed)
    }

    private static func matches(_ uri: EndpointURI, _ entries: [String]) -> Bool {
        entries.contains { AllowedHost($0)?.matches(uri) ?? false }
    }
}
