import PealCore
import PealStore
import PealTesting
import Testing

/// The end of a message and its report event are one transaction.
@Suite("Events of messages")
struct ReportEventTests {
    private func webhook(_ fixture: Fixture, _ kind: Webhook.Kind = "events") async throws -> WebhookReference {
        let webhook = Webhook(
            key: 0, app: fixture.app, name: kind.rawValue, url: "https://example.com", kind: kind,
            authentication: .secret("s"), createdAt: fixture.now, changedAt: fixture.now)
        return try await fixture.store.write(.control) { try $0.putWebhook(webhook).webhook.reference }
    }

    private func types(_ reference: WebhookReference, _ fixture: Fixture) async throws -> [String] {
        try await fixture.store.read { try $0.outboxEvents(for: reference, limit: 9).map(\.type) }
    }

    private func move(
        _ id: MessageID, _ fixture: Fixture, from: Message.State, to state: Message.State
    ) async throws {
        let before = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.moveMessage(app: app, id: id, from: [from], to: state, now: now)
        }
        #expect(before == from)
    }

    @Test("a sent message is reported once its last device is settled", arguments: StoreUnderTest.allCases)
    func sent(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let reference = try await webhook(fixture)
        try await fixture.registerMany(1...3)
        let message = try await fixture.send(.all)
        #expect(try await types(reference, fixture) == [])
        _ = try await Worker(fixture: fixture).run()
        #expect(try await types(reference, fixture) == ["message.sent"])
        let facts = try await fixture.store.read { [app = fixture.app] in try $0.facts(app: app, message: message.id) }
        #expect(facts?.report.total.accepted == 3)
        #expect(facts?.report.message.state == .sent)
        let gone = try await fixture.store.read { [app = fixture.app] in
            try $0.facts(app: app, message: MessageID(high: 9, low: 9))
        }
        #expect(gone == nil)
    }

    @Test("a message to no device is reported at once", arguments: StoreUnderTest.allCases)
    func nobody(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let reference = try await webhook(fixture)
        _ = try await fixture.send(.all)
        #expect(try await types(reference, fixture) == ["message.sent"])
        _ = try await fixture.send(.all, lifeSeconds: 0)
        #expect(try await Set(types(reference, fixture)) == ["message.sent", "message.expired"])
    }

    @Test(
        "a message that is cancelled before it is planned is reported at once, and otherwise when its rest is settled",
        arguments: StoreUnderTest.allCases)
    func cancelled(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let reference = try await webhook(fixture)
        let early = fixture.draft(.all, startAt: fixture.now + .seconds(60))
        try await fixture.store.write(.intake) { try $0.insertMessage(early) }
        try await move(early.id, fixture, from: .scheduled, to: .cancelled)
        #expect(try await types(reference, fixture) == ["message.cancelled"])
        try await fixture.registerMany(1...3)
        let late = try await fixture.send(.all)
        try await move(late.id, fixture, from: .sending, to: .cancelled)
        #expect(try await types(reference, fixture) == ["message.cancelled"])
        let slices = try await fixture.lease()
        for slice in slices { _ = try await Worker(fixture: fixture).run(slice, outcome: .suppressed) }
        #expect(try await types(reference, fixture) == ["message.cancelled", "message.cancelled"])
    }

    @Test("a message that cannot be planned is reported as failed", arguments: StoreUnderTest.allCases)
    func failed(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let reference = try await webhook(fixture)
        let draft = fixture.draft(.all)
        try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        try await move(draft.id, fixture, from: .planning, to: .failed)
        #expect(try await types(reference, fixture) == ["message.failed"])
    }

    @Test("a paused message that expires is reported as expired", arguments: StoreUnderTest.allCases)
    func expired(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let reference = try await webhook(fixture)
        let draft = fixture.draft(.all)
        try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        try await move(draft.id, fixture, from: .planning, to: .paused)
        fixture.time.advance(by: .seconds(3600))
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.endExpiredMessages(now: now, limit: 9)
        }
        #expect(try await types(reference, fixture) == ["message.expired"])
    }

    @Test(
        "a kind of webhook receives events of its own dialect's messages, with their source",
        arguments: StoreUnderTest.allCases)
    func ownDialect(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (events, single) = (try await webhook(fixture), try await webhook(fixture, "single"))
        for dialect in ["native", "single"] as [DialectName] {
            var draft = fixture.draft(.all)
            draft.dialect = dialect
            draft.source = Array("{}".utf8)
            let made = draft
            try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] store in
                try store.insertMessage(made)
                _ = try store.plan(app: app, id: made.id, owner: nil, now: now)
            }
        }
        #expect(try await types(events, fixture).count == 2)
        let reported = try await fixture.store.read { try $0.outboxEvents(for: single, limit: 9) }
        #expect(reported.count == 1)
        let message = try #require(reported.first?.message)
        let facts = try await fixture.store.read { [app = fixture.app] in try $0.facts(app: app, message: message) }
        #expect(facts?.source == Array("{}".utf8))
        #expect(facts?.report.message.dialect == "single")
        #expect(facts?.app.key == fixture.app)
    }
}
