import PealCore
import PealStore
import PealTesting
import Testing

/// What was stored by a clock that was ahead does not wait until the clock has caught up.
@Suite("A clock that was set back")
struct SetBackTests {
    @Test(
        "a slice is due if it is further ahead than any retry, or any wait because of rules",
        arguments: StoreUnderTest.allCases, [false, true])
    func slice(_ engine: StoreUnderTest, isRuled: Bool) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        let (_, plan) = try await fixture.send(.devices(1), owner: "me")
        let slice = try #require(plan.leasedSlices.first)
        let worker = Worker(fixture: fixture)
        let page = try await worker.page(of: slice)
        var settlement = worker.settlement(slice, page)
        settlement.deferrals = [
            .init(
                part: 1, keys: page.keys, attempt: 1, readyAt: fixture.now + .seconds(600),
                ruledAt: isRuled ? fixture.now : nil)
        ]
        settlement.counts.accepted -= 1
        #expect(try await worker.settle([settlement]).map(\.isApplied) == [true])
        func released() async throws -> Int {
            try await fixture.pruneAll()
            return try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.releaseDueSlices(now: now, limit: 10)
            }
        }
        let longest = isRuled ? Limits.holdSecondsMax : Limits.providerWaitSecondsMax * 6 / 5
        fixture.time.setClock(by: .seconds(600 - longest))
        #expect(try await released() == 0, "waits may be as long as that")
        fixture.time.setClock(by: .seconds(-301))
        #expect(try await released() == 1)
        #expect(try await worker.run() == page.keys)
    }

    @Test("an erasure is completed at once, and what the user begins later stays", arguments: StoreUnderTest.allCases)
    func erasure(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let app = fixture.app
        try await fixture.register(1, user: "anna")
        let isComplete = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.deleteUser(app: app, userID: "anna", now: now).isComplete
        }
        #expect(isComplete)
        fixture.time.setClock(by: .seconds(-86_400))
        try await fixture.pruneAll()
        #expect(try await PruningTests.count("remainder", app: app, fixture.test) == 0)
        try await fixture.register(2, user: "anna")
        fixture.time.advance(by: .seconds(2 * 86_400))
        try await fixture.pruneAll()
        #expect(try await fixture.store.read { try $0.deviceCount(app: app, route: nil) } == 1)
    }

    @Test("an event is due", arguments: StoreUnderTest.allCases)
    func event(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let reference = try await Self.webhookWithEvent(fixture)
        fixture.time.setClock(by: .seconds(-86_400))
        #expect(try await fixture.dueWebhooks() == [])
        try await fixture.pruneAll()
        #expect(try await fixture.dueWebhooks() == [reference])
    }

    @Test("a delivery is due, whether it was leased or waited for a retry", arguments: StoreUnderTest.allCases)
    func delivery(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let reference = try await Self.webhookWithEvent(fixture)
        let delivery = WebhookDelivery(
            id: WebhookDeliveryID(high: 7, low: 1), webhook: reference, type: "t", itemCount: 1,
            createdAt: fixture.now)
        let cut = try await fixture.store.write(.rest) { [now = fixture.now] store in
            try store.cut(
                try store.outboxEvents(for: reference, limit: 9), into: delivery, body: [], owner: "gone",
                until: now + .seconds(Limits.webhookLeaseSeconds))
        }
        #expect(cut?.term == 1)
        fixture.time.setClock(by: .seconds(-86_400))
        try await fixture.pruneAll()
        #expect(try await fixture.dueWebhooks() == [reference])
        func lease() async throws -> [LeasedDelivery] {
            try await fixture.store.write(.rest) { [now = fixture.now] in
                try $0.leaseDeliveries(
                    of: reference, limit: 9, owner: "me", until: now + .seconds(Limits.webhookLeaseSeconds), now: now)
            }
        }
        var leased = try #require(try await lease().first)
        #expect(leased.term == 2)
        #expect(try await fixture.dueWebhooks() == [], "it is leased by the present clock")
        leased.delivery.nextAttemptAt = fixture.now + .seconds(Limits.webhookRetrySecondsMax)
        let isSettled = try await fixture.store.write(.rest) { [leased] in try $0.settle(leased) }
        #expect(isSettled)
        try await fixture.pruneAll()
        #expect(try await lease().isEmpty, "retries may be as far ahead as that")
        fixture.time.setClock(by: .seconds(-3600))
        try await fixture.pruneAll()
        #expect(try await lease().count == 1)
    }

    @Test("a device is due for its wake-up", arguments: StoreUnderTest.allCases)
    func wakeUp(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let device = try await fixture.register(1, user: "ann").device.key
        var installation = Installation(
            app: fixture.app, device: device, tokenHash: [1], key: KeyID(high: 1, low: 1),
            capabilities: [.background, .alerts], seenAt: fixture.now)
        installation.wakes.dueAt = fixture.now + .seconds(Limits.wakeIntervalSeconds)
        try await fixture.store.write(.control) { [installation] in try $0.putInstallation(installation) }
        fixture.time.setClock(by: .seconds(-3600))
        try await fixture.pruneAll()
        #expect(try await fixture.store.read { try $0.nextWakeAt() } == installation.wakes.dueAt, "as in quiet hours")
        fixture.time.setClock(by: .seconds(-2 * 86_400))
        try await fixture.pruneAll()
        #expect(try await fixture.store.read { try $0.nextWakeAt() } == fixture.now)
    }

    @Test("a claim ends as usual, and the alert follows", arguments: StoreUnderTest.allCases)
    func claim(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        let draft = MomentStoreTests.draft(fixture, seconds: 30 * 86_400)
        let moment = try await MomentStoreTests.insert(fixture, draft)[0]
        let claim = MomentClaim(
            id: ClaimID(high: 1, low: 1), target: .init(device: 1, route: .apnsProduction), rev: 1, hasLedger: true)
        let claimed = try await fixture.store.write(.intake) { [now = fixture.now] in
            try $0.apply(.claim(claim), to: moment, now: now)?.moment
        }
        #expect(claimed?.state == .claimed)
        func ended() async throws -> Int {
            try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.endDueClaims(now: now, limit: 10)
            }
        }
        fixture.time.setClock(by: .seconds(-86_400))
        try await fixture.pruneAll()
        #expect(try await ended() == 0)
        fixture.time.advance(by: .seconds(Limits.claimSeconds))
        try await fixture.pruneAll()
        #expect(try await ended() == 1)
        #expect(try await MomentStoreTests.moment(fixture, moment).state == .recovering)
    }

    @Test("messages from a later time do not count towards a cap", arguments: StoreUnderTest.allCases)
    func frequency(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let key = try await fixture.register(1).device.key
        func waits(_ message: UInt64) async throws -> Bool {
            try await fixture.store.write(.settle) { [app = fixture.app, now = fixture.now] in
                let cap = FrequencyCap(messages: 1, hours: 24)
                let id = MessageID(high: 1, low: message)
                return try $0.reserve([key], app: app, message: id, cap: cap, now: now)[key] != nil
            }
        }
        #expect(try await !waits(1))
        fixture.time.setClock(by: .seconds(-3600))
        #expect(try await waits(2), "it got the first one a moment ago")
        fixture.time.setClock(by: .seconds(-2 * 86_400))
        #expect(try await !waits(3))
        #expect(try await waits(4))
    }

    private static func webhookWithEvent(_ fixture: Fixture) async throws -> WebhookReference {
        let now = fixture.now
        let webhook = Webhook(
            key: 0, app: fixture.app, name: "a", url: "https://example.com/", kind: "events",
            authentication: .bearer(accessToken: "s3cret"), createdAt: now, changedAt: now)
        return try await fixture.store.write(.control) { store in
            let reference = try store.putWebhook(webhook).webhook.reference
            let event = OutboxEvent(
                id: OutboxEventID(high: 1, low: 1), app: webhook.app, type: "t", payload: [], createdAt: now)
            try store.enqueue(event, to: reference)
            return reference
        }
    }
}
