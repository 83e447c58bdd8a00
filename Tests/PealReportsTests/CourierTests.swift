import PealCore
@testable import PealReports
import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("The courier", .timeLimit(.minutes(2)))
struct CourierTests {
    @Test("each event goes in a request of its own, with type, time and data")
    func events() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook()
        try await desk.enqueue(1...20, type: "message.sent")
        let transport = ScriptedTransport(status: 204)
        await desk.courier(transport).runOnce()
        #expect(transport.requests.count == 20)
        #expect(
            Set(transport.requests.map(\.text))
                == Set((1...20).map { #"{"type":"message.sent","timestamp":"\#(desk.now)","data":\#($0)}"# }))
        #expect(Set(transport.requests.map { $0.header("webhook-id") }).count == 20)
        let deliveries = try await desk.deliveries(webhook)
        #expect(deliveries.count == 20)
        #expect(deliveries.allSatisfy { $0.state == .delivered && $0.attempts == 1 && $0.lastStatus == 204 })
    }

    @Test("gathered events wait 5 s and go a hundred a request, in order")
    func gathered() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook(form: .gathered, authentication: .secret("s"))
        let transport = ScriptedTransport(status: 200)
        let courier = desk.courier(transport)
        try await desk.enqueue(1...99, for: .gathered)
        await courier.runOnce()
        #expect(transport.requests.isEmpty)
        try await desk.enqueue(100...150, for: .gathered)
        await courier.runOnce()
        let hundred = JSON.array((1...100).map { .integer($0) }).text
        #expect(transport.requests.map(\.text) == [hundred])
        desk.time.advance(by: .seconds(5))
        await courier.runOnce()
        #expect(transport.requests.map(\.text).last == JSON.array((101...150).map { .integer($0) }).text)
        #expect(try await desk.deliveries(webhook).map(\.itemCount) == [50, 100])
    }

    @Test("a refused delivery comes again, the same under the same id, until it is taken")
    func retries() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook()
        try await desk.enqueue(1...1)
        let count = Mutex(0)
        let transport = ScriptedTransport { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number < 3 ? .answered(status: 503, retryAfter: nil) : .answered(status: 200, retryAfter: nil)
        }
        let courier = desk.courier(transport)
        for wait in [0, 4, 2, 9, 3] as [Int64] {
            desk.time.advance(by: .seconds(wait))
            await courier.runOnce()
        }
        #expect(transport.requests.count == 3)
        #expect(Set(transport.requests.map { $0.header("webhook-id") }).count == 1)
        #expect(Set(transport.requests.map(\.body)).count == 1)
        #expect(transport.requests.map { $0.header("webhook-timestamp") }.last == "\(desk.now.seconds)")
        #expect(try await desk.deliveries(webhook).map(\.state) == [.delivered])
        #expect(courier.metrics.snapshot.retried == 2)
        #expect(courier.metrics.snapshot.delivered == 1)
    }

    @Test("a delivery is given up after a day, and retried when asked")
    func givenUp() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook()
        try await desk.enqueue(1...1)
        let transport = ScriptedTransport { _ in .failed(.noConnection) }
        let courier = desk.courier(transport)
        for _ in 0..<60 {
            await courier.runOnce()
            desk.time.advance(by: .seconds(1800))
        }
        let failed = try #require(try await desk.deliveries(webhook).first)
        #expect(failed.state == .failed)
        #expect(failed.lastError == "NoConnection")
        #expect((20...40).contains(failed.attempts))
        #expect(courier.metrics.snapshot.failed == 1)
        let made = transport.requests.count
        _ = try await desk.store.write(.control) { [now = desk.now] in
            try $0.retryDelivery(of: webhook.place, id: failed.id, now: now)
        }
        await courier.runOnce()
        #expect(transport.requests.count == made + 1)
        #expect(try await desk.deliveries(webhook).first?.state == .pending)
    }

    @Test("410 disables the webhook and forgets what waits")
    func gone() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook(form: .gathered, authentication: .secret("s"))
        try await desk.enqueue(1...150, for: .gathered)
        let transport = ScriptedTransport(status: 410)
        let courier = desk.courier(transport)
        await courier.runOnce()
        desk.time.advance(by: .seconds(60))
        await courier.runOnce()
        #expect(transport.requests.count == 1)
        #expect(try await desk.store.read { try $0.webhook(webhook.place)?.disabledAt } != nil)
        #expect(try await desk.store.read { try $0.outboxEvents(for: webhook.place, limit: 9).count } == 0)
        #expect(try await desk.deliveries(webhook).map(\.state) == [.failed])
    }

    @Test("a receiver that does not answer delays no other")
    func isolation() async throws {
        let desk = try await Desk()
        let slow = try await desk.webhook("slow")
        let quick = try await desk.webhook("quick")
        try await desk.enqueue(1...3)
        let transport = ScriptedTransport { [time = desk.time] request in
            guard request.url.contains("slow") else { return .answered(status: 200, retryAfter: nil) }
            try? await time.sleep(for: .seconds(3600))
            return .failed(.timeout)
        }
        let courier = desk.courier(transport)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await courier.runOnce() }
            while try await desk.deliveries(quick).filter({ $0.state == .delivered }).count < 3 { await Task.yield() }
            // More for both: the slow one is still being served, the quick one is served again.
            try await desk.enqueue(4...4)
            // The quick one's lane may not have ended when its last delivery is seen: then another round finds it free.
            while try await desk.deliveries(quick).filter({ $0.state == .delivered }).count < 4 {
                await courier.runOnce()
            }
            #expect(try await desk.deliveries(slow).filter { $0.state == .delivered }.count == 0)
            group.cancelAll()
        }
        // What was given up with its process is no failed attempt.
        #expect(try await desk.deliveries(slow).allSatisfy { $0.lastError == nil })
    }

    @Test("two processes on one database send everything, and each delivery once")
    func shared() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook()
        try await desk.enqueue(1...60)
        let transport = ScriptedTransport(status: 200)
        let couriers = (1...2).map { desk.courier(transport, seed: UInt64($0)) }
        // One that is overtaken leaves the rest for its next round.
        while try await desk.deliveries(webhook).count < 60 {
            await withTaskGroup(of: Void.self) { group in
                for courier in couriers { group.addTask { await courier.runOnce() } }
            }
        }
        #expect(transport.requests.count == 60)
        #expect(Set(transport.requests.map(\.text)).count == 60)
    }

    @Test("what a dead process had leased is sent again under the same id")
    func restart() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook()
        try await desk.enqueue(1...1)
        let leased = try await desk.store.write(.rest) { [now = desk.now] store in
            let event = try #require(try store.outboxEvents(for: webhook.place, limit: 1).first)
            let delivery = WebhookDelivery(
                id: .init(high: 9, low: 9), place: webhook.place, type: "t", itemCount: 1, createdAt: now)
            return try store.cut(
                [event], into: delivery, body: Array("{}".utf8), owner: "dead", until: now + .seconds(60))
        }
        #expect(leased != nil)
        let transport = ScriptedTransport(status: 200)
        let courier = desk.courier(transport)
        await courier.runOnce()
        #expect(transport.requests.isEmpty)
        desk.time.advance(by: .seconds(60))
        await courier.runOnce()
        #expect(transport.requests.map { $0.header("webhook-id") } == [leased?.delivery.id.description])
    }

    @Test("the report of a message is composed when it is sent")
    func composed() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook(form: .single)
        for source in [nil, Array("{}".utf8)] {
            let draft = MessageDraft(
                id: MessageID(high: 1, low: source == nil ? 1 : 2), app: desk.app, dialect: "single",
                audience: Audience(), content: Content(), createdAt: desk.now, expiresAt: desk.now + .seconds(60),
                source: source)
            try await desk.store.write(.intake) { [app = desk.app, now = desk.now] store in
                try store.insertMessage(draft)
                _ = try store.plan(app: app, id: draft.id, owner: nil, now: now)
            }
        }
        let transport = ScriptedTransport(status: 200)
        await desk.courier(transport).runOnce()
        #expect(transport.requests.map(\.text) == [#"{"state":"sent","app":"Test"}"#])
        let deliveries = try await desk.deliveries(webhook)
        #expect(Set(deliveries.map(\.state)) == [.delivered, .failed])
        #expect(deliveries.first { $0.state == .failed }?.lastError == "NoReport")
    }

    @Test("a running courier finds new events by itself and stops when it is told")
    func running() async throws {
        let desk = try await Desk()
        let webhook = try await desk.webhook()
        let transport = ScriptedTransport(status: 200)
        let courier = desk.courier(transport)
        let task = Task { await courier.run() }
        await desk.time.sleepers(1)
        try await desk.enqueue(1...1)
        while try await desk.deliveries(webhook).first?.state != .delivered {
            // While it works the clock stands: a lease must not end under it.
            await desk.time.sleepers(1)
            desk.time.advance(by: .milliseconds(500))
        }
        task.cancel()
        await task.value
        #expect(transport.requests.count == 1)
    }
}
