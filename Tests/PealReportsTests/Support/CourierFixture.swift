import PealCore
import PealReports
import PealStore
import PealTesting

/// A store with one app, a manual clock, and shortcuts for webhooks and events.
struct CourierFixture: Sendable {
    let test: TestStore
    let app: AppKey
    let time = ManualTime()

    var store: SQLStore { test.store }
    var now: Timestamp { time.now }

    init() async throws {
        test = try await StoreUnderTest.selected.open()
        app = try await test.makeApp().key
    }

    func courier(
        _ transport: ScriptedTransport, composers: ReportComposers = .test, seed: UInt64 = 3
    ) -> WebhookCourier {
        WebhookCourier(
            store: store, transport: transport, composers: composers, rules: WebhookRules(), time: time,
            randomness: SeededRandomness(seed: seed))
    }

    func webhook(
        _ name: String = "main", form: Webhook.Form = .events,
        authentication: Webhook.Authentication = .bearer(accessToken: "a")
    ) async throws -> Webhook {
        let webhook = Webhook(
            key: 0, app: app, name: name, url: "https://\(name).example/", kind: form.kind,
            authentication: authentication,
            createdAt: now, changedAt: now)
        return try await store.write(.control) { try $0.putWebhook(webhook).webhook }
    }

    static func event(_ number: Int, app: AppKey = 1, type: String = "t", at: Timestamp) -> OutboxEvent {
        OutboxEvent(
            id: OutboxEventID(high: 1, low: UInt64(number)), app: app, type: type, payload: Array("\(number)".utf8),
            createdAt: at)
    }

    func enqueue(
        _ numbers: ClosedRange<Int>, type: String = "t", for form: Webhook.Form = .events
    ) async throws {
        try await store.write(.settle) { [app, now] store in
            for number in numbers {
                try store.enqueue(Self.event(number, app: app, type: type, at: now), for: [form.kind])
            }
        }
    }

    /// Newest first.
    func deliveries(_ webhook: Webhook) async throws -> [WebhookDelivery] {
        try await store.read { try $0.deliveries(of: webhook.reference, before: nil, limit: 200) }
    }
}
