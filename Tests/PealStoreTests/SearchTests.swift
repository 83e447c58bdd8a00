import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Listings by page")
struct SearchTests {
    private static let routes: [Route] = [.apnsProduction, .apnsSandbox, .fcm]

    private static func numbers(_ devices: [Device]) -> [Int] { devices.map { Int($0.id.low) } }

    @Test("every active device is on one page, by route and age", arguments: StoreUnderTest.allCases)
    func pages(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...7 {
            let route: Route = number.isMultiple(of: 2) ? .fcm : .apnsProduction
            try await fixture.register(number, route: route, topics: number < 5 ? ["news"] : [])
        }
        try await fixture.register(8, address: Fixture.address(1))
        let (app, now) = (fixture.app, fixture.now)
        func page(_ number: Int, _ search: DeviceSearch) async throws -> ResultPage<Device> {
            try await fixture.store.read {
                try $0.devices(app: app, search, PageNumber(number: number, size: 3), now: now)
            }
        }
        let all = DeviceSearch(routes: Self.routes)
        var listed: [Int] = []
        for number in 1...3 {
            let found = try await page(number, all)
            #expect(found.total == 7)
            listed += Self.numbers(found.items)
        }
        #expect(listed == [8, 3, 5, 7, 2, 4, 6], "the first device's row is the eighth's by now")
        let topic = try await page(1, DeviceSearch(routes: Self.routes, topic: "news"))
        #expect(Self.numbers(topic.items) == [3, 2, 4] && topic.total == 3)
        #expect(try await page(1, DeviceSearch(routes: [], topic: nil)).total == 0)
        #expect(try await page(1, DeviceSearch(routes: Self.routes, topic: "none")).total == 0)
    }

    @Test("a search for a part of a text reads every page", arguments: StoreUnderTest.allCases)
    func parts(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...5 {
            var registration = Fixture.registration(
                number, user: "Ärger-\(number)", topics: number > 2 ? ["news"] : [])
            registration.detail.alias = number == 4 ? "50% Rabatt_" : nil
            try await fixture.register(registration)
        }
        let (app, now) = (fixture.app, fixture.now)
        func found(_ part: String, page: Int = 1, topic: String? = nil) async throws -> String {
            let search = DeviceSearch(routes: Self.routes, topic: topic, containing: part)
            let result = try await fixture.store.read {
                try $0.devices(app: app, search, PageNumber(number: page, size: 2), now: now)
            }
            return "\(Self.numbers(result.items)) of \(result.total)"
        }
        #expect(try await found("ärger") == "[1, 2] of 5")
        #expect(try await found("ÄRGER", page: 3) == "[5] of 5")
        #expect(try await found("ÄRGER", page: 4) == "[] of 5")
        #expect(try await found("ärger", topic: "news") == "[3, 4] of 3")
        #expect(try await found("0% r") == "[4] of 1")
        #expect(try await found("%") == "[4] of 1")
        #expect(try await found("_") == "[4] of 1")
        #expect(try await found(Fixture.deviceID(2).description) == "[2] of 1")
        #expect(try await found(Fixture.deviceID(9).description) == "[] of 0")
        let users = try await fixture.store.read { try $0.userIDs(app: app, containing: "GER-", limit: 2) }
        #expect(users == ["Ärger-1", "Ärger-2"])
        #expect(try await fixture.store.read { try $0.userIDs(app: app, containing: nil, limit: 9) }.count == 5)
    }

    @Test("a topic that expired is off its devices, and one of its name is another", arguments: StoreUnderTest.allCases)
    func expiry(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let app = fixture.app
        let end = fixture.now + .seconds(60)
        let (first, now) = (fixture.now, fixture.now)
        let made = try await fixture.store.write(.control) {
            try $0.makeTopic(app: app, name: "fair", expiresAt: end, now: now)
        }
        #expect(made.isNew)
        try await fixture.register(1, topics: ["fair", "news"])
        func device() async throws -> Device {
            try #require(await fixture.store.read { try $0.device(app: app, id: Fixture.deviceID(1)) })
        }
        #expect(try await device().topics(at: first) == ["fair", "news"])
        #expect(try await device().topics(at: end) == ["news"])
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.register(1, topics: nil).device.topics == ["news"])
        let later = fixture.now
        let count: @Sendable (any StoreReading) throws -> Int = { store in
            try store.deviceCount(app: app, topic: "fair", routes: [.apnsProduction], now: later)
        }
        #expect(try await fixture.store.read(count) == 0)
        try await fixture.register(1, topics: ["fair"])
        #expect(try await fixture.store.read(count) == 1)
        #expect(try await device().topics(at: later) == ["fair"])
        let entry = try await fixture.store.read { [number = made.topic.number] store in
            try store.topicEntry(app: app, number: number, now: later)
        }
        #expect(entry == nil)
    }
}
