import PealCore
import PealStore
import PealTesting
import Testing

/// Rates and frequency caps are in the database, so that they are one for all servers on it.
@Suite("Limits that servers share")
struct SharedLimitTests {
    /// Three servers on one database.
    private static func nodes() async throws -> (fixture: Fixture, stores: [SQLStore], others: [TestStore]) {
        let fixture = try await Fixture(.postgres)
        let others = [try await fixture.test.anotherNode(), try await fixture.test.anotherNode()]
        return (fixture, [fixture.store] + others.map(\.store), others)
    }

    @Test("no device gets more messages than its frequency cap, although servers count them at once")
    func frequencyCap() async throws {
        let (fixture, stores, others) = try await Self.nodes()
        try await fixture.registerMany(1...40)
        let cap = FrequencyCap(messages: 2, hours: 24)
        let app = fixture.app
        // Every message goes to half of the devices, and every device is in four of the eight messages.
        let messages = (0..<8).map { MessageID(high: 1, low: UInt64($0)) }
        let passed: [DeviceKey: Int] = try await withThrowingTaskGroup(of: [DeviceKey].self) { group in
            for (index, message) in messages.enumerated() {
                let keys = (1...40 as ClosedRange<DeviceKey>).filter { Int($0) % 8 / 4 == index % 2 }
                // In several pages, as slices are read.
                for start in stride(from: 0, to: keys.count, by: 5) {
                    let page = Array(keys[start..<min(start + 5, keys.count)])
                    let store = stores[(index + start) % stores.count]
                    group.addTask { [now = fixture.now] in
                        let waits = try await store.write(.settle) {
                            try $0.reserve(page, app: app, message: message, cap: cap, now: now)
                        }
                        return page.filter { waits[$0] == nil }
                    }
                }
            }
            var counts: [DeviceKey: Int] = [:]
            for try await keys in group {
                for key in keys { counts[key, default: 0] += 1 }
            }
            return counts
        }
        #expect(passed.count == 40)
        #expect(passed.values.allSatisfy { $0 == 2 }, "\(passed)")
        withExtendedLifetime(others) {}
    }

    @Test("a message that two servers count for one device is counted once")
    func countedOnce() async throws {
        let (fixture, stores, others) = try await Self.nodes()
        try await fixture.registerMany(1...10)
        let cap = FrequencyCap(messages: 2, hours: 24)
        let app = fixture.app
        // A page that is read again after a crash is counted by another server.
        for message in [MessageID(high: 1, low: 1), MessageID(high: 1, low: 2)] {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in stores {
                    group.addTask { [now = fixture.now] in
                        let waits = try await store.write(.settle) {
                            try $0.reserve(Array(1...10), app: app, message: message, cap: cap, now: now)
                        }
                        #expect(waits.isEmpty)
                    }
                }
                try await group.waitForAll()
            }
        }
        let rows = try await fixture.test.engine.read { try $0.count("SELECT COUNT(*) FROM frequency") }
        #expect(rows == 20)
        withExtendedLifetime(others) {}
    }

    @Test("a grant that must wait names the rate that is used up", arguments: StoreUnderTest.allCases)
    func refusedRate(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        var options = MessageOptions()
        options.ratePerSecond = 1
        let (slow, other) = (fixture.draft(.all, options: options), fixture.draft(.all))
        for draft in [slow, other] { try await fixture.store.write(.intake) { try $0.insertMessage(draft) } }
        func take(_ message: MessageID) async throws -> RateGrant {
            try await fixture.store.write(.settle) { [app = fixture.app, now = fixture.now] in
                try $0.takeRate(app: app, message: message, ofApp: 100, wanted: 64, now: now)
            }
        }
        #expect(try await take(slow.id).count == 1)
        let (own, shared) = (try await take(slow.id), try await take(other.id))
        #expect(own.count == 0 && !own.isOfApp && own.readyAt == fixture.now + .seconds(1), "the app's is ready before")
        #expect(shared.count == 0 && shared.isOfApp && shared.readyAt == fixture.now + .milliseconds(10))
    }

    @Test("the rates of a message and of its app apply to all servers together, however often they ask")
    func rates() async throws {
        let (fixture, stores, others) = try await Self.nodes()
        var options = MessageOptions()
        options.ratePerSecond = 100
        let drafts = [fixture.draft(.all, options: options), fixture.draft(.all, options: options)]
        for draft in drafts { try await fixture.store.write(.intake) { try $0.insertMessage(draft) } }
        let app = fixture.app
        // By message, in steps of 50 ms.
        var granted: [[Int]] = [[], []]
        for _ in 0..<60 {
            let now = fixture.now
            var step = [0, 0]
            try await withThrowingTaskGroup(of: (Int, Int).self) { group in
                for number in 0..<12 {
                    let (store, which) = (stores[number % stores.count], number / 3 % 2)
                    group.addTask { [message = drafts[which].id] in
                        let grant = try await store.write(.settle) {
                            try $0.takeRate(app: app, message: message, ofApp: 150, wanted: 64, now: now)
                        }
                        return (which, grant.count)
                    }
                }
                for try await (which, count) in group { step[which] += count }
            }
            for which in 0..<2 { granted[which].append(step[which]) }
            fixture.time.advance(by: .milliseconds(50))
        }
        // In any second: the rate and two blocks of 100 ms.
        for start in 0...40 {
            let sums = granted.map { $0[start..<(start + 20)].reduce(0, +) }
            #expect(sums.allSatisfy { $0 <= 120 }, "\(sums) from step \(start)")
            #expect(sums.reduce(0, +) <= 180, "\(sums) from step \(start)")
        }
        let total = granted.joined().reduce(0, +)
        #expect(total >= 400, "\(total) of 450: the rate is used")
        withExtendedLifetime(others) {}
    }
}
