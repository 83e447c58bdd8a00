import PealCore
import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("Webhooks that are due")
struct DueWebhookTests {
    @Test("are found with the same number of statements, however many wait", arguments: StoreUnderTest.allCases)
    func statements(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let counter = StatementCounter(fixture.test.engine)
        let store = SQLStore(engine: counter, masterKey: fixture.test.masterKey)
        func due() async throws -> (webhooks: [WebhookReference], statements: Int) {
            let before = counter.count
            let found = try await store.read { [now = fixture.now] in try $0.dueWebhooks(now: now) }
            return (found, counter.count - before)
        }
        let apps = [fixture.app] + (try await apps(4, fixture))
        var (waiting, expected): ([Webhook], [WebhookReference]) = ([], [])
        for app in apps {
            for number in 1...3 {
                let webhook = try await webhook("\(number)", of: app, fixture)
                try await enqueue(1, to: webhook, dueIn: number == 3 ? .seconds(60) : .zero, fixture)
                if number == 3 { waiting.append(webhook) } else { expected.append(webhook.reference) }
            }
        }
        let many = try await due()
        #expect(many.webhooks == expected.sorted())
        #expect(many.statements == 2)
        // Enough events for a request wait for no time, and those of a deleted webhook for nothing.
        try await enqueue(Limits.webhookItemsPerRequestMax - 1, to: waiting[0], dueIn: .seconds(60), fixture)
        try await fixture.store.write(.control) { [app = apps[1], now = fixture.now] in
            _ = try $0.deleteWebhook(app: app, name: "1", now: now)
        }
        let gone = expected.first { $0.app == apps[1] }
        #expect(try await due().webhooks == (expected.filter { $0 != gone } + [waiting[0].reference]).sorted())
    }

    @Test("are those with deliveries that are due and not leased", arguments: StoreUnderTest.allCases)
    func deliveries(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let apps = [fixture.app] + (try await apps(1, fixture))
        var references: [WebhookReference] = []
        for app in apps {
            for name in ["a", "b"] {
                let webhook = try await webhook(name, of: app, fixture)
                references.append(webhook.reference)
                try await enqueue(1, to: webhook, dueIn: .zero, fixture)
                try await fixture.store.write(.rest) { [now = fixture.now, id = UInt64(references.count)] in
                    let delivery = WebhookDelivery(
                        id: WebhookDeliveryID(high: 7, low: id), webhook: webhook.reference, type: "t", itemCount: 1,
                        createdAt: now)
                    _ = try $0.cut(
                        try $0.outboxEvents(for: webhook.reference, limit: 9), into: delivery, body: [], owner: "me",
                        until: now + .seconds(name == "a" ? 60 : 0))
                }
            }
        }
        #expect(try await fixture.dueWebhooks() == [references[1], references[3]].sorted())
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.dueWebhooks() == references.sorted())
    }

    private func apps(_ count: Int, _ fixture: Fixture) async throws -> [AppKey] {
        var keys: [AppKey] = []
        for number in 1...count {
            let app = App(id: AppID(high: 0xA, low: UInt64(number)), key: 0, name: "Another", createdAt: fixture.now)
            keys.append(try await fixture.store.write(.control) { try $0.insertApp(app) }.key)
        }
        return keys
    }

    private func webhook(_ name: String, of app: AppKey, _ fixture: Fixture) async throws -> Webhook {
        let webhook = Webhook(
            key: 0, app: app, name: name, url: "https://example.com/", kind: "events",
            authentication: .bearer(accessToken: "s3cret"), createdAt: fixture.now, changedAt: fixture.now)
        return try await fixture.store.write(.control) { try $0.putWebhook(webhook) }.webhook
    }

    private func enqueue(_ count: Int, to webhook: Webhook, dueIn delay: Duration, _ fixture: Fixture) async throws {
        try await fixture.store.write(.settle) { [now = fixture.now, randomness = fixture.randomness] writer in
            for _ in 0..<count {
                var event = OutboxEvent(
                    id: OutboxEventID(high: randomness.next(), low: 1), app: webhook.app, type: "t", payload: [],
                    createdAt: now)
                event.dueAt = now + delay
                try writer.enqueue(event, to: webhook.reference)
            }
        }
    }
}

/// An engine that counts the statements of its reads.
private final class StatementCounter: SQLEngine {
    private let engine: any SQLEngine
    private let counted = Mutex(0)
    var count: Int { counted.withLock { $0 } }
    var dialect: SQLDialect { engine.dialect }

    init(_ engine: any SQLEngine) { self.engine = engine }

    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R {
        try await engine.read(lane) { connection in
            try body(Connection(base: connection) { self.counted.withLock { $0 += 1 } })
        }
    }

    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R { try await engine.write(lane, body) }

    func migrate(_ body: @escaping @Sendable (any SQLConnection) throws -> Void) async throws {
        try await engine.migrate(body)
    }

    func exclusively<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws -> R { try await engine.exclusively(body) }

    func close() throws {}

    private struct Connection: SQLConnection {
        let base: any SQLConnection
        let count: () -> Void

        func query(_ sql: String, _ parameters: [SQLValue], _ row: (any SQLRow) throws -> Void) throws {
            count()
            try base.query(sql, parameters, row)
        }

        func query(_ sql: String, each sets: [[SQLValue]], _ row: (any SQLRow) throws -> Void) throws {
            for _ in sets { count() }
            try base.query(sql, each: sets, row)
        }

        func execute(_ sql: String, _ parameters: [SQLValue]) throws -> Int { try base.execute(sql, parameters) }

        func execute(_ sql: String, rows: [[SQLValue]]) throws -> [Int] { try base.execute(sql, rows: rows) }
    }
}
