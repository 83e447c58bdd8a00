import PealCore
@testable import PealReports
import PealTesting
import Testing

@Suite("Requests to webhooks")
struct WebhookRequestTests {
    private let now = Timestamp(seconds: 1_614_265_330)
    private let body = Array(#"{"a":1}"#.utf8)

    private func request(_ form: Webhook.Form, _ authentication: Webhook.Authentication) throws -> WebhookRequest {
        let webhook = Webhook(
            key: 1, app: 1, name: "w", url: "HTTPS://Example.com/A?b=C", kind: form.kind,
            authentication: authentication,
            createdAt: now, changedAt: now)
        let delivery = WebhookDelivery(
            id: .init(high: 0, low: 5), webhook: webhook.reference, type: "message_status", itemCount: 1, createdAt: now
        )
        return WebhookRequest(
            delivery, body: body, to: try WebhookRules().target(webhook.url), of: webhook, form, now: now)
    }

    private static let id = "00000000-0000-0000-0000-000000000005"

    @Test("the signature equals that of the vendor's example")
    func vector() throws {
        // The example of Svix, whose scheme Standard Webhooks took over: https://docs.svix.com (verifying manually).
        let key = try #require(Base64URL.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = WebhookRequest.signature(
            of: Array(#"{"test": 2432232314}"#.utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330,
            key: key)
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test("an event has the id and signature that Standard Webhooks specifies")
    func signature() throws {
        let key = Array<UInt8>(0..<32)
        let request = try request(.events, .signature(key: key))
        #expect(request.url == "https://example.com/A?b=C")
        #expect(request.header("webhook-id") == Self.id)
        #expect(request.header("webhook-timestamp") == "1614265330")
        let signature = WebhookRequest.signature(of: body, id: Self.id, seconds: now.seconds, key: key)
        #expect(request.header("webhook-signature") == signature)
        #expect(request.headers.filter { $0.name == "webhook-id" }.count == 1)
        #expect(request.header("content-type") == "application/json")
        #expect(request.body == body)
    }

    @Test("a kind's own headers contain secret, type and id")
    func ownHeaders() throws {
        let request = try request(.gathered, .secret("s3cret"))
        #expect(request.header("X-Secret") == "s3cret")
        #expect(request.header("X-Event-Type") == "message_status")
        #expect(request.header("X-Idempotency-Key") == Self.id)
        #expect(request.header("webhook-id") == nil)
    }

    @Test(
        "every kind supports every general form of authentication",
        arguments: [
            (Webhook.Authentication.basic(username: "u", password: "p:ä"), "authorization", "Basic dTpwOsOk"),
            (.bearer(accessToken: "abc"), "authorization", "Bearer abc"),
            (.header(name: "X-Key", value: "v w"), "X-Key", "v w"),
        ])
    func proofs(_ authentication: Webhook.Authentication, name: String, value: String) throws {
        for form in ReportComposers.test.all.map(\.form) {
            let request = try request(form, authentication)
            #expect(request.header(name) == value)
            #expect(request.header("webhook-signature") == nil)
            #expect((request.header("webhook-id") ?? request.header("X-Idempotency-Key")) == Self.id)
        }
    }
}
