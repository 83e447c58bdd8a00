import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Addresses of the wrong environment", .timeLimit(.minutes(10)))
struct HealingTests {
    /// Devices with an even key belong to the sandbox.
    private static func fixture(hasSandbox: Bool = true) async throws -> DeliveryFixture {
        let fixture = try await DeliveryFixture()
        if hasSandbox { try await fixture.putCredential(.sandbox) }
        fixture.provider.answers { request in
            let isSandbox = request.key % 2 == 0
            return isSandbox == (request.route == .apnsSandbox) ? .accepted : .badToken
        }
        return fixture
    }

    @Test("a device of the other environment is reached there at once, and moved", arguments: [1...2, 1...300])
    func heals(_ devices: ClosedRange<Int>) async throws {
        let fixture = try await Self.fixture()
        try await fixture.register(devices)
        let service = fixture.service()
        try await fixture.running(service) {
            let first = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(first)
            #expect(try await fixture.counts(first).accepted == devices.count)
            for number in devices where number % 2 == 0 {
                let device = try await fixture.device(number)
                #expect(device?.environment == .sandbox)
                #expect(device?.topics == ["news"])
            }
            let before = fixture.provider.sent(first).values.reduce(0, +)
            #expect(before == devices.count + devices.count { $0 % 2 == 0 })
            let second = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(second)
            #expect(fixture.provider.sent(second).values.reduce(0, +) == devices.count)
            #expect(try await fixture.counts(second).accepted == devices.count)
        }
    }

    @Test("the move is recorded in the audit log and in the trail")
    func audited() async throws {
        let fixture = try await Self.fixture()
        try await fixture.register(2...2)
        let service = fixture.service()
        try await fixture.running(service) {
            fixture.provider.answers { $0.route == .apnsSandbox ? .accepted : .badToken }
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(id)
            let trail = try await fixture.trail(id, 1)
            #expect(trail.map(\.reason) == ["EnvironmentHealed"])
            try await fixture.store.chainAudit()
            let rows = try await AuditVerbs(store: fixture.store).rows(AuditFilter(), before: nil, limit: 10).items
            let row = try #require(rows.first { $0.entry.action == "device.environment" })
            #expect(row.entry.object.hasSuffix("production to sandbox"))
            #expect(row.entry.app != nil)
        }
    }

    @Test("if the other environment refuses the credential, its route is stopped, and the first answer counts")
    func otherIsRefused() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.putCredential(.sandbox)
        fixture.provider.answers { request in
            request.route == .apnsSandbox ? .credentialRefused : request.key == 1 ? .badToken : .accepted
        }
        try await fixture.register(1...2)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 1 && counts.retired == 1)
            #expect(try await fixture.health(.sandbox)?.isStopped == true)
            #expect(try await fixture.health(.production)?.isStopped == false)
        }
    }

    @Test("a device that is reached in the other environment shows that its credential works")
    func otherIsHealthy() async throws {
        let fixture = try await Self.fixture()
        try await fixture.register(2...2)
        let service = fixture.service()
        try await fixture.running(service) {
            fixture.provider.answers { $0.route == .apnsSandbox ? .accepted : .badToken }
            try await fixture.ended(try await fixture.accept(fixture.draft(.all), engine: service))
            #expect(try await fixture.health(.sandbox) == .ok(at: fixture.now))
        }
    }

    /// Runs `body` after the first device, which named production, was reached in the sandbox.
    private static func afterHealing(
        _ body: @escaping @Sendable (DeliveryFixture, DeliveryService) async throws -> Void
    ) async throws {
        let fixture = try await Self.fixture()
        fixture.provider.answers { $0.route == .apnsSandbox ? .accepted : .badToken }
        try await fixture.register(1...1)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.ended(try await fixture.accept(fixture.draft(.all), engine: service))
            try await body(fixture, service)
        }
    }

    @Test("a registration that names the disproved environment again changes nothing")
    func remembered() async throws {
        try await Self.afterHealing { fixture, service in
            try await fixture.register(1...1)
            #expect(try await fixture.device(1)?.environment == .sandbox)
            let second = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(second)
            #expect(fixture.provider.sent(second).values.reduce(0, +) == 1)
        }
    }

    @Test("a new id in the disproved environment takes over the device, even among new devices")
    func rememberedForNewID() async throws {
        try await Self.afterHealing { fixture, service in
            try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] store in
                for (id, address) in [(2, 2), (3, 1)] {
                    let address = Address(route: .apnsProduction, bytes: DeliveryFixture.address(address))
                    let registration = DeviceRegistration(id: DeliveryFixture.deviceID(id), address: address)
                    _ = try store.register(registration, app: app, now: now)
                }
            }
            #expect(try await fixture.device(3)?.environment == .sandbox)
            let second = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(second)
            #expect(fixture.provider.sent(second)[1] == 1)
        }
    }

    @Test("a new id in the disproved environment corrects it among new devices even if the device was retired since")
    func rememberedOfRetired() async throws {
        try await Self.afterHealing { fixture, service in
            fixture.provider.answers { _ in .badToken }
            try await fixture.ended(try await fixture.accept(fixture.draft(.all), engine: service))
            #expect(try await fixture.device(1)?.retirement != nil)
            try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] store in
                for (id, address) in [(2, 2), (3, 1)] {
                    let address = Address(route: .apnsProduction, bytes: DeliveryFixture.address(address))
                    let registration = DeviceRegistration(id: DeliveryFixture.deviceID(id), address: address)
                    _ = try store.register(registration, app: app, now: now)
                }
            }
            #expect(try await fixture.device(2)?.environment == .production)
            #expect(try await fixture.device(3)?.environment == .sandbox)
        }
    }

    @Test("an address that neither environment knows is retired after one try in each")
    func unknown() async throws {
        let fixture = try await Self.fixture()
        try await fixture.register(1...3)
        fixture.provider.answers { _ in .badToken }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(id)
            #expect(try await fixture.counts(id).retired == 3)
            #expect(Array(fixture.provider.sent(id).values) == [2, 2, 2])
            #expect(try await fixture.device(1)?.retirement?.reason == "BadDeviceToken")
        }
    }

    @Test("without a credential for the other environment, the first answer counts")
    func noCredential() async throws {
        let fixture = try await Self.fixture(hasSandbox: false)
        try await fixture.register(1...2)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(id)
            #expect(try await fixture.counts(id).accepted == 1)
            #expect(try await fixture.counts(id).retired == 1)
        }
    }

    @Test("a whole audience in the wrong environment heals and does not stop the route")
    func wholeAudience() async throws {
        let fixture = try await Self.fixture()
        fixture.provider.answers { $0.route == .apnsSandbox ? .accepted : .badToken }
        try await fixture.register(1...2500)
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.ended(id)
            #expect(try await fixture.counts(id).accepted == 2500)
            #expect(service.metrics.snapshot.breakerTrips == 0)
        }
    }

    @Test("if the other environment fails, the device is tried again later")
    func trouble() async throws {
        let fixture = try await Self.fixture()
        try await fixture.register(1...1)
        fixture.provider.answers { request in
            guard request.route == .apnsSandbox else { return .badToken }
            return request.earlier == 1 ? .unsent("NoConnection") : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 1)
            #expect(try await fixture.device(1)?.environment == .sandbox)
        }
    }
}
