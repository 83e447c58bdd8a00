import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Webhooks in the store")
struct WebhookStoreTests {
    private static func webhook(
        _ fixture: Fixture, _ name: String = "main", kind: Webhook.Kind = "events",
        authentication: Webhook.Authentication = .bearer(accessToken: "s3cret")
    ) -> Webhook {
        Webhook(
            key: 0, app: fixture.app, name: name, url: "https://example.com/\(name)", kind: kind,
            authentication: authentication, createdAt: fixture.now, changedAt: fixture.now)
    }

    @discardableResult
    private static func put(_ webhook: Webhook, _ fixture: Fixture) async throws -> (webhook: Webhook, isNew: Bool) {
        try await fixture.store.write(.control) { try $0.putWebhook(webhook) }
    }

    @Test(
        "every kind of authentication is read back unchanged and stored sealed",
        arguments: [
            Webhook.Authentication.basic(username: "u", password: "pä"), .bearer(accessToken: "t"),
            .header(name: "X-Key", value: "v"), .signature(key: Array(0..<32)), .secret("s"),
        ])
    func authentication(_ authentication: Webhook.Authentication) async throws {
        let fixture = try await Fixture(.sqlite)
        let put = try await Self.put(Self.webhook(fixture, authentication: authentication), fixture)
        #expect(put.isNew)
        let read = try await fixture.store.read { try $0.webhook(put.webhook.reference) }
        #expect(read == put.webhook)
        let foreign = SQLStore(
            engine: fixture.test.engine, masterKey: try #require(MasterKey(bytes: Array(repeating: 1, count: 32))))
        let error = await #expect(throws: PealError.self) {
            try await foreign.read { _ = try $0.webhook(put.webhook.reference) }
        }
        #expect(error?.code == .internal)
    }

    @Test("a webhook is replaced in place, and one of another kind is a new one", arguments: StoreUnderTest.allCases)
    func replacement(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let first = try await Self.put(Self.webhook(fixture), fixture).webhook
        fixture.time.advance(by: .seconds(9))
        try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.disableWebhook(first.reference, now: now)
        }
        #expect(try await fixture.store.read { try $0.webhook(first.reference)?.disabledAt } == fixture.now)
        var changed = Self.webhook(fixture)
        changed.url = "https://example.org/"
        let second = try await Self.put(changed, fixture)
        #expect(!second.isNew)
        #expect(second.webhook.key == first.key)
        #expect(second.webhook.createdAt == first.createdAt)
        let named = try await fixture.store.read { [app = fixture.app] in try $0.webhook(app: app, name: "main") }
        #expect(named == second.webhook)
        let third = try await Self.put(Self.webhook(fixture, kind: "gathered"), fixture)
        #expect(third.isNew)
        #expect(third.webhook.key != first.key)
        try await Self.put(Self.webhook(fixture, "also"), fixture)
        func names(after cursor: String?) async throws -> [String] {
            try await fixture.store.read { [app = fixture.app] in
                try $0.webhooks(app: app, after: cursor, limit: 9).map(\.name)
            }
        }
        #expect(try await names(after: nil) == ["also", "main"])
        #expect(try await names(after: "also") == ["main"])
        let deleted = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            [
                try $0.deleteWebhook(app: app, name: "also", now: now),
                try $0.deleteWebhook(app: app, name: "also", now: now),
            ]
        }
        #expect(deleted == [true, false])
    }

    @Test("a webhook that cannot be read can be deleted, and put again", arguments: StoreUnderTest.allCases)
    func unreadable(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let damaged = try await Self.put(Self.webhook(fixture, "main"), fixture).webhook
        try await fixture.test.engine.write(.control) {
            _ = try $0.execute("UPDATE webhook SET sealed = \([UInt8(1)]) WHERE webhook = \(damaged.key)")
        }
        let isDeleted = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.deleteWebhook(app: app, name: "main", now: now)
        }
        #expect(isDeleted)
        #expect(try await Self.put(Self.webhook(fixture, "main"), fixture).isNew)
    }

    @Test("an event is queued once for each webhook that receives its type", arguments: StoreUnderTest.allCases)
    func queueing(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let events = try await Self.put(Self.webhook(fixture, "events"), fixture).webhook
        let context = try await Self.put(Self.webhook(fixture, "context", kind: "gathered"), fixture).webhook
        let idle = try await Self.put(Self.webhook(fixture, "idle"), fixture).webhook
        try await fixture.store.write(.control) { [now = fixture.now] in try $0.disableWebhook(idle.reference, now: now)
        }
        let event = OutboxEvent(
            id: OutboxEventID(high: 1, low: 1), app: fixture.app, type: "a.b", payload: Array("{}".utf8),
            createdAt: fixture.now)
        func enqueue(_ kinds: [Webhook.Kind]) async throws -> Int {
            try await fixture.store.write(.settle) { try $0.enqueue(event, for: kinds) }
        }
        #expect(try await enqueue(["events", "gathered"]) == 2)
        #expect(try await enqueue(["events", "gathered"]) == 0)
        #expect(try await enqueue(["single"]) == 0)
        func waiting(_ webhook: Webhook) async throws -> [OutboxEvent] {
            try await fixture.store.read { try $0.outboxEvents(for: webhook.reference, limit: 9) }
        }
        #expect(try await waiting(events) == [event])
        #expect(try await waiting(context).map(\.dueAt) == [fixture.now + Webhook.Form.gathered.gathering])
        #expect(try await waiting(idle) == [])
        #expect(try await fixture.dueWebhooks() == [events.reference])
        fixture.time.advance(by: Webhook.Form.gathered.gathering)
        #expect(try await fixture.dueWebhooks() == [events.reference, context.reference].sorted())
        let large = OutboxEvent(
            id: OutboxEventID(high: 2, low: 2), app: fixture.app, type: "a",
            payload: Array(repeating: 0, count: Limits.webhookPayloadBytesMax + 1), createdAt: fixture.now)
        await #expect(throws: PealError.self) {
            try await fixture.store.write(.settle) { try $0.enqueue(large, for: ["events"]) }
        }
    }

    /// A webhook with `count` events queued, all cut into deliveries leased to `me` for a minute.
    private func cut(_ fixture: Fixture, count: Int) async throws -> (webhook: Webhook, leased: [LeasedDelivery]) {
        let webhook = try await Self.put(Self.webhook(fixture), fixture).webhook
        let leased = try await fixture.store.write(.settle) { [now = fixture.now, app = fixture.app] store in
            for number in 1...count {
                let event = OutboxEvent(
                    id: OutboxEventID(high: 1, low: UInt64(number)), app: app, type: "t", payload: [], createdAt: now)
                try store.enqueue(event, for: ["events"])
            }
            return try store.outboxEvents(for: webhook.reference, limit: count).compactMap { event in
                let delivery = WebhookDelivery(
                    id: WebhookDeliveryID(high: 7, low: event.id.low), webhook: webhook.reference, type: event.type,
                    itemCount: 1, createdAt: now)
                return try store.cut(
                    [event], into: delivery, body: Array("{}".utf8), owner: "me", until: now + .seconds(60))
            }
        }
        #expect(leased.count == count)
        return (webhook, leased)
    }

    @Test("an event becomes only one delivery", arguments: StoreUnderTest.allCases)
    func cutOnce(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (webhook, leased) = try await cut(fixture, count: 1)
        let event = OutboxEvent(
            id: OutboxEventID(high: 1, low: 1), app: fixture.app, type: "t", payload: [], createdAt: fixture.now)
        let again = try await fixture.store.write(.settle) { [now = fixture.now] store in
            try store.cut([event], into: leased[0].delivery, body: nil, owner: "you", until: now)
        }
        #expect(again == nil)
        #expect(try await fixture.dueWebhooks() == [])
        #expect(try await fixture.store.read { try $0.outboxEvents(for: webhook.reference, limit: 9) } == [])
    }

    private func lease(_ webhook: Webhook, _ fixture: Fixture, limit: Int = 9) async throws -> [LeasedDelivery] {
        try await fixture.store.write(.settle) { [now = fixture.now] in
            try $0.leaseDeliveries(
                of: webhook.reference, limit: limit, owner: "you", until: now + .seconds(60), now: now)
        }
    }

    @Test("a leased delivery cannot be leased again until its lease ends", arguments: StoreUnderTest.allCases)
    func leases(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (webhook, mine) = try await cut(fixture, count: 2)
        #expect(try await lease(webhook, fixture) == [])
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.dueWebhooks() == [webhook.reference])
        let yours = try await lease(webhook, fixture, limit: 1)
        #expect(yours.map(\.term) == [2])
        #expect(yours.map(\.body) == [Array("{}".utf8)])
        // Deliveries that were leased before are no longer written.
        var lost = mine[0]
        lost.delivery.state = .delivered
        let stale = lost
        #expect(try await fixture.store.write(.settle) { try !$0.settle(stale) })
        var done = yours[0]
        done.delivery.state = .delivered
        done.delivery.attempts = 1
        done.delivery.lastStatus = 204
        done.delivery.endedAt = fixture.now
        let settled = done
        #expect(try await fixture.store.write(.settle) { try $0.settle(settled) })
        #expect(try await fixture.store.write(.settle) { try !$0.settle(settled) })
        let kept = try await fixture.store.read {
            try $0.delivery(of: webhook.reference, id: settled.delivery.id)
        }
        #expect(kept == settled.delivery)
        try await fixture.store.write(.control) { try $0.takeBackDeliveries() }
        #expect(try await lease(webhook, fixture).count == 1)
    }

    @Test("a failed delivery is retried, a delivered one never", arguments: StoreUnderTest.allCases)
    func retry(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (webhook, leased) = try await cut(fixture, count: 2)
        var (good, bad) = (leased[0], leased[1])
        good.delivery.state = .delivered
        bad.delivery.state = .failed
        good.delivery.endedAt = fixture.now
        bad.delivery.endedAt = fixture.now
        let settled = [good, bad]
        _ = try await fixture.store.write(.settle) { store in try settled.map { try store.settle($0) } }
        fixture.time.advance(by: .seconds(100))
        func retry(_ leased: LeasedDelivery) async throws -> WebhookDelivery? {
            try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.retryDelivery(of: webhook.reference, id: leased.delivery.id, now: now)
            }
        }
        #expect(try await retry(good) == nil)
        let bodies = try await fixture.test.engine.read {
            try $0.count("SELECT COUNT(*) FROM webhook_delivery WHERE body IS NOT NULL")
        }
        #expect(bodies == 1, "what was delivered is not kept")
        let retried = try #require(try await retry(bad))
        #expect(retried.state == .pending)
        #expect(retried.startedAt == fixture.now)
        #expect(retried.endedAt == nil)
        #expect(try await lease(webhook, fixture).map(\.delivery.id) == [bad.delivery.id])
        let ids = try await fixture.store.read { store in
            let first = try store.deliveries(of: webhook.reference, before: nil, limit: 1)
            let second = try store.deliveries(of: webhook.reference, before: first.last?.id, limit: 9)
            return (first + second).map(\.id.low)
        }
        #expect(ids == [2, 1])
    }

    @Test(
        "a delivery that waits for its retry can be sent at once, and is still given up a day after its first attempt",
        arguments: StoreUnderTest.allCases)
    func retryNow(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (webhook, leased) = try await cut(fixture, count: 1)
        var waiting = leased[0]
        waiting.delivery.attempts = 1
        waiting.delivery.nextAttemptAt = fixture.now + .seconds(3600)
        let settled = waiting
        #expect(try await fixture.store.write(.settle) { try $0.settle(settled) })
        fixture.time.advance(by: .seconds(100))
        #expect(try await lease(webhook, fixture) == [])
        let retried = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.retryDelivery(of: webhook.reference, id: settled.delivery.id, now: now)
        }
        #expect(retried?.nextAttemptAt == fixture.now && retried?.startedAt == settled.delivery.startedAt)
        #expect(try await lease(webhook, fixture).map(\.delivery.id) == [settled.delivery.id])
    }

    @Test("data is deleted after its retention, and what may be requested stays", arguments: StoreUnderTest.allCases)
    func pruning(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (webhook, leased) = try await cut(fixture, count: 3)
        let states: [WebhookDelivery.State] = [.delivered, .failed]
        for (index, state) in states.enumerated() {
            var ended = leased[index]
            ended.delivery.state = state
            ended.delivery.endedAt = fixture.now
            let settled = ended
            _ = try await fixture.store.write(.settle) { try $0.settle(settled) }
        }
        try await fixture.store.write(.settle) { [now = fixture.now, app = fixture.app] in
            _ = try $0.enqueue(
                OutboxEvent(id: OutboxEventID(high: 9, low: 9), app: app, type: "t", payload: [], createdAt: now),
                for: ["events"])
        }
        func left() async throws -> [String] {
            try await fixture.store.write(.rest) { [now = fixture.now] store in
                _ = try store.prune(now: now, limit: 100)
                return try store.deliveries(of: webhook.reference, before: nil, limit: 9).map(\.state.name)
                    + store.outboxEvents(for: webhook.reference, limit: 9).map(\.type)
            }
        }
        #expect(try await left() == ["pending", "failed", "delivered", "t"])
        fixture.time.advance(by: .seconds(Limits.webhookDeliveredLifeSeconds))
        #expect(try await left() == ["pending", "failed"])
        fixture.time.advance(by: .seconds(Limits.webhookFailedLifeSeconds))
        #expect(try await left() == ["pending"])
    }

    @Test("a deleted app's webhooks are deleted too", arguments: StoreUnderTest.allCases)
    func deletion(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (webhook, leased) = try await cut(fixture, count: 1)
        _ = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.deleteApp(app, now: now)
        }
        #expect(try await fixture.store.read { try $0.webhook(webhook.reference) } == nil)
        let now = fixture.now
        #expect(try await fixture.store.read { try $0.dueWebhooks(now: now) } == [])
        try await fixture.pruneAll()
        #expect(
            try await fixture.store.read { try $0.delivery(of: webhook.reference, id: leased[0].delivery.id) } == nil)
    }
}
