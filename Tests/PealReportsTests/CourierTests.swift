import PealCore
@testable import PealReports
import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("The courier", .timeLimit(.minutes(2)))
struct CourierTests {
    @Test("each event is sent in a request of its own, with type, time and data")
    func events() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook()
        try await fixture.enqueue(1...20, type: "message.sent")
        let transport = ScriptedTransport(status: 204)
        await fixture.courier(transport).runOnce()
        #expect(transport.requests.count == 20)
        #expect(
            Set(transport.requests.map(\.text))
                == Set((1...20).map { #"{"type":"message.sent","timestamp":"\#(fixture.now)","data":\#($0)}"# }))
        #expect(Set(transport.requests.map { $0.header("webhook-id") }).count == 20)
        let deliveries = try await fixture.deliveries(webhook)
        #expect(deliveries.count == 20)
        #expect(deliveries.allSatisfy { $0.state == .delivered && $0.attempts == 1 && $0.lastStatus == 204 })
    }

    @Test("events are gathered for 5 s, a hundred per request, in order")
    func gathered() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook(form: .gathered, authentication: .secret("s"))
        let transport = ScriptedTransport(status: 200)
        let courier = fixture.courier(transport)
        try await fixture.enqueue(1...99, for: .gathered)
        await courier.runOnce()
        #expect(transport.requests.isEmpty)
        try await fixture.enqueue(100...150, for: .gathered)
        await courier.runOnce()
        let hundred = JSON.array((1...100).map { .integer($0) }).text
        #expect(transport.requests.map(\.text) == [hundred])
        fixture.time.advance(by: .seconds(5))
        await courier.runOnce()
        #expect(transport.requests.map(\.text).last == JSON.array((101...150).map { .integer($0) }).text)
        #expect(try await fixture.deliveries(webhook).map(\.itemCount) == [50, 100])
    }

    @Test("a refused delivery is retried unchanged under the same id until it is accepted")
    func retries() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook()
        try await fixture.enqueue(1...1)
        let count = Mutex(0)
        let transport = ScriptedTransport { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number < 3 ? .answered(status: 503, retryAfter: nil) : .answered(status: 200, retryAfter: nil)
        }
        let courier = fixture.courier(transport)
        for wait in [0, 4, 2, 9, 3] as [Int64] {
            fixture.time.advance(by: .seconds(wait))
            await courier.runOnce()
        }
        #expect(transport.requests.count == 3)
        #expect(Set(transport.requests.map { $0.header("webhook-id") }).count == 1)
        #expect(Set(transport.requests.map(\.body)).count == 1)
        #expect(transport.requests.map { $0.header("webhook-timestamp") }.last == "\(fixture.now.seconds)")
        #expect(try await fixture.deliveries(webhook).map(\.state) == [.delivered])
        #expect(courier.metrics.snapshot.retried == 2)
        #expect(courier.metrics.snapshot.delivered == 1)
    }

    @Test("a receiver that fails gets one request at a time")
    func oneAtATime() async throws {
        let fixture = try await CourierFixture()
        _ = try await fixture.webhook()
        try await fixture.enqueue(1...5)
        let requests = Mutex((now: 0, most: 0))
        let transport = ScriptedTransport { _ in
            requests.withLock { requests in
                requests.now += 1
                requests.most = max(requests.most, requests.now)
            }
            // If another request could begin meanwhile, it would.
            try? await Task.sleep(for: .milliseconds(2))
            requests.withLock { $0.now -= 1 }
            return .answered(status: 503, retryAfter: nil)
        }
        let courier = fixture.courier(transport)
        await courier.runOnce()
        #expect(transport.requests.count == 5)
        requests.withLock { $0.most = 0 }
        fixture.time.advance(by: .seconds(10))
        await courier.runOnce()
        #expect(transport.requests.count == 10)
        #expect(requests.withLock { $0.most } == 1)
    }

    @Test("a delivery fails after a day, and can be retried then")
    func givenUp() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook()
        try await fixture.enqueue(1...1)
        let transport = ScriptedTransport { _ in .failed(.noConnection) }
        let courier = fixture.courier(transport)
        for _ in 0..<60 {
            await courier.runOnce()
            fixture.time.advance(by: .seconds(1800))
        }
        let failed = try #require(try await fixture.deliveries(webhook).first)
        #expect(failed.state == .failed)
        #expect(failed.lastError == "NoConnection")
        #expect((20...40).contains(failed.attempts))
        #expect(courier.metrics.snapshot.failed == 1)
        let made = transport.requests.count
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.retryDelivery(of: webhook.reference, id: failed.id, now: now)
        }
        await courier.runOnce()
        #expect(transport.requests.count == made + 1)
        #expect(try await fixture.deliveries(webhook).first?.state == .pending)
    }

    @Test("410 disables the webhook and drops waiting events")
    func gone() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook(form: .gathered, authentication: .secret("s"))
        try await fixture.enqueue(1...150, for: .gathered)
        let transport = ScriptedTransport(status: 410)
        let courier = fixture.courier(transport)
        await courier.runOnce()
        fixture.time.advance(by: .seconds(60))
        await courier.runOnce()
        #expect(transport.requests.count == 1)
        #expect(try await fixture.store.read { try $0.webhook(webhook.reference)?.disabledAt } != nil)
        #expect(try await fixture.store.read { try $0.outboxEvents(for: webhook.reference, limit: 9).count } == 0)
        #expect(try await fixture.deliveries(webhook).map(\.state) == [.failed])
    }

    @Test("410 from a URL that was replaced while the request was under way says nothing about the new one")
    func formerlyGone() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook("old")
        try await fixture.enqueue(1...1)
        let transport = ScriptedTransport { request in
            guard request.url.contains("old") else { return .answered(status: 200, retryAfter: nil) }
            var changed = webhook
            changed.url = "https://new.example/"
            changed.changedAt = webhook.changedAt + .milliseconds(1)
            _ = try? await fixture.store.write(.control) { [changed] in try $0.putWebhook(changed) }
            return .answered(status: 410, retryAfter: nil)
        }
        let courier = fixture.courier(transport)
        await courier.runOnce()
        #expect(try await fixture.store.read { try $0.webhook(webhook.reference)?.disabledAt } == nil)
        #expect(try await fixture.deliveries(webhook).map(\.state) == [.pending])
        fixture.time.advance(by: .seconds(10))
        await courier.runOnce()
        #expect(transport.requests.map(\.url) == ["https://old.example/", "https://new.example/"])
        #expect(try await fixture.deliveries(webhook).map(\.state) == [.delivered])
    }

    @Test("a receiver that does not answer does not delay others")
    func isolation() async throws {
        let fixture = try await CourierFixture()
        let slow = try await fixture.webhook("slow")
        let quick = try await fixture.webhook("quick")
        try await fixture.enqueue(1...3)
        let transport = ScriptedTransport { [time = fixture.time] request in
            guard request.url.contains("slow") else { return .answered(status: 200, retryAfter: nil) }
            try? await time.sleep(for: .seconds(3600))
            return .failed(.timeout)
        }
        let courier = fixture.courier(transport)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await courier.runOnce() }
            try await Polling.wait(for: "the quick receiver's deliveries") {
                try await fixture.deliveries(quick).filter { $0.state == .delivered }.count == 3
            }
            // Another event for both: the slow one is still being served, the quick one is served again.
            try await fixture.enqueue(4...4)
            // The quick one's lane may outlive its last delivery for a moment: then the next round serves it.
            try await Polling.wait(for: "the quick receiver's last delivery") {
                await courier.runOnce()
                return try await fixture.deliveries(quick).filter { $0.state == .delivered }.count == 4
            }
            #expect(try await fixture.deliveries(slow).filter { $0.state == .delivered }.count == 0)
            group.cancelAll()
        }
        // A request cancelled with its process is not a failed attempt.
        let delayed = try await fixture.deliveries(slow)
        #expect(delayed.count >= 3 && delayed.allSatisfy { $0.lastError == nil })
    }

    @Test("receivers that fail, however many, leave half of the slots to others and take turns")
    func failingShare() async throws {
        let fixture = try await CourierFixture()
        let context = CourierContext(
            store: fixture.store, transport: ScriptedTransport(status: 503), composers: .test, rules: WebhookRules(),
            time: fixture.time, randomness: SeededRandomness(seed: 3), logger: RecordedLog().logger())
        let share = Limits.webhooksServedMax / 2
        let failing = (1...Int64(2 * share)).map { WebhookReference(app: 1, key: $0) }
        for reference in failing { context.note(reference, isFailing: true) }
        #expect(failing.filter { context.beginServing($0) } == Array(failing.prefix(share)))
        #expect(failing.prefix(share).allSatisfy { context.mustYield($0) })
        let others = (1...Int64(share)).map { WebhookReference(app: 2, key: $0) }
        #expect(others.allSatisfy { context.beginServing($0) && !context.mustYield($0) })
        context.endServing(failing[0])
        #expect(!context.mustYield(failing[1]))
        #expect(context.beginServing(failing[share]))
    }

    @Test("what a dead process had leased is sent again under the same id")
    func restart() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook()
        try await fixture.enqueue(1...1)
        let leased = try await fixture.store.write(.rest) { [now = fixture.now] store in
            let event = try #require(try store.outboxEvents(for: webhook.reference, limit: 1).first)
            let delivery = WebhookDelivery(
                id: .init(high: 9, low: 9), webhook: webhook.reference, type: "t", itemCount: 1, createdAt: now)
            return try store.cut(
                [event], into: delivery, body: Array("{}".utf8), owner: "dead", until: now + .seconds(60))
        }
        #expect(leased != nil)
        let transport = ScriptedTransport(status: 200)
        let courier = fixture.courier(transport)
        await courier.runOnce()
        #expect(transport.requests.isEmpty)
        fixture.time.advance(by: .seconds(60))
        await courier.runOnce()
        #expect(transport.requests.map { $0.header("webhook-id") } == [leased?.delivery.id.description])
    }

    @Test("the report of a message is composed when it is sent")
    func composed() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook(form: .single)
        for source in [nil, Array("{}".utf8)] {
            let draft = MessageDraft(
                id: MessageID(high: 1, low: source == nil ? 1 : 2), app: fixture.app, dialect: "single",
                audience: Audience(), content: Content(), createdAt: fixture.now, expiresAt: fixture.now + .seconds(60),
                source: source)
            try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] store in
                try store.insertMessage(draft)
                _ = try store.plan(app: app, id: draft.id, owner: nil, now: now)
            }
        }
        let transport = ScriptedTransport(status: 200)
        await fixture.courier(transport).runOnce()
        #expect(transport.requests.map(\.text) == [#"{"state":"sent","app":"Test"}"#])
        let deliveries = try await fixture.deliveries(webhook)
        #expect(Set(deliveries.map(\.state)) == [.delivered, .failed])
        #expect(deliveries.first { $0.state == .failed }?.lastError == "NoReport")
    }

    @Test("a message that cannot be read, or was deleted, fails only its own delivery")
    func unreadable() async throws {
        let fixture = try await CourierFixture()
        let single = try await fixture.webhook(form: .single)
        let gathered = try await fixture.webhook("gathered", form: .gathered, authentication: .secret("s"))
        let ids = (1...2).map { MessageID(high: 1, low: $0) }
        for id in ids {
            let draft = MessageDraft(
                id: id, app: fixture.app, dialect: "single", audience: Audience(), content: Content(),
                createdAt: fixture.now, expiresAt: fixture.now + .seconds(60), source: Array("{}".utf8))
            try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] store in
                try store.insertMessage(draft)
                _ = try store.plan(app: app, id: id, owner: nil, now: now)
            }
        }
        try await fixture.test.engine.write(.control) {
            _ = try $0.execute("UPDATE message SET counts = \([UInt8(0xFF)]) WHERE message = \(ids[0])")
        }
        try await fixture.enqueue(1...3, for: .gathered)
        let gone = OutboxEvent(
            id: .init(high: 2, low: 2), app: fixture.app, type: "t", payload: nil, message: MessageID(high: 3, low: 3),
            createdAt: fixture.now)
        try await fixture.store.write(.settle) { try $0.enqueue(gone, to: gathered.reference) }
        fixture.time.advance(by: .seconds(5))
        let transport = ScriptedTransport(status: 200)
        await fixture.courier(transport).runOnce()
        #expect(Set(transport.requests.map(\.text)) == [#"{"state":"sent","app":"Test"}"#, "[1,2,3]"])
        for webhook in [single, gathered] {
            let deliveries = try await fixture.deliveries(webhook)
            #expect(Set(deliveries.map(\.state)) == [.delivered, .failed])
            #expect(deliveries.filter { $0.state == .failed }.map(\.lastError) == ["NoReport"])
            #expect(deliveries.filter { $0.state == .failed }.map(\.itemCount) == [1])
        }
    }

    @Test("events that cannot be read fail alone")
    func damagedEvents() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook()
        try await fixture.enqueue(1...4)
        let ids = [2, 3].map { OutboxEventID(high: 1, low: $0) }
        try await fixture.test.engine.write(.control) {
            _ = try $0.execute("UPDATE outbox SET id = \([UInt8(1)]) WHERE id = \(ids[0])")
            _ = try $0.execute("UPDATE outbox SET message = \([UInt8(1)]) WHERE id = \(ids[1])")
        }
        let transport = ScriptedTransport(status: 204)
        let courier = fixture.courier(transport)
        await courier.runOnce()
        #expect(
            Set(transport.requests.map(\.text))
                == Set([1, 4].map { #"{"type":"t","timestamp":"\#(fixture.now)","data":\#($0)}"# }))
        let failed = try await fixture.deliveries(webhook).filter { $0.state == .failed }
        #expect(failed.map(\.lastError) == ["NoReport", "NoReport"] && failed.allSatisfy { $0.type == "t" })
        #expect(courier.metrics.snapshot.failed == 2)
        let retried = try await fixture.store.write(.control) { [now = fixture.now] store in
            try failed.compactMap { try store.retryDelivery(of: webhook.reference, id: $0.id, now: now) }
        }
        #expect(retried.isEmpty)
        #expect(try await fixture.store.read { try $0.dueWebhooks(now: webhook.createdAt) }.isEmpty)
    }

    @Test("a request that cannot be read fails alone, and can be retried under its new id")
    func damagedDelivery() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook()
        try await fixture.enqueue(1...3)
        await fixture.courier(ScriptedTransport(status: 503)).runOnce()
        let damaged = try #require(try await fixture.deliveries(webhook).first).id
        try await fixture.test.engine.write(.control) {
            _ = try $0.execute("UPDATE webhook_delivery SET id = \([UInt8(1)]) WHERE id = \(damaged)")
        }
        fixture.time.advance(by: .seconds(10))
        let transport = ScriptedTransport(status: 204)
        let courier = fixture.courier(transport, seed: 4)
        await courier.runOnce()
        #expect(transport.requests.count == 2)
        let failed = try await fixture.deliveries(webhook).filter { $0.state == .failed }
        #expect(failed.map(\.lastError) == ["NoReport"])
        let id = try #require(failed.first).id
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.retryDelivery(of: webhook.reference, id: id, now: now)
        }
        await courier.runOnce()
        #expect(transport.requests.count == 3)
        #expect(try await fixture.deliveries(webhook).allSatisfy { $0.state == .delivered })
    }

    @Test("a webhook that cannot be read is tried and reported once a minute, and delays no other")
    func damagedWebhook() async throws {
        let fixture = try await CourierFixture()
        let (damaged, good) = (try await fixture.webhook("damaged"), try await fixture.webhook("good"))
        try await fixture.test.engine.write(.control) {
            _ = try $0.execute("UPDATE webhook SET sealed = \([UInt8(1)]) WHERE webhook = \(damaged.key)")
        }
        try await fixture.enqueue(1...1)
        let log = RecordedLog()
        let transport = ScriptedTransport(status: 200)
        let courier = WebhookCourier(
            store: fixture.store, transport: transport, composers: .test, rules: WebhookRules(), time: fixture.time,
            randomness: SeededRandomness(seed: 3), logger: log.logger())
        for (second, reports) in [(0, 1), (1, 0), (59, 1), (1, 0)] {
            fixture.time.advance(by: .seconds(second))
            await courier.runOnce()
            #expect(log.take().map(\.message) == Array(repeating: "cannot serve a webhook", count: reports))
        }
        #expect(try await fixture.deliveries(good).map(\.state) == [.delivered])
        #expect(try await fixture.deliveries(damaged).isEmpty)
    }

    @Test("a running courier finds new events and stops when cancelled")
    func running() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook()
        let transport = ScriptedTransport(status: 200)
        let courier = fixture.courier(transport)
        let task = Task { await courier.run() }
        await fixture.time.sleepers(1)
        try await fixture.enqueue(1...1)
        try await Polling.wait(for: "the delivery") {
            // The clock moves only while the courier sleeps: a lease must not end during its work.
            await fixture.time.sleepers(1)
            fixture.time.advance(by: .milliseconds(500))
            return try await fixture.deliveries(webhook).first?.state == .delivered
        }
        task.cancel()
        await task.value
        #expect(transport.requests.count == 1)
    }
}
