import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Delivery in windows", .timeLimit(.minutes(10)))
struct MomentDeliveryTests {
    private static func draft(
        _ fixture: DeliveryFixture, users: [String] = ["ann"], method: DeliveryWindow.Method, seconds: Int64 = 3600
    ) -> MessageDraft {
        var audience = Audience()
        audience.users = users
        var draft = fixture.draft(audience, lifeSeconds: seconds + 86_400)
        draft.window = DeliveryWindow(until: fixture.now + .seconds(seconds), method: method, holdSeconds: 10)
        return draft
    }

    private static func register(
        _ fixture: DeliveryFixture, _ number: Int, user: String = "ann", route: Route = .apnsProduction,
        zone: String? = nil
    ) async throws {
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] session in
            let registration = DeviceRegistration(
                id: DeliveryFixture.deviceID(number),
                address: Address(route: route, bytes: DeliveryFixture.address(number)), userID: user, timeZone: zone)
            _ = try session.register(registration, app: app, now: now)
        }
        fixture.time.advance(by: .seconds(1))
    }

    private static func schedule(_ fixture: DeliveryFixture, _ draft: MessageDraft, _ service: DeliveryService)
        async throws
    {
        try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        service.wake()
    }

    private static func state(_ fixture: DeliveryFixture, _ draft: MessageDraft) async throws -> Moment.State? {
        try await fixture.store.read { try $0.moments(app: draft.app, message: draft.id).first?.state }
    }

    @Test("a traditional message is held for ten seconds and sent to the device seen last, under its id")
    func hold() async throws {
        let fixture = try await DeliveryFixture()
        try await Self.register(fixture, 1)
        try await Self.register(fixture, 2)
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = Self.draft(fixture, method: .traditional)
            try await Self.schedule(fixture, draft, service)
            try await fixture.pass(seconds: 9)
            #expect(fixture.provider.sentCount(draft.id) == 0)
            try await fixture.drive { try await fixture.state(draft.id) == .sent }
            #expect(fixture.provider.sent(draft.id) == [2: 1])
            let order = fixture.provider.pages.last
            #expect(order?.lane == .direct)
            #expect(try await Self.state(fixture, draft) == .sent)
            #expect(try await fixture.trail(draft.id, 2).map(\.outcome) == [.accepted])
        }
    }

    @Test("a traditional message waits for the end of quiet hours on the device's clock, but not beyond its window")
    func quietHours() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.set(.init([("quiet_hours", ["from": "22:00", "to": "07:00"])]))
        try await Self.register(fixture, 1, zone: "Europe/Vienna")
        try await Self.register(fixture, 2, user: "ben", zone: "Asia/Tokyo")
        let service = fixture.service()
        try await fixture.running(service) {
            // At midnight UTC it is night in Vienna until 6:00 UTC.
            let start = fixture.now
            var short = Self.draft(fixture, method: .traditional, seconds: 3600)
            short.expiresAt = start + .seconds(3600)
            let id = short.id
            let long = Self.draft(fixture, users: ["ann", "ben"], method: .traditional, seconds: 12 * 3600)
            for draft in [short, long] { try await Self.schedule(fixture, draft, service) }
            try await fixture.drive { fixture.provider.sentCount(long.id) == 1 }
            #expect(fixture.provider.sent(long.id) == [2: 1] && fixture.now - start < .seconds(60))
            let events = try await fixture.events(long.id, 1)
            #expect(events.contains("held QuietHours, until 2026-11-21T06:00:00Z"), "\(events)")
            try await fixture.drive(by: .seconds(10)) { fixture.provider.sentCount(id) == 1 }
            #expect(fixture.now - start >= .seconds(3600) && fixture.now - start < .seconds(3700))
            try await fixture.drive(by: .seconds(10)) { try await fixture.state(long.id) == .sent }
            #expect(fixture.now - start >= .seconds(6 * 3600 - 10))
            #expect(fixture.provider.sent(long.id) == [1: 1, 2: 1])
        }
    }

    @Test("an alert that waits for the end of quiet hours follows changed hours", arguments: StoreUnderTest.allCases)
    func changedQuietHours(_ engine: StoreUnderTest) async throws {
        let fixture = try await DeliveryFixture(engine)
        try await fixture.set(.init([("quiet_hours", ["from": "22:00", "to": "07:00"])]))
        try await Self.register(fixture, 1)
        let service = fixture.service()
        try await fixture.running(service) {
            let start = fixture.now
            let draft = Self.draft(fixture, method: .traditional, seconds: 12 * 3600)
            try await Self.schedule(fixture, draft, service)
            try await fixture.drive {
                try await fixture.events(draft.id, 1).contains("held QuietHours, until 2026-11-21T07:00:00Z")
            }
            try await fixture.change(.init([("quiet_hours", .null)]), by: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(draft.id) == .sent }
            #expect(fixture.now - start < .seconds(60))
            #expect(fixture.provider.sent(draft.id) == [1: 1])
        }
    }

    @Test("a message for a good moment is sent at the end of its window, and not before")
    func fallback() async throws {
        let fixture = try await DeliveryFixture()
        try await Self.register(fixture, 1)
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = Self.draft(fixture, method: .contextAware, seconds: 90)
            try await Self.schedule(fixture, draft, service)
            try await fixture.pass(seconds: 89)
            #expect(fixture.provider.sentCount(draft.id) == 0)
            #expect(try await fixture.state(draft.id) == .scheduled)
            try await fixture.drive { try await fixture.state(draft.id) == .sent }
            #expect(fixture.provider.sent(draft.id) == [1: 1])
        }
    }

    @Test("after a dead device the next one gets it, and a user counts once")
    func nextDevice() async throws {
        let fixture = try await DeliveryFixture()
        for number in 1...3 { try await Self.register(fixture, number) }
        fixture.provider.answers { $0.key == 1 ? .accepted : .unregistered }
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = Self.draft(fixture, method: .traditional)
            try await Self.schedule(fixture, draft, service)
            try await fixture.drive { try await fixture.state(draft.id) == .sent }
            #expect(fixture.provider.sent(draft.id) == [1: 1, 2: 1, 3: 1])
            let counts = try await fixture.counts(draft.id)
            #expect(counts.accepted == 1 && counts.devices == 1)
            #expect(try await fixture.device(3)?.retirement?.reason == "Unregistered")
        }
    }

    @Test("an app may send alerts to all of a user's devices at once, and the user counts once")
    func allDevices() async throws {
        let fixture = try await DeliveryFixture()
        for number in 1...3 { try await Self.register(fixture, number) }
        try await fixture.store.changeSettings(of: fixture.app) { $0[.alertsAllDevices] = true }
        fixture.provider.answers { $0.key == 2 ? .accepted : .unregistered }
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = Self.draft(fixture, method: .traditional)
            try await Self.schedule(fixture, draft, service)
            try await fixture.drive { try await fixture.state(draft.id) == .sent }
            #expect(fixture.provider.sent(draft.id) == [1: 1, 2: 1, 3: 1])
            let counts = try await fixture.counts(draft.id)
            #expect(counts.accepted == 1 && counts.devices == 1)
            #expect(try await Self.state(fixture, draft) == .sent)
            #expect(
                try await fixture.store.read { try $0.moments(app: draft.app, message: draft.id).first?.device } == 2)
        }
    }

    @Test("an alert that a provider defers is tried again, and ends as sent")
    func deferred() async throws {
        let fixture = try await DeliveryFixture()
        try await Self.register(fixture, 1)
        fixture.provider.answers { request in
            request.earlier == 0 ? .verdict(.holdAddress(after: .seconds(10)), "TooManyRequests") : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = Self.draft(fixture, method: .traditional)
            try await Self.schedule(fixture, draft, service)
            try await fixture.drive { try await fixture.state(draft.id) == .sent }
            #expect(fixture.provider.sent(draft.id) == [1: 2])
            #expect(try await fixture.trail(draft.id, 1).map(\.outcome) == [.moved, .accepted])
        }
    }

    @Test("a device that registers inside the window is reached")
    func registersLater() async throws {
        let fixture = try await DeliveryFixture()
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = Self.draft(fixture, method: .traditional)
            try await Self.schedule(fixture, draft, service)
            try await fixture.pass(seconds: 30)
            #expect(try await Self.state(fixture, draft) == .open)
            try await Self.register(fixture, 1)
            try await fixture.drive { try await fixture.state(draft.id) == .sent }
            #expect(fixture.provider.sent(draft.id) == [1: 1])
        }
    }

    @Test("a cancelled message is never sent, and one without a credential fails")
    func ends() async throws {
        let fixture = try await DeliveryFixture(hasCredential: false)
        try await Self.register(fixture, 1)
        let service = fixture.service()
        try await fixture.running(service) {
            let (gone, kept) = (Self.draft(fixture, method: .traditional), Self.draft(fixture, method: .traditional))
            try await Self.schedule(fixture, gone, service)
            try await Self.schedule(fixture, kept, service)
            let now = fixture.now
            let count = try await fixture.store.write(.control) {
                try $0.cancelMoments(app: gone.app, message: gone.id, now: now)
            }
            #expect(count == 1)
            try await fixture.drive { try await fixture.state(kept.id)?.isFinal ?? false }
            #expect(try await fixture.state(gone.id) == .cancelled)
            #expect(try await fixture.counts(gone.id).suppressed == 1)
            #expect(try await Self.state(fixture, kept) == .failed)
            #expect(try await fixture.counts(kept.id).reasons == ["NoCredential": 1])
        }
    }

    @Test("Android devices: the fallback is sent over FCM, unless the device claimed the message or it was cancelled")
    func android() async throws {
        let fixture = try await DeliveryFixture(hasCredential: false)
        try await fixture.putCredential(.production, .fcm)
        let fcm = ScriptedProvider()
        try await Self.register(fixture, 1, route: .fcm)
        let service = fixture.service(providers: [.apns: fixture.provider, .fcm: fcm])
        try await fixture.running(service) {
            let drafts = (0..<3).map { _ in Self.draft(fixture, method: .contextAware, seconds: 90) }
            for draft in drafts { try await Self.schedule(fixture, draft, service) }
            let (app, now) = (drafts[0].app, fixture.now)
            try await fixture.store.write(.control) { store in
                let moment = try #require(try store.moments(app: app, message: drafts[1].id).first)
                let claim = MomentClaim(
                    id: ClaimID(high: 1, low: 1), target: .init(device: 1, route: .fcm), rev: moment.rev,
                    hasLedger: false, score: nil)
                _ = try store.apply(.claim(claim), to: moment, now: now)
                #expect(try store.cancelMoments(app: app, message: drafts[2].id, now: now) == 1)
            }
            try await fixture.pass(seconds: 89)
            #expect(drafts.allSatisfy { fcm.sentCount($0.id) == 0 })
            try await fixture.drive { try await fixture.state(drafts[0].id) == .sent }
            try await fixture.pass(seconds: 60)
            #expect(fcm.sent(drafts[0].id) == [1: 1])
            #expect(fcm.sentCount(drafts[1].id) == 0, "only the device that claimed it may show it")
            #expect(fcm.sentCount(drafts[2].id) == 0 && fixture.provider.pages.isEmpty)
        }
    }

    @Test("a crash between fallback and settlement sends again and ends once")
    func crash() async throws {
        let fixture = try await DeliveryFixture()
        try await Self.register(fixture, 1)
        let draft = Self.draft(fixture, method: .traditional)
        try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        fixture.time.advance(by: .seconds(10))
        let now = fixture.now
        #expect(try await fixture.store.write(.control) { try $0.fireDueMoments(now: now, limit: 9) } == 1)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.drive { try await fixture.state(draft.id) == .sent }
            #expect(fixture.provider.sentCount(draft.id) == 1)
        }
    }
}
