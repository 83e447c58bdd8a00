import PealCore
@testable import PealReports
import PealTesting
import Synchronization
import Testing

@Suite("Couriers of several processes", .timeLimit(.minutes(2)))
struct SharedCourierTests {
    @Test("two processes on one database send everything, and each delivery once")
    func shared() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook()
        try await fixture.enqueue(1...60)
        let transport = ScriptedTransport(status: 200)
        let couriers = (1...2).map { fixture.courier(transport, seed: UInt64($0)) }
        // A courier that loses a race leaves the rest for its next round.
        try await Polling.wait(for: "all deliveries") {
            await withTaskGroup(of: Void.self) { group in
                for courier in couriers { group.addTask { await courier.runOnce() } }
            }
            return try await fixture.deliveries(webhook).count == 60
        }
        #expect(transport.requests.count == 60)
        #expect(Set(transport.requests.map(\.text)).count == 60)
    }

    @Test("requests that must arrive in order are sent one after the other, whichever process sends them")
    func inOrder() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook(form: .gathered, authentication: .secret("s"))
        let transport = ScriptedTransport { [time = fixture.time] request in
            if request.text == "[1]" { try? await time.sleep(for: .seconds(10)) }
            return .answered(status: 200, retryAfter: nil)
        }
        let couriers = (1...2).map { fixture.courier(transport, seed: UInt64($0)) }
        try await fixture.enqueue(1...1, for: .gathered)
        fixture.time.advance(by: .seconds(5))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await couriers[0].runOnce() }
            await fixture.time.sleepers(1)
            try await fixture.enqueue(2...2, for: .gathered)
            fixture.time.advance(by: .seconds(5))
            await couriers[1].runOnce()
            #expect(transport.requests.map(\.text) == ["[1]"])
            fixture.time.advance(by: .seconds(5))
            try await Polling.wait(for: "both deliveries") {
                await couriers[1].runOnce()
                return try await fixture.deliveries(webhook).filter { $0.state == .delivered }.count == 2
            }
            try await group.waitForAll()
        }
        #expect(transport.requests.map(\.text) == ["[1]", "[2]"])
    }

    @Test("two processes that look at the same time send only one request that must arrive in order")
    func oneOfTwo() async throws {
        let fixture = try await CourierFixture()
        let webhook = try await fixture.webhook(form: .gathered, authentication: .secret("s"))
        try await fixture.enqueue(1...1000, for: .gathered)
        let requests = Mutex((now: 0, most: 0))
        let transport = ScriptedTransport { _ in
            requests.withLock { requests in
                requests.now += 1
                requests.most = max(requests.most, requests.now)
            }
            // If another request could begin meanwhile, it would.
            try? await Task.sleep(for: .milliseconds(2))
            requests.withLock { $0.now -= 1 }
            return .answered(status: 200, retryAfter: nil)
        }
        let couriers = (1...2).map { fixture.courier(transport, seed: UInt64($0)) }
        try await Polling.wait(for: "all deliveries") {
            await withTaskGroup(of: Void.self) { group in
                for courier in couriers { group.addTask { await courier.runOnce() } }
            }
            return try await fixture.deliveries(webhook).count == 10
        }
        let texts = (0..<10 as Range<Int64>).map { hundred in
            JSON.array((1...100).map { .integer(100 * hundred + $0) }).text
        }
        #expect(transport.requests.map(\.text) == texts)
        #expect(requests.withLock { $0.most } == 1)
    }
}
