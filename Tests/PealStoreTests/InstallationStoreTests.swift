import PealCore
@testable import PealStore
import PealTesting
import Testing

@Suite("Stored installations")
struct InstallationStoreTests {
    private static let key = KeyID(high: 5, low: 5)

    private static func hash(_ number: UInt8) -> [UInt8] { Array(repeating: number, count: 32) }

    /// A registered device with a token, and the key that issued it.
    @discardableResult
    private static func install(
        _ fixture: Fixture, _ number: Int, user: String? = "ann", route: Route = .apnsProduction,
        _ capabilities: Installation.Capabilities = [.ledger, .background, .alerts]
    ) async throws -> Installation {
        let device = try await fixture.register(number, route: route, user: user).device
        let installation = Installation(
            app: fixture.app, device: device.key, tokenHash: hash(UInt8(number)), key: key, capabilities: capabilities,
            sdkVersion: "1.0.0", seenAt: fixture.now)
        try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] store in
            if try store.keys(app: app).isEmpty {
                let issuing = APIKey(
                    id: key, app: app, dialect: "device", publicHalf: "half", scopes: [.devices], createdAt: now,
                    expiresAt: now + .seconds(1_000_000))
                try store.insertKey(StoredKey(key: issuing, secretHash: hash(0)))
            }
            try store.putInstallation(installation)
        }
        return installation
    }

    private static func schedule(
        _ fixture: Fixture, user: String = "ann", method: DeliveryWindow.Method = .contextAware,
        seconds: Int64 = 6 * 3600
    ) async throws -> MessageID {
        var audience = Audience()
        audience.users = [user]
        audience.platforms = [.ios, .android]
        var draft = fixture.draft(audience, lifeSeconds: seconds + 86_400)
        draft.campaignID = "daily"
        draft.window = DeliveryWindow(until: fixture.now + .seconds(seconds), method: method)
        try await fixture.store.write(.intake) { [draft] in try $0.insertMessage(draft) }
        return draft.id
    }

    private static func take(_ fixture: Fixture, limit: Int = 100) async throws -> [WakeOrder] {
        try await fixture.store.write(.rest) { [now = fixture.now] store in
            try store.takeWakes(now: now, limit: limit, quiet: .none) { .zero }.orders
        }
    }

    @Test("what is stored is read again, by token and by device", arguments: StoreUnderTest.allCases)
    func stored(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        var installation = try await Self.install(fixture, 1)
        installation.wakes.take(asking: true, at: fixture.now, jitter: .seconds(3))
        installation.wakes.countedThrough = 1
        installation.reachability.add(hits: 2, misses: 1, at: fixture.now)
        installation.classification = .available
        let changed = installation
        let (byToken, byDevice) = try await fixture.store.write(.intake) { [now = fixture.now] store in
            try store.putInstallation(changed)
            return (
                try store.installation(tokenHash: Self.hash(1), now: now),
                try store.installation(app: changed.app, device: changed.device)
            )
        }
        #expect(byToken == changed && byDevice == changed)
    }

    @Test("a token ends with the key that issued it, and when the key expires", arguments: StoreUnderTest.allCases)
    func keys(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.install(fixture, 1)
        let later = fixture.now + .seconds(1_000_000)
        #expect(try await fixture.store.read { try $0.installation(tokenHash: Self.hash(1), now: later) } == nil)
        let (app, now) = (fixture.app, fixture.now)
        let found = try await fixture.store.write(.control) { store in
            _ = try store.deleteKey(Self.key, app: app)
            return try store.installation(tokenHash: Self.hash(1), now: now)
        }
        #expect(found == nil)
    }

    @Test(
        "a phone is woken soon after a message is scheduled, then twice an hour at most, and not without a message",
        arguments: StoreUnderTest.allCases)
    func budget(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.install(fixture, 1)
        #expect(try await Self.take(fixture).isEmpty)
        let message = try await Self.schedule(fixture)
        var times: [Timestamp] = []
        for _ in 0..<(5 * 60) {
            for order in try await Self.take(fixture) {
                times.append(fixture.now)
                #expect(order.number == Int64(times.count) && order.entries.map(\.message) == [message])
                #expect(order.entries[0].rev == 1 && order.entries[0].campaignID == "daily")
            }
            if times.count == 3 { _ = try await Self.schedule(fixture, user: "ben") }
            fixture.time.advance(by: .seconds(60))
        }
        #expect(times.count >= 9 && times.count <= 10, "\(times)")
        for (first, second) in zip(times, times.dropFirst()) { #expect(second - first >= .seconds(1200)) }
        for (first, third) in zip(times, times.dropFirst(2)) { #expect(third - first >= .seconds(3600)) }
        _ = try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] in
            try $0.cancelMoments(app: app, message: message, now: now)
        }
        fixture.time.advance(by: .seconds(3600))
        #expect(try await Self.take(fixture).isEmpty)
        #expect(try await fixture.store.read { try $0.nextWakeAt() } == nil)
    }

    @Test(
        "a device gets at most two wake-ups in any hour, however late they are, and whenever messages come",
        arguments: StoreUnderTest.allCases)
    func slidingHour(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...4 { try await Self.install(fixture, number, user: number < 3 ? "ann" : "ben") }
        let dice = SeededRandomness(seed: 12)
        var times: [DeviceKey: [Timestamp]] = [:]
        for _ in 0..<600 {
            if dice.next() % 3 == 0 {
                _ = try await Self.schedule(fixture, user: dice.next() % 2 == 0 ? "ann" : "ben", seconds: 7200)
            }
            let jitter = Int64(dice.next() % UInt64(2 * Limits.wakeJitterSeconds + 1)) - Limits.wakeJitterSeconds
            let orders = try await fixture.store.write(.rest) { [now = fixture.now] store in
                try store.takeWakes(now: now, limit: 100, quiet: .none) { .seconds(jitter) }.orders
            }
            // A wake-up arrives up to this much later than it was counted.
            for order in orders {
                let late = Int64(dice.next() % UInt64(Limits.wakeLatenessSeconds * 1000))
                times[order.device.key, default: []].append(fixture.now + .milliseconds(late))
            }
            fixture.time.advance(by: .seconds(Int64(dice.next() % 300)))
        }
        #expect(times.count == 4 && times.values.allSatisfy { $0.count > 20 }, "\(times.mapValues(\.count))")
        for arrivals in times.values {
            for (first, third) in zip(arrivals, arrivals.dropFirst(2)) { #expect(third - first > .seconds(3600)) }
        }
    }

    @Test("many messages at once cost one wake-up", arguments: StoreUnderTest.allCases)
    func burst(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.install(fixture, 1)
        for _ in 0..<40 { _ = try await Self.schedule(fixture) }
        #expect(try await Self.take(fixture).count == 1)
        for _ in 0..<19 {
            _ = try await Self.schedule(fixture)
            fixture.time.advance(by: .seconds(60))
            #expect(try await Self.take(fixture).isEmpty)
        }
    }

    @Test(
        "phones that cannot choose a moment are not woken, and no phone is for a message that the server sends",
        arguments: StoreUnderTest.allCases)
    func unfit(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.install(fixture, 1, [.ledger, .alerts])
        try await Self.install(fixture, 2, [.background])
        try await Self.install(fixture, 3, [.background, .alerts, .scheduledSummary])
        try await Self.install(fixture, 4, route: .webPush)
        try await Self.install(fixture, 5, user: "ben")
        _ = try await Self.schedule(fixture)
        _ = try await Self.schedule(fixture, user: "ben", method: .traditional)
        #expect(try await Self.take(fixture).isEmpty)
        try await Self.install(fixture, 6, route: .fcm)
        _ = try await Self.schedule(fixture)
        #expect(try await Self.take(fixture).map(\.device.address.route) == [.fcm])
    }

    @Test("a repeated event changes nothing, and events end with their device", arguments: StoreUnderTest.allCases)
    func events(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let installation = try await Self.install(fixture, 1)
        var event = DeviceEvent(id: .init(high: 1, low: 1), kind: .shown, message: nil, at: fixture.now)
        event.shared.snapshot = [1, 2, 3]
        event.detail.button = "like"
        let stored = event
        let (app, now) = (fixture.app, fixture.now)
        for expected in [[true, false], [false, false]] {
            let isNew = try await fixture.store.write(.intake) {
                try $0.record([stored, stored], app: app, device: installation.device, now: now)
            }
            #expect(isNew == expected)
        }
        #expect(try await Self.rows(fixture) == [1, 1, 1])
        _ = try await fixture.store.write(.control) {
            try $0.deleteDevice(app: app, id: Fixture.deviceID(1), now: now)
        }
        #expect(try await Self.rows(fixture) == [0, 0, 0])
    }

    @Test(
        "a device counts once in the training for each message, however often it reports it",
        arguments: StoreUnderTest.allCases)
    func oneSample(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let installation = try await Self.install(fixture, 1)
        let events = (1...4).map { number in
            var event = DeviceEvent(
                id: .init(high: 1, low: UInt64(number)), kind: .shown,
                message: .init(high: 7, low: UInt64(number / 4)), at: fixture.now)
            event.shared.snapshot = [UInt8(number)]
            return event
        }
        for batch in [events.prefix(2), events.suffix(2)] {
            let isNew = try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] in
                try $0.record(Array(batch), app: app, device: installation.device, now: now)
            }
            #expect(isNew == [true, true])
        }
        #expect(try await Self.rows(fixture) == [1, 4, 2], "of two messages")
    }

    @Test("ids of events are forgotten after 31 days, shared contexts after 30", arguments: StoreUnderTest.allCases)
    func retention(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let installation = try await Self.install(fixture, 1)
        var event = DeviceEvent(id: .init(high: 1, low: 1), kind: .appOpened, at: fixture.now)
        event.shared.hour = 7
        let stored = event
        _ = try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] in
            try $0.record([stored], app: app, device: installation.device, now: now)
        }
        fixture.time.advance(by: .seconds(30 * 86_400 - 1))
        try await fixture.pruneAll()
        #expect(try await Self.rows(fixture) == [1, 1, 1])
        fixture.time.advance(by: .seconds(1))
        try await fixture.pruneAll()
        #expect(try await Self.rows(fixture) == [1, 1, 0])
        fixture.time.advance(by: .seconds(86_400))
        try await fixture.pruneAll()
        #expect(try await Self.rows(fixture) == [1, 0, 0])
    }

    @Test(
        "an author may have the server send sooner to users whose devices it cannot wake",
        arguments: StoreUnderTest.allCases)
    func unreachable(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let app = fixture.app
        try await Self.install(fixture, 1)
        try await Self.install(fixture, 2, user: "ben", [.ledger])
        func fallback(_ user: String, _ option: MessageOptions.Unreachable) async throws -> Duration {
            var audience = Audience()
            audience.users = [user]
            var draft = fixture.draft(audience, lifeSeconds: 40 * 3600)
            draft.options.unreachable = option
            draft.window = DeliveryWindow(until: fixture.now + .seconds(12 * 3600), method: .contextAware)
            let moment = try await fixture.store.write(.intake) { [draft] store in
                try store.insertMessage(draft)
                return try store.moments(app: app, message: draft.id).first
            }
            return try #require(moment).fallbackAt - fixture.now
        }
        for option in MessageOptions.Unreachable.allCases {
            #expect(try await fallback("ann", option) == .seconds(12 * 3600), "she can probably be woken")
        }
        #expect(try await fallback("ben", .deadline) == .seconds(12 * 3600))
        #expect(try await fallback("ben", .now) == .zero)
        #expect(try await fallback("ben", .bestHour) == .seconds(12 * 3600), "nobody has opened anything yet")
        // The clock of the tests begins at midnight, UTC.
        let (now, hours) = (fixture.now, [7, 7, 7, 9, 20])
        let first = Int(now.milliseconds.floorDivided(by: 3_600_000) % 24)
        try await fixture.store.write(.intake) { store in
            for hour in hours { try store.countOpen(app: app, userID: "eve", hour: (first + hour) % 24) }
        }
        #expect(try await fallback("ben", .bestHour) == .seconds(7 * 3600))
        try await fixture.store.write(.intake) { store in
            for _ in 0..<4 { try store.countOpen(app: app, userID: "ben", hour: (first + 9) % 24) }
        }
        #expect(try await fallback("ben", .bestHour) == .seconds(9 * 3600), "his own hours count for more")
        _ = try await fixture.store.write(.control) { try $0.deleteUser(app: app, userID: "ben", now: now) }
        let left = try await fixture.test.engine.read { connection in
            try connection.value("SELECT COUNT(*) FROM open_hour WHERE user_id = \("ben")", Int.self)
        }
        #expect(left == 0)
    }

    @Test("the opens of one user are bounded, and fade", arguments: StoreUnderTest.allCases)
    func openHours(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let app = fixture.app
        func counts(_ user: String) async throws -> [Int] {
            try await fixture.test.engine.read { connection in
                try connection.all("SELECT n FROM open_hour WHERE user_id = \(user) ORDER BY hour") { try $0.next() }
            }
        }
        func open(_ user: String, at hour: Int, times: Int) async throws {
            try await fixture.store.write(.intake) { store in
                for _ in 0..<times { try store.countOpen(app: app, userID: user, hour: hour) }
            }
        }
        try await open("ann", at: 7, times: Limits.opensPerUserMax - 1)
        #expect(try await counts("ann") == [Limits.opensPerUserMax - 1])
        #expect(try await counts("") == [Limits.opensPerUserForAllMax])
        try await open("ann", at: 20, times: 2)
        #expect(try await counts("ann") == [199, 1], "halved, and counted on")
        try await open("ben", at: 20, times: 1)
        #expect(try await counts("") == [Limits.opensPerUserForAllMax, 1])
    }

    @Test("what reaches an app's other phones says whether a new one can be woken", arguments: StoreUnderTest.allCases)
    func cohort(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.install(fixture, 1, user: "ben")
        try await Self.install(fixture, 2)
        func fallback() async throws -> Duration {
            var audience = Audience()
            audience.users = ["ann"]
            var draft = fixture.draft(audience, lifeSeconds: 40 * 3600)
            draft.options.unreachable = .now
            draft.window = DeliveryWindow(until: fixture.now + .seconds(3600), method: .contextAware)
            let moment = try await fixture.store.write(.intake) { [draft] store in
                try store.insertMessage(draft)
                return try store.moments(app: draft.app, message: draft.id).first
            }
            return try #require(moment).fallbackAt - fixture.now
        }
        #expect(try await fallback() == .seconds(3600))
        try await fixture.store.write(.intake) { [app = fixture.app, now = fixture.now] store in
            var other = try #require(try store.installation(app: app, device: 1))
            other.reachability.add(hits: 1, misses: 40, at: now)
            try store.putInstallation(other)
        }
        fixture.time.advance(by: .seconds(Limits.cohortSeconds - 1))
        #expect(try await fallback() == .seconds(3600), "it is read once a minute")
        fixture.time.advance(by: .seconds(1))
        #expect(try await fallback() == .zero)
    }

    @Test("no device is woken in quiet hours; the wake-up follows at their end", arguments: StoreUnderTest.allCases)
    func quiet(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.install(fixture, 1)
        try await fixture.store.changeSettings(of: fixture.app) {
            $0.replaceRules(.init([("quiet_hours", ["from": "22:00", "to": "07:00"])]))
        }
        let end = fixture.now + .seconds(1800)
        let clock = QuietClock { _, _, now in now < end ? end : nil }
        func take() async throws -> Int {
            try await fixture.store.write(.rest) { [now = fixture.now] store in
                try store.takeWakes(now: now, limit: 100, quiet: clock) { .zero }.orders.count
            }
        }
        _ = try await Self.schedule(fixture)
        #expect(try await take() == 0)
        #expect(try await fixture.store.read { try $0.nextWakeAt() } == end)
        fixture.time.advance(by: .seconds(1799))
        #expect(try await take() == 0)
        fixture.time.advance(by: .seconds(1))
        #expect(try await take() == 1)
    }

    @Test(
        "a wake-up on a route that takes nothing spends no budget and follows after the wait",
        arguments: StoreUnderTest.allCases)
    func busyRoute(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.install(fixture, 1)
        _ = try await Self.schedule(fixture)
        let count = try await fixture.store.write(.rest) { [now = fixture.now] store in
            try store.takeWakes(now: now, limit: 100, quiet: .none, wait: { _ in .seconds(7) }) { .zero }.orders.count
        }
        #expect(count == 0)
        let after = fixture.now + .seconds(7)
        #expect(try await fixture.store.read { try $0.nextWakeAt() } == after)
        fixture.time.advance(by: .seconds(7))
        #expect(try await Self.take(fixture).map(\.number) == [1])
    }

    /// The rows of installations, events and shared contexts.
    private static func rows(_ fixture: Fixture) async throws -> [Int] {
        try await fixture.test.engine.read { connection in
            try ["installation", "device_event", "context_sample"].map { table in
                try connection.value("SELECT COUNT(*) FROM \(name: table)", Int.self) ?? -1
            }
        }
    }
}
