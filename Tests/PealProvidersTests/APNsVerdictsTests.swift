import PealCore
import Testing

@testable import PealProviders

@Suite("APNs verdicts")
struct APNsVerdictsTests {
    static let dead = Timestamp(milliseconds: 1_500_000_000_123)

    static let rows: [(Int, String, Verdict)] = [
        (200, "", .accepted),
        (400, "BadCollapseId", .rejectMessage), (400, "BadExpirationDate", .rejectMessage),
        (400, "BadPriority", .rejectMessage), (400, "InvalidPushType", .rejectMessage),
        (400, "PayloadEmpty", .rejectMessage), (400, "DuplicateHeaders", .rejectMessage),
        (400, "MissingDeviceToken", .rejectMessage), (400, "BadMessageId", .rejectMessage),
        (400, "BadDeviceToken", .retireAddress(since: nil, isSuspicious: true)),
        (400, "DeviceTokenNotForTopic", .retireAddress(since: nil, isSuspicious: true)),
        (400, "BadTopic", .stopApp), (400, "MissingTopic", .stopApp), (400, "TopicDisallowed", .stopApp),
        (400, "IdleTimeout", .reconnect), (400, "SomethingNew", .rejectMessage), (400, "", .rejectMessage),
        (403, "BadCertificate", .stopApp), (403, "BadCertificateEnvironment", .stopApp),
        (403, "ExpiredProviderToken", .refreshCredential), (403, "InvalidProviderToken", .stopApp),
        (403, "MissingProviderToken", .stopApp), (403, "Forbidden", .stopApp),
        (403, "UnrelatedKeyIdInToken", .reconnect), (403, "BadEnvironmentKeyIdInToken", .stopApp),
        (403, "BadEnvironmentKeyInToken", .stopApp),
        (404, "BadPath", .rejectMessage), (404, "", .rejectMessage), (405, "MethodNotAllowed", .rejectMessage),
        (410, "Unregistered", .retireAddress(since: dead, isSuspicious: false)),
        (410, "ExpiredToken", .retireAddress(since: dead, isSuspicious: false)),
        (410, "SomethingNew", .rejectMessage),
        (413, "PayloadTooLarge", .rejectMessage),
        (429, "TooManyRequests", .holdAddress(after: .seconds(30))),
        (429, "TooManyProviderTokenUpdates", .retry(after: .seconds(10))),
        (500, "InternalServerError", .retry(after: nil)), (502, "", .retry(after: nil)),
        (503, "ServiceUnavailable", .retry(after: nil)), (503, "Shutdown", .reconnect),
        (599, "SomethingNew", .retry(after: nil)), (302, "", .rejectMessage),
    ]

    @Test("follow the table", arguments: rows)
    func table(status: Int, reason: String, verdict: Verdict) {
        #expect(APNsVerdicts.verdict(status: status, reason: reason, timestamp: Self.dead) == verdict)
    }

    private func exchange(_ time: ManualTime) throws -> APNsExchange {
        APNsExchange(tokens: try ProviderTokens(testCredential, time: time, randomness: SeededRandomness()))
    }

    @Test("read reason and timestamp out of the body")
    func body() throws {
        let exchange = try exchange(ManualTime())
        let answer = exchange.answer(
            to: .init(status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1500000000123}"#.utf8)))
        #expect(answer.result == .verdict(.retireAddress(since: Self.dead, isSuspicious: false)))
        #expect(answer.reason == "Unregistered")
        #expect(answer.status == 410)
        let odd = exchange.answer(
            to: .init(status: 410, body: Array(#"{"reason":"Gone\nfor ever","timestamp":9e18}"#.utf8)))
        #expect(
            odd == Answer(.verdict(.retireAddress(since: nil, isSuspicious: false)), reason: "Status410", status: 410))
        #expect(exchange.answer(to: .init(status: 502, body: Array("<html>".utf8))).reason == "Status502")
        #expect(
            exchange.answer(to: .init(status: 503, retryAfterSeconds: 90)).result
                == .verdict(.retry(after: .seconds(90))))
    }

    @Test("an expired provider token is replaced when it was old, and stops the app when it was young")
    func expired() throws {
        let time = ManualTime()
        let exchange = try exchange(time)
        let first = try #require(exchange.authorization())
        let response = ProviderResponse(status: 403, body: Array(#"{"reason":"ExpiredProviderToken"}"#.utf8))
        #expect(exchange.answer(to: response).result == .verdict(.stopApp))
        time.advance(.seconds(21 * 60))
        #expect(exchange.answer(to: response).result == .verdict(.refreshCredential))
        let second = try #require(exchange.authorization())
        #expect(second != first)
        // Others that went out under the first one.
        #expect(exchange.answer(to: response).result == .verdict(.refreshCredential))
        #expect(exchange.authorization() == second)
        time.advance(.seconds(60))
        #expect(exchange.answer(to: response).result == .verdict(.stopApp))
    }
}
