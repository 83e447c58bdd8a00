import PealCore
import Testing

@testable import PealProviders

@Suite("Web Push verdicts")
struct WebPushVerdictsTests {
    private static let dead = Verdict.retireAddress(since: nil, isSuspicious: false)
    private static let doubtful = Verdict.retireAddress(since: nil, isSuspicious: true)
    private static let held = Verdict.holdAddress(after: .seconds(60))

    /// Status, body, reason, verdict.
    static let rows: [(Int, String, String, Verdict)] = [
        (200, "", "", .accepted), (201, "", "", .accepted), (202, "", "", .accepted), (204, "", "", .accepted),
        (299, #"{"reason":"Whatever"}"#, "Whatever", .accepted),
        (301, "", "", .rejectMessage), (302, "", "", .rejectMessage), (303, "", "", .rejectMessage),
        (307, "", "", .rejectMessage), (308, "", "", .rejectMessage),
        // Mozilla.
        (400, #"{"code":400,"errno":101,"error":"Bad Request"}"#, "Errno101", doubtful),
        (400, #"{"errno":108}"#, "Errno108", .rejectMessage), (400, #"{"errno":110}"#, "Errno110", doubtful),
        (400, #"{"errno":111}"#, "Errno111", .rejectMessage), (400, #"{"errno":112}"#, "Errno112", .rejectMessage),
        (400, #"{"errno":113}"#, "Errno113", .rejectMessage), (400, #"{"errno":4711}"#, "Errno4711", .rejectMessage),
        (401, #"{"errno":109,"message":"Request did not validate"}"#, "Errno109", .refreshCredential),
        (401, #"{"errno":109,"message":"VAPID public key mismatch"}"#, "KeyMismatch", doubtful),
        (404, #"{"errno":102}"#, "Errno102", dead), (410, #"{"errno":103}"#, "Errno103", dead),
        (410, #"{"errno":105}"#, "Errno105", dead), (410, #"{"errno":106}"#, "Errno106", dead),
        (413, #"{"errno":104}"#, "Errno104", .rejectMessage),
        (429, #"{"errno":114}"#, "Errno114", held),
        (503, #"{"errno":201}"#, "Errno201", .retry(after: nil)),
        (503, #"{"errno":202}"#, "Errno202", .retry(after: .seconds(1))),
        // Apple.
        (400, #"{"reason":"BadWebPushTopic"}"#, "BadWebPushTopic", .rejectMessage),
        (400, #"{"reason":"BadTtl"}"#, "BadTtl", .rejectMessage),
        (400, #"{"reason":"BadWebPushRequest"}"#, "BadWebPushRequest", .rejectMessage),
        (400, #"{"reason":"ExpirationExceeded"}"#, "ExpirationExceeded", .rejectMessage),
        (400, #"{"reason":"VapidPkHashMismatch"}"#, "VapidPkHashMismatch", doubtful),
        (400, #"{"reason":"BadJwtToken"}"#, "BadJwtToken", .refreshCredential),
        (403, #"{"reason":"VapidPkHashMismatch"}"#, "VapidPkHashMismatch", doubtful),
        (403, #"{"reason":"BadJwtToken"}"#, "BadJwtToken", .refreshCredential),
        (403, #"{"reason":"ExpirationExceeded"}"#, "ExpirationExceeded", .refreshCredential),
        (410, #"{"reason":"Unregistered"}"#, "Unregistered", dead),
        (413, #"{"reason":"PayloadTooLarge"}"#, "PayloadTooLarge", .rejectMessage),
        (429, #"{"reason":"TooManyRequests"}"#, "TooManyRequests", held),
        // FCM.
        (400, "<HTML><TITLE>UnauthorizedRegistration</TITLE>", "UnauthorizedRegistration", doubtful),
        (400, "<HTML><TITLE>InvalidTtlParameter</TITLE>", "", .rejectMessage),
        (
            403,
            "the VAPID credentials in the authorization header do not correspond to the credentials used to create "
                + "the subscriptions.\n", "KeyMismatch", doubtful
        ),
        (
            403,
            "the key in the authorization header does not correspond to the sender ID used to subscribe this user.",
            "KeyMismatch", doubtful
        ),
        (403, "invalid JWT provided", "", .refreshCredential), (401, "", "", .refreshCredential),
        (404, "", "", dead), (410, "NotRegistered", "", dead), (413, "", "", .rejectMessage), (429, "", "", held),
        // WNS.
        (406, "", "", held),
        // Unknown ones.
        (400, "", "", .rejectMessage), (400, #"{"reason":"SomethingNew"}"#, "SomethingNew", .rejectMessage),
        (402, "", "", .rejectMessage), (405, "", "", .rejectMessage),
        (408, "", "", .retry(after: nil)), (418, "x", "", .rejectMessage),
        (403, #"{"reason":"SomethingNew"}"#, "SomethingNew", .refreshCredential),
        (500, "", "", .retry(after: nil)), (502, "<html>", "", .retry(after: nil)), (503, "", "", .retry(after: nil)),
        (599, #"{"reason":"SomethingNew"}"#, "SomethingNew", .retry(after: nil)),
        // Bodies without a valid reason.
        (410, #"{"reason":"Gone\nfor ever"}"#, "", dead), (410, #"{"reason":""}"#, "", dead),
        (400, #"{"errno":"110"}"#, "", .rejectMessage), (400, "[110]", "", .rejectMessage),
    ]

    @Test("follow the table", arguments: rows)
    func table(status: Int, body: String, reason: String, verdict: Verdict) {
        let read = WebPushVerdicts.reason(in: Array(body.utf8))
        #expect(read == reason)
        #expect(WebPushVerdicts.verdict(status: status, reason: read) == verdict)
    }

    @Test("obey Retry-After")
    func retryAfter() {
        let after = Duration.seconds(137)
        #expect(WebPushVerdicts.verdict(status: 429, reason: "", retryAfter: after) == .holdAddress(after: after))
        #expect(WebPushVerdicts.verdict(status: 406, reason: "", retryAfter: after) == .holdAddress(after: after))
        #expect(WebPushVerdicts.verdict(status: 503, reason: "", retryAfter: after) == .retry(after: after))
        #expect(WebPushVerdicts.verdict(status: 503, reason: "Errno202", retryAfter: after) == .retry(after: after))
    }
}
