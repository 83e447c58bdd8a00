import PealCore
import Testing

@testable import PealProviders

@Suite("APNs verdicts")
struct APNsVerdictsTests {
    /// Names a row in failures.
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let reason: String
        let verdict: Verdict
        var isBroadcast = false

        var testDescription: String { "\(isBroadcast ? "broadcast " : "")\(status) \(reason)" }

        init(_ status: Int, _ reason: String, _ verdict: Verdict, isBroadcast: Bool = false) {
            self.status = status
            self.reason = reason
            self.verdict = verdict
            self.isBroadcast = isBroadcast
        }
    }

    static let dead = Timestamp(milliseconds: 1_500_000_000_123)
    static let doubted = Verdict.retireAddress(since: nil, isSuspicious: true)
    static let gone = Verdict.retireAddress(since: dead, isSuspicious: false)

    /// Every row of Apple's table, and unknown reasons.
    static let devices: [Row] = [
        Row(200, "", .accepted),
        Row(400, "BadCollapseId", .rejectMessage), Row(400, "BadExpirationDate", .rejectMessage),
        Row(400, "BadPriority", .rejectMessage), Row(400, "InvalidPushType", .rejectMessage),
        Row(400, "PayloadEmpty", .rejectMessage), Row(400, "DuplicateHeaders", .rejectMessage),
        Row(400, "MissingDeviceToken", .rejectMessage), Row(400, "BadMessageId", .rejectMessage),
        Row(400, "BadDeviceToken", doubted), Row(400, "DeviceTokenNotForTopic", doubted),
        Row(400, "BadTopic", .stopApp), Row(400, "MissingTopic", .stopApp), Row(400, "TopicDisallowed", .stopApp),
        Row(400, "IdleTimeout", .reconnect), Row(400, "SomethingNew", .rejectMessage), Row(400, "", .rejectMessage),
        Row(403, "BadCertificate", .stopApp), Row(403, "BadCertificateEnvironment", .stopApp),
        Row(403, "ExpiredProviderToken", .refreshCredential), Row(403, "InvalidProviderToken", .stopApp),
        Row(403, "MissingProviderToken", .stopApp), Row(403, "Forbidden", .rejectMessage),
        Row(403, "UnrelatedKeyIdInToken", .reconnect), Row(403, "BadEnvironmentKeyIdInToken", .stopApp),
        Row(403, "BadEnvironmentKeyInToken", .stopApp), Row(403, "SomethingNew", .rejectMessage),
        Row(403, "", .rejectMessage),
        Row(404, "BadPath", .rejectMessage), Row(404, "", .rejectMessage), Row(405, "MethodNotAllowed", .rejectMessage),
        Row(410, "Unregistered", gone), Row(410, "ExpiredToken", gone), Row(410, "SomethingNew", .rejectMessage),
        Row(410, "BadDeviceToken", .rejectMessage), Row(410, "", .rejectMessage),
        Row(408, "", .retry(after: nil)),
        Row(413, "PayloadTooLarge", .rejectMessage), Row(418, "BadDeviceToken", .rejectMessage),
        Row(429, "TooManyRequests", .holdAddress(after: .seconds(30))),
        Row(429, "TooManyProviderTokenUpdates", .retry(after: .seconds(10))),
        Row(500, "InternalServerError", .retry(after: nil)), Row(502, "", .retry(after: nil)),
        Row(503, "ServiceUnavailable", .retry(after: nil)), Row(503, "Shutdown", .reconnect),
        Row(599, "SomethingNew", .retry(after: nil)), Row(500, "Unregistered", .retry(after: nil)),
        Row(302, "", .rejectMessage),
    ]

    /// Additional answers to broadcasts.
    static let channels: [Row] = [
        Row(200, "", .accepted, isBroadcast: true),
        Row(400, "ChannelNotRegistered", .retireAddress(since: nil, isSuspicious: false), isBroadcast: true),
        Row(400, "BadChannelId", .retireAddress(since: nil, isSuspicious: false), isBroadcast: true),
        Row(400, "FeatureNotEnabled", .stopApp, isBroadcast: true),
        Row(400, "TopicDisallowed", .stopApp, isBroadcast: true),
        Row(403, "TopicMismatch", .stopApp, isBroadcast: true),
        Row(400, "MissingChannelId", .rejectMessage, isBroadcast: true),
        Row(400, "BadRequestParams", .rejectMessage, isBroadcast: true),
        Row(400, "BadRequestPayload", .rejectMessage, isBroadcast: true),
        Row(400, "MissingPushType", .rejectMessage, isBroadcast: true),
        Row(400, "CannotCreateChannelConfig", .rejectMessage, isBroadcast: true),
        Row(400, "BadExpirationDate", .rejectMessage, isBroadcast: true),
        Row(400, "MissingChannelQueueSize", .rejectMessage, isBroadcast: true),
        Row(400, "SomethingNew", .rejectMessage, isBroadcast: true),
        Row(403, "ExpiredProviderToken", .refreshCredential, isBroadcast: true),
        Row(413, "PayloadTooLarge", .rejectMessage, isBroadcast: true),
        Row(429, "TooManyRequests", .holdAddress(after: .seconds(30)), isBroadcast: true),
        Row(503, "ServiceUnavailable", .retry(after: nil), isBroadcast: true),
        Row(503, "Shutdown", .reconnect, isBroadcast: true),
    ]

    @Test("follow the table", arguments: devices + channels)
    func table(row: Row) {
        let verdict = APNsVerdicts.verdict(
            status: row.status, reason: row.reason, timestamp: Self.dead, isBroadcast: row.isBroadcast)
        #expect(verdict == row.verdict)
    }

    @Test("a device's address is never retired by reasons about channels")
    func channelWords() {
        for reason in ["ChannelNotRegistered", "BadChannelId", "FeatureNotEnabled"] {
            #expect(APNsVerdicts.verdict(status: 400, reason: reason) == .rejectMessage)
        }
    }

    @Test(
        "a GOAWAY is an answer to waiting requests only if it names the credential",
        arguments: [
            ("BadCertificate", Verdict.stopApp as Verdict?), ("BadCertificateEnvironment", .stopApp),
            ("InvalidProviderToken", .stopApp), ("MissingProviderToken", .stopApp),
            ("ExpiredProviderToken", .refreshCredential), ("Forbidden", .stopApp), ("IdleTimeout", nil),
            ("Shutdown", nil), ("UnrelatedKeyIdInToken", nil), ("SomethingNew", nil), ("BadDeviceToken", nil),
        ])
    func goAway(reason: String, verdict: Verdict?) {
        #expect(APNsVerdicts.verdict(goAway: reason) == verdict)
    }

    private func exchange(_ time: ManualTime) throws -> APNsExchange {
        APNsExchange(
            tokens: try ProviderTokenTable(time: time, randomness: SeededRandomness()).tokens(for: testCredential),
            time: time)
    }

    @Test("follow from reason and timestamp in the body")
    func body() throws {
        let exchange = try exchange(ManualTime())
        let answer = exchange.answer(
            to: .init(status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1500000000123}"#.utf8)))
        #expect(answer.result == .verdict(.retireAddress(since: Self.dead, isSuspicious: false)))
        #expect(answer.reason == "Unregistered")
        #expect(answer.status == 410)
        let late = exchange.answer(
            to: .init(status: 410, body: Array(#"{"reason":"ExpiredToken","timestamp":9e18}"#.utf8)))
        #expect(late.result == .verdict(.retireAddress(since: nil, isSuspicious: false)))
        // Not a valid reason: judged by its class, and no line break reaches a log.
        let odd = exchange.answer(to: .init(status: 410, body: Array(#"{"reason":"Gone\nfor ever"}"#.utf8)))
        #expect(odd == ProviderAnswer(.verdict(.rejectMessage), reason: "Status410", status: 410))
        #expect(exchange.answer(to: .init(status: 502, body: Array("<html>".utf8))).reason == "Status502")
        let busy = exchange.answer(
            to: .init(status: 503, body: Array(#"{"reason":"Service Unavailable"}"#.utf8), retryAfter: .seconds(90)))
        #expect(
            busy == ProviderAnswer(.verdict(.retry(after: .seconds(90))), reason: "ServiceUnavailable", status: 503))
    }

    @Test("obey a Retry-After that is a date, unless it has passed")
    func retryAfterDate() throws {
        let time = ManualTime()
        let exchange = try exchange(time)
        func verdict(_ seconds: Int64) -> ProviderAnswer.Result {
            exchange.answer(to: .init(status: 503, retryAfter: .date(time.now + .seconds(seconds)))).result
        }
        #expect(verdict(3600) == .verdict(.retry(after: .seconds(3600))))
        #expect(verdict(-1) == .verdict(.retry(after: nil)))
    }

    @Test(
        "a refused provider token is blamed on the clock where the answer's date says so",
        arguments: [(61, true), (-7200, true), (60, false), (0, false)] as [(Int64, Bool)])
    func clock(seconds: Int64, isBlamed: Bool) throws {
        let time = ManualTime()
        let exchange = try exchange(time)
        _ = exchange.authorization()
        for reason in ["ExpiredProviderToken", "InvalidProviderToken"] {
            let body = Array(#"{"reason":"\#(reason)"}"#.utf8)
            let answer = exchange.answer(to: .init(status: 403, body: body, date: time.now + .seconds(seconds)))
            #expect(answer.reason == (isBlamed ? "\(reason) ClockSkew" : reason))
            #expect(answer.result == .verdict(.stopApp))
        }
        let other = ProviderResponse(
            status: 403, body: Array(#"{"reason":"Forbidden"}"#.utf8), date: time.now + .seconds(seconds))
        #expect(exchange.answer(to: other).reason == "Forbidden")
    }

    @Test("an expired provider token is replaced when it was old, and stops the app when it was young")
    func expired() throws {
        let time = ManualTime()
        let exchange = try exchange(time)
        let first = try #require(exchange.authorization())
        let response = ProviderResponse(status: 403, body: Array(#"{"reason":"ExpiredProviderToken"}"#.utf8))
        #expect(exchange.answer(to: response).result == .verdict(.stopApp))
        #expect(exchange.answer(toGoAway: "ExpiredProviderToken")?.result == .verdict(.stopApp))
        time.advance(.seconds(21 * 60))
        #expect(exchange.answer(to: response).result == .verdict(.refreshCredential))
        let second = try #require(exchange.authorization())
        #expect(second != first)
        // Other requests that were sent under the first one.
        #expect(exchange.answer(to: response).result == .verdict(.refreshCredential))
        #expect(exchange.authorization() == second)
        time.advance(.seconds(60))
        #expect(exchange.answer(to: response).result == .verdict(.stopApp))
        // A certificate has no provider token that could expire.
        #expect(APNsExchange(tokens: nil, time: time).answer(to: response).result == .verdict(.stopApp))
    }

    @Test("after too many provider tokens the earlier one is used again, and never a new one")
    func tooMany() throws {
        let time = ManualTime()
        let exchange = try exchange(time)
        let first = exchange.authorization()
        time.advance(.seconds(50 * 60))
        let second = exchange.authorization()
        #expect(first != second)
        let response = ProviderResponse(status: 429, body: Array(#"{"reason":"TooManyProviderTokenUpdates"}"#.utf8))
        for _ in 0..<5 { #expect(exchange.answer(to: response).result == .verdict(.retry(after: .seconds(10)))) }
        #expect(exchange.authorization() == first)
    }

    @Test("what the connection asks for depends on credential, environment and kind of address")
    func exchanges() throws {
        let signing = try exchange(ManualTime())
        #expect(signing.provesFirst && signing.idName == "apns-id" && signing.remarkName == nil)
        let certificate = APNsExchange(tokens: nil, time: ManualTime(), environment: .sandbox)
        #expect(!certificate.provesFirst && certificate.authorization() == nil)
        #expect(certificate.remarkName == "apns-unique-id")
        let broadcast = APNsExchange(tokens: nil, time: ManualTime(), isBroadcast: true)
        #expect(broadcast.idName == "apns-request-id" && broadcast.remarkName == "apns-unique-id")
        func needsAlert(_ status: Int, _ reason: String) -> Bool {
            signing.needsAlert(
                signing.answer(to: .init(status: status, body: Array(#"{"reason":"\#(reason)"}"#.utf8))))
        }
        #expect(needsAlert(404, "BadPath") && needsAlert(405, "MethodNotAllowed") && needsAlert(403, "Forbidden"))
        #expect(!needsAlert(400, "BadPriority") && !needsAlert(403, "InvalidProviderToken"))
        let answer = certificate.answer(to: .init(status: 200, remark: "abc-1"))
        #expect(answer == ProviderAnswer(.verdict(.accepted), reason: "apns-unique-id abc-1", status: 200))
    }
}
