import Logging
import PealCore
import Testing

@testable import PealProviders

@Suite("FCM verdicts")
struct FCMVerdictsTests {
    /// An answer: HTTP status, error code of the detail, `error.status`, further members of the details,
    /// `error.message`.
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        var code: String?
        var word: String?
        var details: String?
        var message = "no more"
        var retryAfter: Int?
        let verdict: Verdict
        let reason: String

        var body: String {
            var details = details.map { [$0] } ?? []
            if let code {
                details.append(
                    #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#)
            }
            let word = word.map { #""status":"\#($0)","# } ?? ""
            let list = details.joined(separator: ",")
            return #"{"error":{"code":\#(status),\#(word)"message":"\#(message)","details":[\#(list)]}}"#
        }
        var testDescription: String { "\(status) \(code ?? "-") \(word ?? "-") \(details ?? "") \(message)" }
    }

    static let dead = Verdict.retireAddress(since: nil, isSuspicious: false)
    static let suspect = Verdict.retireAddress(since: nil, isSuspicious: true)

    private static func violation(_ field: String, _ description: String = "bad") -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)","#
            + #""description":"\#(description)"}]}"#
    }

    private static func quota(_ subject: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(subject)","#
            + #""description":"rate exceeded"}]}"#
    }

    private static let delay = #"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12.5s"}"#

    /// The message is at fault, or the address: 400, 403 and 404 with FCM's code.
    static let refusals: [Row] = [
        Row(
            status: 400, code: "INVALID_ARGUMENT", word: "INVALID_ARGUMENT",
            message: "The registration token is not a valid FCM registration token", verdict: suspect,
            reason: "INVALID_ARGUMENT"),
        Row(
            status: 400, code: "INVALID_ARGUMENT", word: "INVALID_ARGUMENT", details: violation("message.token"),
            verdict: suspect, reason: "INVALID_ARGUMENT"),
        Row(
            status: 400, code: "INVALID_ARGUMENT", word: "INVALID_ARGUMENT", details: violation("message.fid"),
            verdict: suspect, reason: "INVALID_ARGUMENT"),
        Row(
            status: 400, word: "INVALID_ARGUMENT", details: violation("message.android.ttl"), verdict: .rejectMessage,
            reason: "INVALID_ARGUMENT_android_ttl"),
        Row(
            status: 400, code: "INVALID_ARGUMENT", word: "INVALID_ARGUMENT",
            details: violation("message.data[0].key", "not in a registration token"), verdict: .rejectMessage,
            reason: "INVALID_ARGUMENT_data_0__key"),
        Row(
            status: 400, code: "INVALID_ARGUMENT", word: "INVALID_ARGUMENT", message: "Android message is too big",
            verdict: .rejectMessage, reason: "INVALID_ARGUMENT"),
        Row(
            status: 400, details: violation(String(repeating: "x", count: 99)), verdict: .rejectMessage,
            reason: "Status400"),
        Row(
            status: 400, word: "FAILED_PRECONDITION", verdict: .rejectMessage, reason: "FAILED_PRECONDITION"),
        Row(
            status: 403, code: "SENDER_ID_MISMATCH", word: "PERMISSION_DENIED", verdict: suspect,
            reason: "SENDER_ID_MISMATCH"),
        Row(status: 404, code: "UNREGISTERED", word: "NOT_FOUND", verdict: dead, reason: "UNREGISTERED"),
        Row(status: 404, code: "UNREGISTERED", word: "UNREGISTERED", verdict: dead, reason: "UNREGISTERED"),
        Row(status: 404, word: "UNREGISTERED", verdict: dead, reason: "UNREGISTERED"),
    ]

    /// The app is at fault.
    static let stops: [Row] = [
        Row(status: 403, word: "PERMISSION_DENIED", verdict: .stopApp, reason: "PERMISSION_DENIED"),
        Row(status: 404, word: "NOT_FOUND", verdict: .stopApp, reason: "NOT_FOUND"),
        Row(
            status: 403, code: "PERMISSION_DENIED", word: "PERMISSION_DENIED", verdict: .stopApp,
            reason: "PERMISSION_DENIED"),
        Row(
            status: 401, code: "THIRD_PARTY_AUTH_ERROR", word: "UNAUTHENTICATED",
            verdict: .holdAddress(after: .seconds(3600)), reason: "THIRD_PARTY_AUTH_ERROR"),
        Row(
            status: 401, code: "APNS_AUTH_ERROR", word: "UNAUTHENTICATED",
            verdict: .holdAddress(after: .seconds(3600)), reason: "APNS_AUTH_ERROR"),
    ]

    /// FCM asks for fewer requests.
    static let throttles: [Row] = [
        Row(
            status: 429, code: "QUOTA_EXCEEDED", word: "RESOURCE_EXHAUSTED", verdict: .holdApp(after: .seconds(60)),
            reason: "QUOTA_EXCEEDED"),
        Row(
            status: 429, code: "QUOTA_EXCEEDED", word: "RESOURCE_EXHAUSTED", retryAfter: 12,
            verdict: .holdApp(after: .seconds(12)), reason: "QUOTA_EXCEEDED"),
        Row(
            status: 429, word: "RESOURCE_EXHAUSTED", details: delay, verdict: .holdApp(after: .seconds(13)),
            reason: "RESOURCE_EXHAUSTED"),
        Row(
            status: 429, code: "QUOTA_EXCEEDED", word: "RESOURCE_EXHAUSTED", details: quota("device:abc"),
            verdict: .holdAddress(after: .seconds(60)), reason: "QUOTA_EXCEEDED"),
        Row(
            status: 429, code: "QUOTA_EXCEEDED", word: "RESOURCE_EXHAUSTED", details: quota("project:abc"),
            retryAfter: 100_000, verdict: .holdApp(after: .seconds(21_600)), reason: "QUOTA_EXCEEDED"),
        Row(
            status: 429, code: "QUOTA_EXCEEDED", message: "Device message rate exceeded",
            verdict: .holdAddress(after: .seconds(60)), reason: "QUOTA_EXCEEDED"),
    ]

    /// FCM is in trouble.
    static let troubles: [Row] = [
        Row(status: 500, code: "INTERNAL", word: "INTERNAL", verdict: .retry(after: nil), reason: "INTERNAL"),
        Row(status: 503, code: "UNAVAILABLE", word: "UNAVAILABLE", verdict: .retry(after: nil), reason: "UNAVAILABLE"),
        Row(
            status: 503, code: "UNAVAILABLE", word: "UNAVAILABLE", retryAfter: 30, verdict: .retry(after: .seconds(30)),
            reason: "UNAVAILABLE"),
        Row(status: 500, code: "UNSPECIFIED_ERROR", verdict: .retry(after: nil), reason: "UNSPECIFIED_ERROR"),
        Row(status: 409, word: "ABORTED", verdict: .retry(after: nil), reason: "ABORTED"),
        Row(status: 499, word: "CANCELLED", verdict: .retry(after: nil), reason: "CANCELLED"),
        Row(status: 504, word: "DEADLINE_EXCEEDED", verdict: .retry(after: nil), reason: "DEADLINE_EXCEEDED"),
    ]

    /// Unknown answers are judged by their class and never retire an address.
    static let unknown: [Row] = [
        Row(status: 400, code: "NEW_CODE", word: "INVALID_ARGUMENT", verdict: .rejectMessage, reason: "NEW_CODE"),
        Row(status: 403, code: "NEW_CODE", word: "PERMISSION_DENIED", verdict: .rejectMessage, reason: "NEW_CODE"),
        Row(status: 404, code: "NEW_CODE", word: "NOT_FOUND", verdict: .rejectMessage, reason: "NEW_CODE"),
        Row(status: 410, code: "NEW_CODE", verdict: .rejectMessage, reason: "NEW_CODE"),
        Row(status: 410, word: "NEW_WORD", verdict: .rejectMessage, reason: "NEW_WORD"),
        Row(
            status: 429, code: "NEW_CODE", verdict: .holdApp(after: .seconds(60)), reason: "NEW_CODE"),
        Row(status: 503, code: "NEW_CODE", retryAfter: 5, verdict: .retry(after: .seconds(10)), reason: "NEW_CODE"),
        Row(status: 599, word: "NEW_WORD", verdict: .retry(after: nil), reason: "NEW_WORD"),
        Row(status: 418, code: "no\\nword", word: "no word", verdict: .rejectMessage, reason: "Status418"),
    ]

    private func exchange(_ source: ScriptedTokens = ScriptedTokens()) async -> FCMExchange {
        let time = ManualTime()
        let tokens = AccessTokens(
            source: source, time: time, randomness: SeededRandomness(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        _ = await tokens.ready()
        return FCMExchange(tokens: tokens, time: time)
    }

    @Test("follow the table", arguments: refusals + stops + throttles + troubles + unknown)
    func table(row: Row) async {
        let answer = await exchange().answer(
            to: .init(
                status: row.status, body: Array(row.body.utf8), retryAfter: row.retryAfter.map(RetryAfter.seconds)))
        #expect(answer == ProviderAnswer(.verdict(row.verdict), reason: row.reason, status: row.status))
    }

    @Test(
        "follow HTTP's status if the body says nothing",
        arguments: [
            (200, Verdict.accepted), (204, .accepted), (302, .rejectMessage), (400, .rejectMessage), (403, .stopApp),
            (404, .stopApp), (405, .rejectMessage), (408, .retry(after: nil)), (413, .rejectMessage),
            (429, .holdApp(after: .seconds(60))),
            (500, .retry(after: nil)), (502, .retry(after: nil)), (503, .retry(after: nil)), (504, .retry(after: nil)),
        ])
    func statusAlone(status: Int, verdict: Verdict) async {
        let exchange = await exchange()
        for body in ["", "<html>", #"{"error":"x"}"#, #"{"error":{"details":[{"errorCode":7}]}}"#] {
            let answer = exchange.answer(to: .init(status: status, body: Array(body.utf8)))
            let reason = verdict == .accepted ? "" : "Status\(status)"
            #expect(answer == ProviderAnswer(.verdict(verdict), reason: reason, status: status))
        }
    }

    @Test("nothing is retried within Google's ten seconds, whatever Retry-After says", arguments: [503, 500, 429])
    func least(status: Int) async {
        let answer = await exchange().answer(to: .init(status: status, retryAfter: .seconds(1)))
        let wait = Duration.seconds(10)
        #expect(answer.result == .verdict(status == 429 ? .holdApp(after: wait) : .retry(after: wait)))
    }

    @Test("a date in Retry-After counts from now")
    func retryDate() async {
        let response = ProviderResponse(status: 503, retryAfter: .date(ManualTime().now + .seconds(90)))
        #expect(await exchange().answer(to: response).result == .verdict(.retry(after: .seconds(90))))
    }

    @Test("401 renews the access token once, and stops the app when the new one is refused too")
    func unauthenticated() async {
        let source = ScriptedTokens()
        let exchange = await exchange(source)
        var response = ProviderResponse(
            status: 401, body: Array(#"{"error":{"code":401,"status":"UNAUTHENTICATED"}}"#.utf8))
        response.authorizationVersion = 1
        #expect(exchange.answer(to: response).result == .verdict(.refreshCredential))
        _ = await exchange.tokens.ready()
        // Another request that was sent under the first one.
        #expect(exchange.answer(to: response).result == .verdict(.refreshCredential))
        response.authorizationVersion = 2
        #expect(
            exchange.answer(to: response) == ProviderAnswer(.verdict(.stopApp), reason: "UNAUTHENTICATED", status: 401))
        #expect(exchange.authorization() == nil)
        #expect(exchange.obstacle() == ProviderAnswer(.verdict(.stopApp), reason: "AccessTokenRefused", status: 401))
        #expect(source.fetches == 2)
    }
}
