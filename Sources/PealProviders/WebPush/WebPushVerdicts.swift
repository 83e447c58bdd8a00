import PealCore

/// What push services answer, and what it means (RFC 8030 §5–8; Mozilla:
/// mozilla-services.github.io/autopush-rs/errors.html; Apple: "Sending web push notifications in web apps and
/// browsers"; FCM writes sentences).
enum WebPushVerdicts {
    /// How long an origin is left alone that asked for it without saying how long.
    static let originHold = Duration.seconds(60)
    /// A retry that a push service calls fine at once.
    static let soon = Duration.seconds(1)

    /// The words for a subscription that was made with another application server key than ours: FCM's and Mozilla's
    /// come from their sentences.
    static let keyMismatches: Set<String> = ["VapidPkHashMismatch", "KeyMismatch", "UnauthorizedRegistration"]

    /// - Parameters:
    ///   - reason: `reason(in:)` of the body; empty when there was none. An unknown one is judged by the status class
    /// and
    ///     never retires an address.
    ///   - retryAfter: what the header asks for.
    /// - Returns: `refreshCredential` for trouble with the JWT: once more with a new one, then the app is stopped.
    static func verdict(status: Int, reason: String, retryAfter: Duration? = nil) -> Verdict {
        switch (status, reason) {
        case (200..<300, _): .accepted
        // 101, 110: the keys of the subscription are missing or invalid.
        case (400, "Errno101"), (400, "Errno110"): .retireAddress(since: nil, isSuspicious: true)
        case (400, _) where keyMismatches.contains(reason): .retireAddress(since: nil, isSuspicious: true)
        case (400, "BadJwtToken"), (400, "Errno109"): .refreshCredential
        case (401, _) where keyMismatches.contains(reason): .retireAddress(since: nil, isSuspicious: true)
        case (403, _) where keyMismatches.contains(reason): .retireAddress(since: nil, isSuspicious: true)
        case (401, _), (403, _): .refreshCredential
        case (404, _), (410, _): .retireAddress(since: nil, isSuspicious: false)
        case (406, _), (429, _): .holdAddress(after: retryAfter ?? originHold)
        // 202: an immediate retry is fine.
        case (500..., "Errno202"): .retry(after: retryAfter ?? soon)
        case (500..., _): .retry(after: retryAfter)
        default: .rejectMessage
        }
    }

    /// The word for an answer, out of its body: Apple's `reason`, Mozilla's `errno` as `Errno110`, and ours for
    /// sentences of FCM and Mozilla about a key that is not the subscription's. Empty when there is none.
    static func reason(in body: [UInt8]) -> String {
        let text = String(decoding: body.prefix(Limits.responseBodyBytesMax), as: UTF8.self)
        let isMismatch = ["do not correspond to", "does not correspond to", "public key mismatch"]
            .contains { text.contains($0) }
        if isMismatch { return "KeyMismatch" }
        if text.contains("UnauthorizedRegistration") { return "UnauthorizedRegistration" }
        guard let document = try? JSONParser.parse(body) else { return "" }
        if let word = document["reason"]?.stringValue, isWord(word) { return word }
        return document["errno"]?.integerValue.map { "Errno\($0)" } ?? ""
    }

    /// The reason goes into logs and lists: anything but a word counts as absent.
    private static func isWord(_ reason: String) -> Bool {
        reason.utf8.allSatisfy(\.isASCIIAlphanumeric) && (1...64).contains(reason.utf8.count)
    }
}
