import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Receipts in the store")
struct ReceiptStoreTests {
    @Test("the first of each kind from each device counts, repetitions do not", arguments: StoreUnderTest.allCases)
    func counting(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...3)
        let message = try await fixture.send(.all).id
        func record(_ receipts: [(DeviceKey, Receipt.Kind, Int64)]) async throws -> Int {
            try await fixture.store.write(.rest) { [app = fixture.app, now = fixture.now] store in
                try store.record(
                    receipts.map { Receipt(message: message, device: $0, kind: $1, at: now + .seconds($2)) }, app: app)
            }
        }
        #expect(try await record([(1, .received, 1), (2, .received, 1), (1, .opened, 5), (1, .received, 9)]) == 3)
        #expect(try await record([(1, .received, 2), (3, .heartbeat, 2), (2, .opened, 3)]) == 2)
        #expect(try await record([]) == 0)
        let counts = try await fixture.store.read { [app = fixture.app] in
            try $0.receiptCounts(app: app, message: message)
        }
        #expect(counts == [.received: 2, .opened: 2, .heartbeat: 1])
        let own = try await fixture.store.read { [app = fixture.app] in
            try $0.receipts(app: app, message: message, device: 1)
        }
        #expect(own.map(\.kind) == [.received, .opened])
        #expect(own.map(\.at) == [fixture.now + .seconds(1), fixture.now + .seconds(5)])
    }

    @Test("of one instant are in the order in which they happen", arguments: StoreUnderTest.allCases)
    func order(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...1)
        let message = try await fixture.send(.all).id
        let kinds: [Receipt.Kind] = [.received, .shown, .opened, .dismissed]
        let found = try await fixture.store.write(.rest) { [app = fixture.app, now = fixture.now] store in
            _ = try store.record(
                kinds.reversed().map { Receipt(message: message, device: 1, kind: $0, at: now) }, app: app)
            return try store.receipts(app: app, message: message, device: 1)
        }
        #expect(found.map(\.kind) == kinds)
    }

    @Test("receipts are deleted with their message, in pieces, and their device", arguments: StoreUnderTest.allCases)
    func pruning(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...9)
        let worker = Worker(fixture: fixture)
        let message = try await fixture.send(.all).id
        _ = try await worker.run()
        try await fixture.store.write(.rest) { [app = fixture.app, now = fixture.now] store in
            try store.record(
                (1...9).map { Receipt(message: message, device: $0, kind: .received, at: now) }, app: app)
            _ = try store.deleteDevice(app: app, id: Fixture.deviceID(9), now: now)
        }
        func left() async throws -> Int {
            try await fixture.store.read { [app = fixture.app] store in
                try (1...9).reduce(0) { try $0 + store.receipts(app: app, message: message, device: $1).count }
            }
        }
        #expect(try await left() == 8)
        fixture.time.advance(by: .seconds(StoreRetention().messageSeconds + 1))
        var rounds = 0
        while try await fixture.state(message) != nil, rounds < 50 {
            let count = try await fixture.store.write(.rest) { [now = fixture.now] in try $0.prune(now: now, limit: 3) }
            #expect(count <= 12)
            rounds += 1
        }
        #expect(rounds > 3)
        #expect(try await left() == 0)
        let counts = try await fixture.store.read { [app = fixture.app] in
            try $0.receiptCounts(app: app, message: message)
        }
        #expect(counts == [:])
    }

    @Test("an app is found by a topic that has a member", arguments: StoreUnderTest.allCases)
    func topic(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        func apps() async throws -> [AppKey] {
            try await fixture.store.read { [now = fixture.now] in try $0.apps(withTopic: "beat", now: now).map(\.key) }
        }
        try await fixture.register(1, topics: ["other"])
        #expect(try await apps() == [])
        try await fixture.register(2, topics: ["beat"])
        #expect(try await apps() == [fixture.app])
        _ = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.deleteDevice(app: app, id: Fixture.deviceID(2), now: now)
        }
        #expect(try await apps() == [])
    }
}
