import PealCore
import PealStore
import PealTesting
import Testing

/// Users in two time zones, in the second of which clocks change after a day. The clock of the tests begins at
/// midnight, UTC.
private struct Users {
    let fixture: Fixture
    let store: SQLStore

    init(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let change = fixture.now + .seconds(86_400)
        self.fixture = fixture
        store = SQLStore(
            engine: fixture.test.engine, masterKey: fixture.test.masterKey,
            clock: LocalClock { zones, instant in
                switch zones.first {
                case "Asia/Kolkata": .seconds(5 * 3600 + 1800)
                case "Europe/Vienna": .seconds(instant < change ? 3600 : 7200)
                default: .zero
                }
            })
    }

    /// Registers a user's device.
    func add(_ user: String, _ number: Int, in zone: String?) async throws -> Device {
        var registration = Fixture.registration(number, user: user)
        registration.timeZone = zone
        return try await fixture.register(registration).device
    }

    /// - Returns: a message to a user, and after what time the server sends it.
    func schedule(
        _ user: String, _ unreachable: MessageOptions.Unreachable, minutes: Int64 = 720
    ) async throws -> (id: MessageID, wait: Duration) {
        var audience = Audience()
        audience.users = [user]
        var draft = fixture.draft(audience, lifeSeconds: 40 * 3600)
        draft.options.unreachable = unreachable
        draft.window = DeliveryWindow(until: fixture.now + .seconds(minutes * 60), method: .contextAware)
        let moment = try await store.write(.intake) { [draft] store in
            try store.insertMessage(draft)
            return try store.moments(app: draft.app, message: draft.id).first
        }
        return (draft.id, try #require(moment).fallbackAt - fixture.now)
    }

    func countOpens(of user: String, at hours: [Int]) async throws {
        try await store.write(.intake) { [app = fixture.app] store in
            for hour in hours { try store.countOpen(app: app, userID: user, hour: hour) }
        }
    }
}

@Suite("Users whose devices may not be woken in time")
struct UnreachableTests {
    @Test(
        "the best hour is one of the user's own day, or of the app's default time zone, even after clocks change",
        arguments: StoreUnderTest.allCases)
    func bestHour(_ engine: StoreUnderTest) async throws {
        let users = try await Users(engine)
        let zones: [(String, String?)] = [("ann", "Asia/Kolkata"), ("ben", "Europe/Vienna"), ("eve", nil)]
        for (user, zone) in zones {
            _ = try await users.add(user, Int(user.utf8.first ?? 0), in: zone)
            try await users.countOpens(of: user, at: [7, 7, 7, 20])
        }
        #expect(try await users.schedule("ann", .bestHour).wait == .seconds(90 * 60), "it is 5:30")
        #expect(try await users.schedule("ben", .bestHour).wait == .seconds(6 * 3600), "it is 1:00")
        #expect(try await users.schedule("eve", .bestHour).wait == .seconds(7 * 3600))
        users.fixture.time.advance(by: .seconds(86_400))
        #expect(try await users.schedule("ben", .bestHour).wait == .seconds(5 * 3600), "it is 2:00")
        try await users.store.changeSettings(of: users.fixture.app) {
            $0.replaceRules(.init([("default_time_zone", "Asia/Kolkata")]))
        }
        #expect(try await users.schedule("eve", .bestHour).wait == .seconds(90 * 60))
    }

    @Test(
        "an open counts in the hour that the device's clock showed, or that the phone shares",
        arguments: StoreUnderTest.allCases)
    func opens(_ engine: StoreUnderTest) async throws {
        let users = try await Users(engine)
        let (app, now) = (users.fixture.app, users.fixture.now)
        let device = try await users.add("ann", 1, in: "Asia/Kolkata")
        let message = try await users.schedule("ann", .deadline).id
        try await users.store.write(.intake) { store in
            let moment = try #require(try store.moments(app: app, message: message).first)
            let claim = MomentClaim(
                id: ClaimID(high: 1, low: 1), target: .init(device: device.key, route: .apnsProduction), rev: 1,
                hasLedger: true, score: 0.1)
            _ = try store.apply(.claim(claim), to: moment, now: now)
            let opened = DeviceEvent(id: .init(high: 1, low: 2), kind: .opened, message: message, at: now)
            var shared = DeviceEvent(id: .init(high: 1, low: 3), kind: .appOpened, at: now)
            shared.shared.hour = 21
            _ = try MomentReader(store: store, device: device, app: app).record([opened, shared], in: store, now: now)
        }
        let hours = try await users.fixture.test.engine.read { connection in
            try connection.all("SELECT hour FROM open_hour WHERE user_id = \("ann") ORDER BY hour") { row in
                try row.next(Int.self)
            }
        }
        #expect(hours == [5, 21])
    }

    @Test(
        "a device is not woken in quiet hours, which the server must not count as chances",
        arguments: StoreUnderTest.allCases)
    func quiet(_ engine: StoreUnderTest) async throws {
        let users = try await Users(engine)
        let device = try await users.add("ann", 1, in: "Asia/Kolkata")
        try await users.store.write(.intake) { [app = users.fixture.app, now = users.fixture.now] store in
            try store.putInstallation(
                Installation(
                    app: app, device: device.key, tokenHash: [UInt8](repeating: 1, count: 32),
                    key: KeyID(high: 1, low: 1), capabilities: [.ledger, .background, .alerts], sdkVersion: "1.0.0",
                    seenAt: now))
        }
        #expect(try await users.schedule("ann", .now, minutes: 60).wait == .seconds(3600), "she can be woken")
        try await users.store.changeSettings(of: users.fixture.app) {
            $0.replaceRules(.init([("quiet_hours", ["from": "22:00", "to": "07:00"])]))
        }
        #expect(try await users.schedule("ann", .now, minutes: 60).wait == .zero, "it is 5:30")
        #expect(try await users.schedule("ann", .now, minutes: 240).wait == .seconds(4 * 3600))
    }
}
