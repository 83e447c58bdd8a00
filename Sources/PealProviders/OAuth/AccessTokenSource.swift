import PealCore

/// Asks one token endpoint for access tokens under one credential.
protocol AccessTokenSource: Sendable {
    /// One request, without a second attempt. Bounded in time; ends early when the task is cancelled.
    func fetch() async -> AccessTokenReply
}

/// What came back to a request for an OAuth access token (RFC 6749 §5).
enum AccessTokenReply: Sendable, Hashable {
    /// - Parameter life: how long the token is good from the moment it was asked for.
    case granted(accessToken: String, life: Duration)
    /// The credential is at fault: nothing but mending it helps.
    case refused(Trouble)
    /// The token endpoint is in trouble, or was not reached.
    case failed(Trouble, retryAfter: Duration?)

    /// Why there is no token.
    struct Trouble: Sendable, Hashable {
        /// The endpoint's own word, as `invalid_grant`; or ours.
        var reason: String
        /// HTTP status, 0 without one.
        var status = 0
        /// A sentence for people; may be empty.
        var detail = ""
    }
}

extension AccessTokenReply {
    /// Where a grant does not say how long it is good: what Google and Microsoft grant.
    private static let lifeSecondsDefault: Int64 = 3600
    private static let lifeSecondsMax: Int64 = 24 * 3600
    /// Words for trouble that passes, whatever status they come with (RFC 6749 §4.1.2.1, RFC 8628 §3.5).
    private static let passing: Set<String> = ["temporarily_unavailable", "server_error", "slow_down"]

    /// Judges what a token endpoint answered. 400 and 401 are about the credential (RFC 6749 §5.2); a 403 is when it
    /// says so in an `error`.
    /// - Parameter now: what a Retry-After with a date is counted from.
    init(_ reply: OutboundReply, now: Timestamp) {
        let document = (try? JSONParser.parse(reply.body)) ?? .null
        if (200...299).contains(reply.status) {
            self = Self.grant(document, status: reply.status)
            return
        }
        let word = document["error"]?.stringValue.flatMap(Self.word)
        let trouble = Trouble(
            reason: word ?? "Status\(reply.status)", status: reply.status,
            detail: Self.sentence(document["error_description"]?.stringValue ?? ""))
        let isPassing = word.map(Self.passing.contains) ?? false
        switch reply.status {
        case 400, 401: self = isPassing ? .failed(trouble, retryAfter: nil) : .refused(trouble)
        case 403 where word != nil && !isPassing: self = .refused(trouble)
        default: self = .failed(trouble, retryAfter: reply.retryAfter(now: now))
        }
    }

    init(_ failure: OutboundFailure) {
        self = .failed(Trouble(reason: failure.answer.reason), retryAfter: nil)
    }

    private static func grant(_ document: JSON, status: Int) -> AccessTokenReply {
        guard let accessToken = document["access_token"]?.stringValue, isSafe(accessToken) else {
            return .failed(
                Trouble(reason: "BadTokenAnswer", status: status, detail: "the answer holds no access token"),
                retryAfter: nil)
        }
        // Microsoft also writes it as text.
        let given = document["expires_in"]
        let seconds = given?.integerValue ?? given?.stringValue.flatMap { Int64($0) } ?? lifeSecondsDefault
        return .granted(accessToken: accessToken, life: .seconds(min(max(seconds, 1), lifeSecondsMax)))
    }

    /// What a header field may hold after `Bearer` (RFC 6750 §2.1, a little wider).
    private static func isSafe(_ accessToken: String) -> Bool {
        (1...Limits.accessTokenBytesMax).contains(accessToken.utf8.count)
            && accessToken.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// The reason goes into logs and lists: anything but a word counts as absent.
    private static func word(_ error: String) -> String? {
        let isWord = error.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        return isWord && (1...Limits.logReasonBytesMax).contains(error.utf8.count) ? error : nil
    }

    /// The first part of a description, printable.
    private static func sentence(_ text: String) -> String {
        String(decoding: text.utf8.prefix(300).map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: " ") }, as: UTF8.self)
    }
}

/// Which addresses a credential may ask for access tokens at: a stored credential must not aim the server at any other.
struct TokenHosts: Sendable, Hashable {
    /// `host` or `.suffix`, over https at its own port.
    let vendors: [String]
    /// `host`, `host:port` or `.suffix`, from the configuration; these may be http on loopback.
    let allowed: [String]

    private static let urlBytesMax = 2048

    /// Whether `url` is on a vendor's or an allowed host.
    func contains(_ url: String) -> Bool {
        guard url.utf8.count <= Self.urlBytesMax, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x23 }) else {
            return false
        }
        let lowered = url.lowercased()
        let isSecure = lowered.hasPrefix("https://")
        guard isSecure || lowered.hasPrefix("http://") else { return false }
        let authority = lowered.dropFirst(isSecure ? 8 : 7).prefix { !"/?\\".contains($0) }
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let host = parts.first, Self.isName(host) else { return false }
        let port = parts.count == 2 ? UInt16(parts[1]) : isSecure ? 443 : 80
        guard let port, port > 0 else { return false }
        if isSecure, port == 443, vendors.contains(where: { Self.matches(host, port, $0) }) { return true }
        return (isSecure || Self.isLoopback(host)) && allowed.contains { Self.matches(host, port, $0.lowercased()) }
    }

    private static func matches(_ host: String, _ port: UInt16, _ entry: String) -> Bool {
        if entry.hasPrefix(".") { return host.hasSuffix(entry) && host.utf8.count > entry.utf8.count }
        return entry == host || entry == "\(host):\(port)"
    }

    /// No user information, no escapes, no brackets: readers of URLs disagree about them.
    private static func isName(_ host: String) -> Bool {
        !host.isEmpty && !host.hasPrefix(".")
            && host.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    }

    private static func isLoopback(_ host: String) -> Bool {
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return host == "localhost"
            || octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
    }
}
