import PealCore

/// Maps push services' answers to verdicts (RFC 8030 §5–8; Mozilla: mozilla-services.github.io/autopush-rs/errors.html;
/// Apple: "Sending web push notifications in web apps and browsers"; FCM answers in sentences).
enum WebPushVerdicts {
    /// How long to hold an origin that asked for a pause of unknown length.
    static let originHold = Duration.seconds(60)
    /// The pause before a retry that a push service allows immediately.
    static let soon = Duration.seconds(1)

    /// The reasons for a subscription created with another application server key. `KeyMismatch` is Peal's own reason
    /// for the sentences of FCM and Mozilla.
    static let keyMismatches: Set<String> = ["VapidPkHashMismatch", "KeyMismatch", "UnauthorizedRegistration"]

    /// The reasons of Apple, Mozilla's error numbers, and those for sentences.
    static let reasons: Set<String> = keyMismatches.union([
        "BadAuthorizationHeader", "BadJwtToken", "BadTtl", "BadUrgency", "BadWebPushRequest", "BadWebPushTopic",
        "Errno101", "Errno102", "Errno103", "Errno104", "Errno105", "Errno106", "Errno107", "Errno108", "Errno109",
        "Errno110", "Errno111", "Errno112", "Errno113", "Errno201", "Errno202", "Errno901", "Errno902", "Errno903",
        "Errno999", "ExpiredJwtToken", "ExpiredSubscription", "InvalidSubscription", "PayloadTooLarge",
        "TooManyRequests", "UnregisteredSubscription",
    ])

    /// - Parameters:
    ///   - reason: the result of `reason(in:)`; empty if there was none. An unknown one is judged by the status class
    ///     and never retires an address.
    ///   - retryAfter: the wait in the Retry-After field.
    /// - Returns: `refreshCredential` for a problem with the JWT: one retry with a new JWT, then the app is stopped.
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
        // 202: an immediate retry is allowed.
        case (500..., "Errno202"): .retry(after: retryAfter ?? soon)
        // 408: the request did not arrive in full (RFC 9110 §15.5.9).
        case (408, _), (500..., _): .retry(after: retryAfter)
        default: .rejectMessage
        }
    }

    /// Whether a pause is asked for the whole origin. Apple's 429 is about one subscription ("The server received too
    /// many requests for the same device token"), as in APNs.
    static func holdsOrigin(status: Int, reason: String) -> Bool {
        [406, 429].contains(status) && reason != "TooManyRequests"
    }

    /// The reason in a response's body: Apple's `reason`, Mozilla's `errno` such as `Errno110`, or Peal's own for
    /// sentences about a key that is not the subscription's. Empty if there is none.
    static func reason(in body: [UInt8]) -> String {
        let text = String(decoding: body.prefix(Limits.responseBodyBytesMax), as: UTF8.self)
        let isMismatch = ["do not correspond to", "does not correspond to", "public key mismatch"]
            .contains { text.contains($0) }
        if isMismatch { return "KeyMismatch" }
        if text.contains("UnauthorizedRegistration") { return "UnauthorizedRegistration" }
        guard let document = try? JSONParser.parse(body) else { return "" }
        if let reason = document["reason"]?.stringValue?.asReason() { return reason }
        return document["errno"]?.integerValue.map { "Errno\($0)" } ?? ""
    }
}
