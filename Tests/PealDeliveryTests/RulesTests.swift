import PealCore
@testable import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Rules of apps and messages", .timeLimit(.minutes(10)))
struct RulesTests {
    /// The clock begins at midnight UTC.
    static func open(
        _ engine: StoreUnderTest, _ rules: JSON.Members, zones: [String?]
    ) async throws -> DeliveryFixture {
        let fixture = try await DeliveryFixture(engine)
        try await fixture.set(rules)
        try await fixture.register(zones: zones.enumerated().map { ($0 + 1, $1) })
        return fixture
    }

    private static let quiet: JSON.Members = .init([("quiet_hours", ["from": "22:00", "to": "07:00"])])

    @Test("quiet hours delay devices by their own clocks, and no others", arguments: StoreUnderTest.allCases)
    func quietHours(_ engine: StoreUnderTest) async throws {
        // At midnight UTC it is 9:00 in Tokyo, 19:00 in New York, and night in Vienna and for the unknown.
        let fixture = try await Self.open(
            engine, Self.quiet, zones: ["Asia/Tokyo", "Europe/Vienna", nil, "America/New_York", "No/Where"])
        let service = fixture.service()
        let start = fixture.now
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: service)
            try await fixture.drive { fixture.provider.sentCount(id) == 2 }
            #expect(fixture.now - start < .seconds(10))
            #expect(Set(fixture.provider.sent(id).keys) == [1, 4])
            #expect(try await fixture.lastEvent(id, 2) == "held QuietHours, until 2026-11-21T06:00:00Z")
            try await fixture.drive(by: .seconds(60)) { fixture.provider.sentCount(id) > 2 }
            #expect(fixture.now - start >= .seconds(6 * 3600) && fixture.now - start < .seconds(7 * 3600))
            try await fixture.drive(by: .seconds(60)) { try await fixture.state(id) == .sent }
            #expect(fixture.now - start >= .seconds(7 * 3600))
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 5 && counts.devices == 5 && counts.resent == 0)
            #expect(fixture.provider.repeatCount(id) == 0)
        }
    }

    @Test("a number in the store that stands for another time zone after a failover is read again")
    func renumbered() async throws {
        let fixture = try await Self.open(.sqlite, Self.quiet, zones: ["Asia/Tokyo"])
        let service = fixture.service()
        try await fixture.running(service) {
            let first = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: service)
            try await fixture.drive { fixture.provider.sentCount(first) == 1 }
            try await fixture.test.execute("UPDATE word SET name = 'Europe/Vienna' WHERE name = 'Asia/Tokyo'")
            service.rereadAll()
            let second = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: service)
            try await fixture.eventually { try await fixture.lastEvent(second, 1)?.hasPrefix("held") ?? false }
            #expect(fixture.provider.sentCount(second) == 0)
        }
    }

    @Test("a small message waits too, and a transactional one does not", arguments: StoreUnderTest.allCases)
    func transactional(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init(Array(Self.quiet.pairs) + [("default_time_zone", "Europe/Vienna")]),
            zones: [nil, "Asia/Tokyo"])
        let service = fixture.service()
        try await fixture.running(service) {
            var options = MessageOptions()
            options.isTransactional = true
            let urgent = try await fixture.accept(fixture.draft(.devices(1...2), options: options), engine: service)
            try await fixture.ended(urgent)
            let usual = try await fixture.accept(
                fixture.draft(.devices(1...2), lifeSeconds: 86_400), engine: service)
            try await fixture.eventually { try await fixture.counts(usual).accepted == 1 }
            #expect(fixture.provider.sent(usual)[2] == 1)
            try await fixture.drive(by: .seconds(60)) { try await fixture.state(usual) == .sent }
            let hours = (fixture.now - ManualTime().now).milliseconds / 3_600_000
            #expect(hours == 6)
        }
    }

    @Test("what is held when the message expires expires with it", arguments: StoreUnderTest.allCases)
    func expiry(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(engine, Self.quiet, zones: [nil, "Asia/Tokyo", "UTC"])
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 3600), engine: service)
            try await fixture.drive { fixture.provider.sentCount(id) == 1 }
            #expect(try await fixture.state(id) == .sending)
            try await fixture.eventually { try await fixture.counts(id).pending == 2 }
            try await fixture.drive(by: .seconds(60)) { try await fixture.state(id) == .sent }
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 1 && counts.expired == 2 && counts.devices == 3)
            #expect(try await fixture.trail(id, 1).map(\.reason) == ["QuietHours", "Expired"])
        }
    }

    @Test(
        "a device waits for its rules until its message ends, and at most three days until they are checked again",
        arguments: [(3600, 86_400, 3600), (86_400, 3600, 3600), (30 * 86_400, 60 * 86_400, 3 * 86_400)])
    func turn(hold: Int64, end: Int64, expected: Int64) {
        let now = ManualTime().now
        let life = MessageLife(start: now, end: now + .seconds(end)).under(MessageOptions())
        let hold = PageRuling.Hold(until: now + .seconds(hold), reason: .frequencyCap)
        #expect(hold.turn(life, now: now) == now + .seconds(expected))
    }

    @Test("a message in recipients' time zones follows the sun, starting at UTC+14", arguments: StoreUnderTest.allCases)
    func recipientTimeZone(_ engine: StoreUnderTest) async throws {
        let zones: [String?] = [
            "Pacific/Kiritimati", "Asia/Tokyo", "Europe/Vienna", nil, "America/New_York", "Etc/GMT+12", "Europe/Vienna",
        ]
        let fixture = try await Self.open(engine, .init([("default_time_zone", "Asia/Kathmandu")]), zones: zones)
        // 18:00 on the 22nd: 4:00 UTC on the line islands, 6:00 on the 23rd in the last zone.
        let reading = fixture.now + .seconds(86_400 + 18 * 3600)
        let due: [Int64] = [4, 9, 17, 12, 23, 30, 17].map { $0 * 3600 + 86_400 }
        let service = fixture.service()
        let start = fixture.now
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(recipientsTime: reading), engine: service)
            var seen: [DeviceKey: Int64] = [:]
            var held: String?
            try await fixture.drive(by: .seconds(120)) {
                // Read first: whatever it counts has been sent before the rest is read.
                let isSent = try await fixture.state(id) == .sent
                for key in fixture.provider.sent(id).keys where seen[key] == nil {
                    seen[key] = (fixture.now - start).milliseconds / 1000
                    if key == 2 { held = try await fixture.lastEvent(id, 3) }
                }
                return isSent
            }
            #expect(held == "held RecipientTimeZone, until 2026-11-22T17:00:00Z")
            for (index, seconds) in due.enumerated() {
                // 12:15 in Kathmandu.
                let expected = index == 3 ? seconds + 900 : seconds
                let given = try #require(seen[DeviceKey(index + 1)])
                #expect(given >= expected && given <= expected + 1800, "\(zones[index] ?? "default"): \(given)")
            }
            #expect(fixture.provider.repeatCount(id) == 0)
            #expect(try await fixture.counts(id).accepted == zones.count)
        }
    }

    @Test(
        "a device that moved west waits for its new clock, and one that moved east only for its turn",
        arguments: StoreUnderTest.allCases)
    func movedZones(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(engine, .init(), zones: Array(repeating: "Europe/Vienna", count: 3))
        // 18:00 on the 21st: 17:00 UTC in Vienna, 23:00 in New York, 9:00 in Tokyo.
        let reading = fixture.now + .seconds(18 * 3600)
        let service = fixture.service()
        let start = fixture.now
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(recipientsTime: reading), engine: service)
            try await fixture.drive(by: .seconds(120)) {
                try await fixture.lastEvent(id, 1) == "held RecipientTimeZone, until 2026-11-21T17:00:00Z"
            }
            try await fixture.register(zones: [(1, "America/New_York"), (2, "Asia/Tokyo")])
            try await fixture.drive(by: .seconds(120)) { fixture.provider.sentCount(id) == 2 }
            #expect(Set(fixture.provider.sent(id).keys) == [2, 3])
            #expect(fixture.now - start >= .seconds(17 * 3600) && fixture.now - start < .seconds(18 * 3600))
            try await fixture.eventually {
                try await fixture.lastEvent(id, 1) == "held RecipientTimeZone, until 2026-11-21T23:00:00Z"
            }
            try await fixture.drive(by: .seconds(120)) { try await fixture.state(id) == .sent }
            #expect(fixture.now - start >= .seconds(23 * 3600) && fixture.now - start < .seconds(24 * 3600))
            #expect(fixture.provider.repeatCount(id) == 0)
            #expect(try await fixture.counts(id).accepted == 3)
        }
    }

    @Test("a range is sorted once into few lists, and a restart loses no device", arguments: StoreUnderTest.allCases)
    func restart(_ engine: StoreUnderTest) async throws {
        let names: [String?] = ["Asia/Tokyo", "Europe/Vienna", "UTC", "America/New_York"]
        let fixture = try await Self.open(engine, Self.quiet, zones: (0..<4000).map { names[$0 % 4] })
        let first = fixture.service()
        var message: MessageID?
        try await fixture.running(first) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: first)
            message = id
            try await fixture.drive { fixture.provider.sentCount(id) == 2000 }
        }
        let id = try #require(message)
        let census = try await fixture.census()
        #expect(census.slicesWaiting == 2 && census.slicesLeased == 0)
        // A device that moves to a zone where it is day stays in its list.
        try await fixture.register(zones: [(2, "Asia/Tokyo")])
        let second = fixture.service()
        try await fixture.running(second) {
            try await fixture.drive(by: .seconds(60)) { try await fixture.state(id) == .sent }
        }
        #expect(fixture.provider.sentCount(id) == 4000)
        #expect(fixture.provider.repeatCount(id) == 0)
        #expect(try await fixture.counts(id).accepted == 4000)
        #expect(try await fixture.trail(id, 2).map(\.reason) == ["QuietHours", ""])
    }

    @Test(
        "a trail says what follows a wait: a pause, or why the device got nothing", arguments: StoreUnderTest.allCases)
    func afterWaiting(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(engine, Self.quiet, zones: [nil, nil, nil, "Asia/Tokyo"])
        let service = fixture.service()
        try await fixture.running(service) {
            var audience = Audience()
            audience.topics = ["news"]
            let id = try await fixture.accept(fixture.draft(audience, lifeSeconds: 86_400), engine: service)
            try await fixture.drive { fixture.provider.sentCount(id) == 1 }
            try await fixture.eventually {
                try await fixture.lastEvent(id, 1) == "held QuietHours, until 2026-11-21T07:00:00Z"
            }
            try await fixture.eventually {
                let continuesAt = try await fixture.store.read { [app = fixture.app] in
                    try $0.continuesAt(app: app, message: id)
                }
                return continuesAt?.description == "2026-11-21T07:00:00Z"
            }
            try await fixture.move(id, from: [.sending], to: .paused)
            #expect(
                try await fixture.lastEvent(id, 1) == "pending the message is paused; no result from a network yet")
            try await fixture.move(id, from: [.paused], to: .sending)
            // Otherwise a device could be retired at the instant at which the audience was fixed.
            fixture.time.advance(by: .seconds(1))
            try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] session in
                let unsubscribed = DeviceRegistration(
                    id: DeliveryFixture.deviceID(2),
                    address: Address(route: .apnsProduction, bytes: DeliveryFixture.address(2)), topics: [])
                _ = try session.register(unsubscribed, app: app, now: now)
                let successor = DeviceRegistration(
                    id: DeliveryFixture.deviceID(9),
                    address: Address(route: .apnsProduction, bytes: DeliveryFixture.address(3)), topics: [])
                _ = try session.register(successor, app: app, now: now)
            }
            try await fixture.drive(by: .seconds(60)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 2)
            let end = "never handed to a network"
            #expect(
                try await fixture.lastEvent(id, 2)
                    == "left_out it was not in the audience when its turn came; \(end)")
            #expect(
                try await fixture.lastEvent(id, 3)
                    == "left_out it was retired before its turn (AddressMoved); \(end)")
        }
    }

    @Test(
        "a device and an address with the same number wait for their own instants", arguments: StoreUnderTest.allCases)
    func waitsOfAddresses(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(engine, Self.quiet, zones: ["Europe/Vienna"])
        let service = fixture.service()
        try await fixture.running(service) {
            let address = Address(route: .apnsProduction, bytes: DeliveryFixture.address(77))
            var audience = Audience.devices(1...1)
            audience.addresses = [address]
            let id = try await fixture.accept(fixture.draft(audience, lifeSeconds: 86_400), engine: service)
            func last(_ subject: DeliveryTrail.Subject) async throws -> String? {
                try await DeliveryTrail(store: fixture.store, isPaused: false).events(
                    of: id, app: fixture.app, subject, now: fixture.now
                ).last?.detail
            }
            try await fixture.eventually {
                try await last(.device(DeliveryFixture.deviceID(1))) == "QuietHours, until 2026-11-21T06:00:00Z"
            }
            try await fixture.eventually {
                try await last(.addresses([address])) == "QuietHours, until 2026-11-21T07:00:00Z"
            }
        }
    }

    @Test("a frequency cap delays the next message and drops none", arguments: StoreUnderTest.allCases)
    func frequencyCap(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init([("frequency_cap", ["messages": 2, "hours": 3])]), zones: [nil, nil, nil])
        let service = fixture.service()
        let start = fixture.now
        try await fixture.running(service) {
            for devices in [1...3, 1...2] {
                let id = try await fixture.accept(
                    fixture.draft(.devices(devices), lifeSeconds: 86_400), engine: service)
                try await fixture.ended(id)
                fixture.time.advance(by: .seconds(600))
            }
            let third = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: service)
            try await fixture.drive(by: .seconds(1)) { fixture.provider.sentCount(third) == 1 }
            #expect(fixture.provider.sent(third)[3] == 1)
            try await fixture.eventually { try await fixture.trail(third, 1).map(\.reason) == ["FrequencyCap"] }
            let held = try #require(try await fixture.lastEvent(third, 1))
            #expect(held.hasPrefix("held FrequencyCap, until 2026-11-21T03:0"), "\(held)")
            var options = MessageOptions()
            options.isTransactional = true
            let urgent = try await fixture.accept(fixture.draft(.devices(1...3), options: options), engine: service)
            try await fixture.ended(urgent)
            try await fixture.drive(by: .seconds(60)) { try await fixture.state(third) == .sent }
            let waited = fixture.now - start
            #expect(waited >= .seconds(3 * 3600) && waited < .seconds(3 * 3600 + 600))
            #expect(try await fixture.counts(third).accepted == 3)
        }
    }

    @Test("devices that a message was not sent to do not count for a frequency cap", arguments: StoreUnderTest.allCases)
    func notSent(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init([("frequency_cap", ["messages": 1, "hours": 24])]), zones: [nil, nil])
        fixture.provider.answers { $0.key == 1 ? .accepted : .credentialRefused }
        let service = fixture.service()
        try await fixture.running(service) {
            let wrong = try await fixture.accept(fixture.draft(.devices(1...2), lifeSeconds: 86_400), engine: service)
            try await fixture.eventually { try await fixture.census().slicesParked == 1 }
            try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                _ = try $0.moveMessage(app: app, id: wrong, from: [.sending], to: .cancelled, now: now)
            }
            service.interrupt(wrong)
            try await fixture.eventually { try await fixture.counts(wrong).suppressed == 1 }
            fixture.provider.answers { _ in .accepted }
            try await fixture.putCredential(keyID: "ZYXWV98765")
            service.credentialsChanged(at: fixture.slot)
            let right = try await fixture.accept(fixture.draft(.devices(1...2), lifeSeconds: 86_400), engine: service)
            try await fixture.eventually { try await fixture.counts(right).accepted == 1 }
            #expect(fixture.provider.sent(right)[2] == 1)
        }
    }

    @Test("a retry of a counted message is not counted again", arguments: StoreUnderTest.allCases)
    func countedOnce(_ engine: StoreUnderTest) async throws {
        let fixture = try await Self.open(
            engine, .init([("frequency_cap", ["messages": 1, "hours": 24])]), zones: [nil])
        fixture.provider.answers { $0.earlier == 0 ? .verdict(.retry(after: nil), "TooManyRequests") : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 1)
            #expect(fixture.now - ManualTime().now < .seconds(300))
        }
    }
}

extension DeliveryFixture {
    /// Sets the app's rules.
    func set(_ rules: JSON.Members) async throws {
        try await store.changeSettings(of: app) { $0.replaceRules(rules) }
    }

    /// Registers devices in the topic `news`, or changes their time zones.
    func register(zones: [(number: Int, zone: String?)]) async throws {
        try await store.write(.control) { [app, now] session in
            for (number, zone) in zones {
                let registration = DeviceRegistration(
                    id: Self.deviceID(number),
                    address: Address(route: .apnsProduction, bytes: Self.address(number)), topics: ["news"],
                    timeZone: zone)
                _ = try session.register(registration, app: app, now: now)
            }
        }
    }

    /// A message to all devices, sent to each when its clock shows `reading`.
    func draft(recipientsTime reading: Timestamp) -> MessageDraft {
        var options = MessageOptions()
        options.recipientsTime = reading
        return draft(.all, options: options, startAt: MessageLife.firstStart(of: reading), lifeSeconds: 86_400 * 3)
    }

    /// The last event and its detail in the trail of the device with the given number.
    func lastEvent(_ message: MessageID, _ device: Int, isPaused: Bool = false) async throws -> String? {
        try await events(message, device, isPaused: isPaused).last
    }

    /// Each event of the device's trail with its detail.
    func events(_ message: MessageID, _ device: Int, isPaused: Bool = false) async throws -> [String] {
        try await DeliveryTrail(store: store, isPaused: isPaused).events(
            of: message, app: app, .device(DeliveryFixture.deviceID(device)), now: now
        ).map { "\($0.name.rawValue) \($0.detail)" }
    }
}
