import PealCore

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
        switch failure {
        case .unsent(let reason), .lost(let reason): self = .failed(Trouble(reason: reason), retryAfter: nil)
        }
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

    /// What may stand in a header field after `Bearer` (RFC 6750 §2.1, a little wider).
    private static func isSafe(_ accessToken: String) -> Bool {
        (1...Limits.accessTokenBytesMax).contains(accessToken.utf8.count)
            && accessToken.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// What is no word would end up in logs and lists, and counts as absent.
    private static func word(_ error: String) -> String? {
        let isWord = error.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        return isWord && (1...Limits.logReasonBytesMax).contains(error.utf8.count) ? error : nil
    }

    /// The first part of a description, printable.
    private static func sentence(_ text: String) -> String {
        String(decoding: text.utf8.prefix(300).map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: " ") }, as: UTF8.self)
    }
}
