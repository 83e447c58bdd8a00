import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Wake-up pushes", .timeLimit(.minutes(10)))
struct WakeTests {
    private static func install(
        _ fixture: DeliveryFixture, _ number: Int, route: Route = .apnsProduction
    ) async throws {
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] store in
            let device = try store.register(
                DeviceRegistration(
                    id: DeliveryFixture.deviceID(number),
                    address: Address(route: route, bytes: DeliveryFixture.address(number)), userID: "ann"),
                app: app, now: now
            ).device
            try store.putInstallation(
                Installation(
                    app: app, device: device.key, tokenHash: Array(repeating: UInt8(number), count: 32),
                    key: KeyID(high: 1, low: 1), capabilities: [.background, .alerts], seenAt: now))
        }
    }

    private static func schedule(_ fixture: DeliveryFixture) async throws -> MessageID {
        var audience = Audience()
        audience.users = ["ann"]
        var draft = fixture.draft(audience, lifeSeconds: 30 * 3600)
        draft.window = DeliveryWindow(until: fixture.now + .seconds(6 * 3600), method: .contextAware)
        try await fixture.store.write(.intake) { [draft] in try $0.insertMessage(draft) }
        return draft.id
    }

    @Test("are sent to every phone of the user over its network, in the direct lane, and never for the message itself")
    func wakes() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.putCredential(.production, .fcm)
        let fcm = ScriptedProvider()
        try await Self.install(fixture, 1)
        try await Self.install(fixture, 2)
        try await Self.install(fixture, 3, route: .fcm)
        let service = fixture.service(providers: [.apns: fixture.provider, .fcm: fcm])
        try await fixture.running(service) {
            let message = try await Self.schedule(fixture)
            try await fixture.drive { fixture.provider.pages.count + fcm.pages.count == 2 }
            let page = try #require(fixture.provider.pages.first)
            #expect(page.page.keys == [1, 2] && page.lane == .direct && page.notifications.count == 2)
            #expect(page.slice.message != message, "a wake-up has an id of its own")
            #expect(fcm.pages.first?.page.keys == [3])
            #expect(fixture.provider.sentCount(message) == 0)
            fixture.time.advance(by: .seconds(1100))
            try await fixture.pass(seconds: 5)
            #expect(fixture.provider.pages.count == 1, "within 20 minutes there is no second one")
            #expect(service.metrics.snapshot.wakesSent == 3 && service.metrics.snapshot.wakesAccepted == 3)
        }
    }

    @Test("are lost rather than late: the network must take them soon after they were counted")
    func late() async throws {
        let fixture = try await DeliveryFixture()
        try await Self.install(fixture, 1)
        let service = fixture.service()
        try await fixture.running(service) {
            _ = try await Self.schedule(fixture)
            try await fixture.drive { fixture.provider.pages.count == 1 }
            let page = try #require(fixture.provider.pages.first)
            #expect(page.deadline <= fixture.time.uptime + .seconds(Limits.wakeLatenessSeconds / 2))
        }
    }

    @Test("over a network that does not answer delay no others")
    func silence() async throws {
        let fixture = try await DeliveryFixture()
        let other = try await fixture.another()
        try await other.putCredential(.production, .fcm)
        let silent = ScriptedProvider()
        silent.answers { _ in .silence }
        try await Self.install(other, 2, route: .fcm)
        try await Self.install(fixture, 1)
        let service = fixture.service(providers: [.apns: fixture.provider, .fcm: silent])
        try await fixture.running(service) {
            _ = try await Self.schedule(other)
            try await fixture.drive { silent.pages.count == 1 }
            _ = try await Self.schedule(fixture)
            // Less than a request may take.
            for _ in 0..<10 where fixture.provider.pages.isEmpty { try await fixture.pass(seconds: 1) }
            #expect(fixture.provider.pages.count == 1)
            #expect(silent.pages.count == 1)
            silent.answerOpen()
        }
    }

    @Test("that come due while their network does not answer are sent when it does")
    func busy() async throws {
        let fixture = try await DeliveryFixture()
        fixture.provider.answers { _ in .silence }
        try await Self.install(fixture, 1)
        let service = fixture.service()
        try await fixture.running(service) {
            _ = try await Self.schedule(fixture)
            try await fixture.drive { fixture.provider.pages.count == 1 }
            try await Self.install(fixture, 2)
            _ = try await Self.schedule(fixture)
            // Less than a request may take.
            try await fixture.pass(seconds: 4)
            #expect(fixture.provider.pages.count == 1)
            fixture.provider.answers { _ in .accepted }
            fixture.provider.answerOpen()
            try await fixture.drive { fixture.provider.pages.count == 2 }
            #expect(fixture.provider.pages.last?.page.keys == [2])
        }
    }

    /// Schedules a message, lets the wake-up of device 1 become due, and expects that it does not count.
    private static func expectUncounted(_ fixture: DeliveryFixture) async throws {
        _ = try await schedule(fixture)
        let due = fixture.now
        try await fixture.drive { try await fixture.store.read { try $0.nextWakeAt() ?? due } > due }
        let installation = try await fixture.store.read { [app = fixture.app] in
            try $0.installation(app: app, device: 1)
        }
        #expect(installation?.wakes.number == 0 && installation?.wakes.lastAt == nil)
    }

    @Test("are not counted while their route is closed: the device could not have answered them")
    func closedRoute() async throws {
        let fixture = try await DeliveryFixture()
        fixture.provider.answers { _ in .verdict(.stopApp, "InvalidProviderToken", status: 403) }
        try await Self.install(fixture, 1)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.eventually { try await fixture.health()?.isStopped ?? false }
            try await Self.expectUncounted(fixture)
        }
    }

    @Test("are neither sent nor counted without a credential, and follow when the app has one")
    func withoutCredential() async throws {
        let fixture = try await DeliveryFixture()
        try await Self.install(fixture, 1, route: .apnsSandbox)
        let service = fixture.service()
        try await fixture.running(service) {
            try await Self.expectUncounted(fixture)
            try await fixture.putCredential(.sandbox)
            fixture.time.advance(by: .seconds(Limits.wakeIntervalSeconds))
            try await fixture.drive { fixture.provider.pages.count == 1 }
        }
    }

    @Test(
        "that their network refuses for a reason of its own, or that are not sent, are not held against the device",
        arguments: [
            ScriptedProvider.Reply.credentialRefused, .unsent("NoConnection"),
            .verdict(.retry(after: nil), "ServiceUnavailable", status: 503),
        ])
    func untaken(_ reply: ScriptedProvider.Reply) async throws {
        let fixture = try await DeliveryFixture()
        try await Self.install(fixture, 1)
        try await Self.install(fixture, 2)
        fixture.provider.answers { $0.key == 1 ? reply : .accepted }
        let service = fixture.service()
        func wakes(_ device: DeviceKey) async throws -> WakeUps? {
            try await fixture.store.read { [app = fixture.app] in
                try $0.installation(app: app, device: device)?.wakes
            }
        }
        try await fixture.running(service) {
            _ = try await Self.schedule(fixture)
            try await fixture.drive { service.metrics.snapshot.wakesSent == 2 }
            try await fixture.eventually { try await wakes(1)?.number == 0 }
            #expect(try await wakes(1)?.lastAt != nil, "the budget remains charged")
            #expect(try await wakes(2)?.number == 1)
        }
    }

    @Test("are not repeated when the network refuses them")
    func refused() async throws {
        let fixture = try await DeliveryFixture()
        try await Self.install(fixture, 1)
        fixture.provider.answers { _ in .verdict(.holdAddress(after: .seconds(10)), "TooManyRequests") }
        let service = fixture.service()
        try await fixture.running(service) {
            _ = try await Self.schedule(fixture)
            try await fixture.drive { service.metrics.snapshot.wakesSent == 1 }
            try await fixture.pass(seconds: 60)
            #expect(fixture.provider.pages.map(\.page.keys) == [[1]])
            #expect(service.metrics.snapshot.wakesAccepted == 0)
        }
    }
}
