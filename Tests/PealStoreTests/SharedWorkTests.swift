import PealCore
import PealStore
import PealTesting
import Testing

/// What several servers on one database do at the same time and only one of them may have done.
@Suite("Work that servers share")
struct SharedWorkTests {
    /// Two servers on one database.
    private static func nodes() async throws -> [Fixture] {
        let fixture = try await Fixture(.postgres)
        return [fixture, Fixture(try await fixture.test.anotherNode(), app: fixture.app)]
    }

    /// Runs `body` `count` times at once, on either server in turn.
    private static func race<R: Sendable>(
        _ count: Int, _ nodes: [Fixture], _ body: @escaping @Sendable (Int, Fixture) async throws -> R
    ) async throws -> [R] {
        try await withThrowingTaskGroup(of: R.self) { group in
            for number in 0..<count {
                group.addTask { try await body(number, nodes[number % nodes.count]) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func windowed(
        _ fixture: Fixture, users: [String], method: DeliveryWindow.Method, campaign: String = "daily"
    ) -> MessageDraft {
        var audience = Audience()
        audience.users = users
        audience.platforms = [.ios]
        var draft = fixture.draft(audience, lifeSeconds: 90_000)
        draft.campaignID = campaign
        draft.window = DeliveryWindow(until: fixture.now + .seconds(3600), method: method, holdSeconds: 10)
        return draft
    }

    @Test("a message that two servers plan at once is cut into slices once")
    func plan() async throws {
        let nodes = try await Self.nodes()
        try await nodes[0].registerMany(1...500)
        for _ in 0..<5 {
            let draft = nodes[0].draft(.all)
            try await nodes[0].store.write(.intake) { try $0.insertMessage(draft) }
            _ = try await Self.race(4, nodes) { _, node in
                _ = try? await node.store.write(.control) { [now = node.now] in
                    try $0.plan(app: draft.app, id: draft.id, owner: nil, now: now)
                }
            }
            let report = try await nodes[1].store.read { try $0.report(app: draft.app, id: draft.id) }
            #expect(report?.total.pending == 500)
        }
    }

    @Test("when servers send a message with the same id concurrently, one succeeds and the others get a conflict")
    func sameID() async throws {
        let nodes = try await Self.nodes()
        try await nodes[0].registerMany(1...3)
        for _ in 0..<5 {
            let draft = nodes[0].draft(.devices(1, 2, 3))
            let refusals = try await Self.race(6, nodes) { number, node in
                let verbs = MessageVerbs(store: node.store, engine: SilentEngine())
                do {
                    _ = try await verbs.send(
                        draft, VerbCall(actor: Actor("test"), now: node.now), mayBeTaken: true
                    ) { _ in Reply(status: 200, body: []) }
                    return PealError?.none
                } catch let refusal as PealError { return refusal }
            }
            #expect(refusals.count { $0 == nil } == 1)
            #expect(refusals.compactMap(\.?.code) == Array(repeating: .conflict, count: 5))
        }
    }

    @Test("users of an experiment get one arm, although two servers assign it at once")
    func arms() async throws {
        let nodes = try await Self.nodes()
        let users = (0..<40).map { "u\($0)" }
        let arms = try await Self.race(8, nodes) { number, node in
            var made = Self.windowed(node, users: users, method: .experiment)
            made.id = MessageID(high: 7, low: UInt64(number))
            let draft = made
            let moments = try await node.store.write(.intake) { store in
                try store.insertMessage(draft)
                return try store.moments(app: draft.app, message: draft.id)
            }
            return Dictionary(uniqueKeysWithValues: moments.map { ($0.userID, $0.plannedArm) })
        }
        #expect(arms.count == 8 && Set(arms).count == 1)
    }

    @Test("a window that ends is noticed by two servers, and each user gets one alert")
    func alerts() async throws {
        let nodes = try await Self.nodes()
        let users = (1...60).map { "u\($0)" }
        for (index, user) in users.enumerated() { try await nodes[0].register(index + 1, user: user) }
        let draft = Self.windowed(nodes[0], users: users, method: .traditional)
        try await nodes[0].store.write(.intake) { try $0.insertMessage(draft) }
        let now = nodes[0].now + .seconds(10)
        _ = try await Self.race(6, nodes) { _, node in
            try await node.store.write(.control) { try $0.fireDueMoments(now: now, limit: 25) }
        }
        try await Polling.repeat("the work on due moments") {
            try await nodes[0].store.write(.control) { try $0.fireDueMoments(now: now, limit: 25) } > 0
        }
        let moments = try await nodes[1].store.read { try $0.moments(app: draft.app, message: draft.id) }
        #expect(moments.allSatisfy { $0.state == .sending && $0.tried.count == 1 })
        var keys: [DeviceKey] = []
        while case let slices = try await nodes[0].lease(limit: 20), !slices.isEmpty {
            keys += slices.flatMap { $0.keys ?? [] }
        }
        #expect(keys.sorted() == Array(1...60))
    }

    @Test("two servers that empty a webhook's queue at once make one delivery of each event")
    func deliveries() async throws {
        let nodes = try await Self.nodes()
        let app = nodes[0].app
        let webhook = try await nodes[0].store.write(.control) { [now = nodes[0].now] store in
            try store.putWebhook(
                Webhook(
                    key: 0, app: app, name: "main", url: "https://example.com", kind: "events",
                    authentication: .secret("s"), createdAt: now, changedAt: now)
            ).webhook
        }
        try await nodes[0].store.write(.settle) { [now = nodes[0].now] store in
            for number in 1...50 {
                let event = OutboxEvent(
                    id: OutboxEventID(high: 1, low: UInt64(number)), app: app, type: "t", payload: [], createdAt: now)
                _ = try store.enqueue(event, for: ["events"])
            }
        }
        let taken = try await Self.race(20, nodes) { number, node -> [UInt64] in
            try await node.store.write(.settle) { [now = node.now] store in
                let events = try store.outboxEvents(for: webhook.reference, limit: 5)
                guard !events.isEmpty else { return [] }
                let delivery = WebhookDelivery(
                    id: WebhookDeliveryID(high: 9, low: UInt64(number)), webhook: webhook.reference, type: "t",
                    itemCount: events.count, createdAt: now)
                let leased = try store.cut(
                    events, into: delivery, body: Array("{}".utf8), owner: "\(number)", until: now + .seconds(60))
                return leased == nil ? [] : events.map(\.id.low)
            }
        }
        #expect(taken.joined().sorted() == Array(1...50))
    }

    @Test("a deletion that two servers complete at once is completed, without an error")
    func pruning() async throws {
        let nodes = try await Self.nodes()
        let app = nodes[0].app
        try await nodes[0].registerMany(1...400, topics: ["a", "b"])
        try await nodes[0].store.write(.control) { [now = nodes[0].now] in _ = try $0.deleteApp(app, now: now) }
        let pieces = try await Self.race(2, nodes) { _, node in try await node.pruneAll(limit: 40) }
        #expect(pieces.contains { !$0.isEmpty })
        for table in ["device", "device_detail", "device_topic", "topic_member", "topic"] {
            #expect(try await PruningTests.count(table, app: app, nodes[1].test) == 0, "\(table)")
        }
    }
}
