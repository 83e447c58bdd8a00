import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("Addresses of the wrong environment", .timeLimit(.minutes(10)))
struct HealingTests {
    private static let doubt = ScriptedProvider.Reply.verdict(
        .retireAddress(since: nil, isSuspicious: true), "BadDeviceToken", status: 400)

    /// Devices with an even key belong to the sandbox.
    private static func bench(hasSandbox: Bool = true) async throws -> Bench {
        let bench = try await Bench()
        if hasSandbox { try await bench.putCredential(.sandbox) }
        bench.provider.answers { request in
            let isSandbox = request.key % 2 == 0
            return isSandbox == (request.route == .apnsSandbox) ? .accepted : doubt
        }
        return bench
    }

    @Test("a device of the other environment is reached there at once, and moved", arguments: [1...2, 1...300])
    func heals(_ devices: ClosedRange<Int>) async throws {
        let bench = try await Self.bench()
        try await bench.register(devices)
        let service = bench.service()
        try await bench.running(service) {
            let first = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(first)
            #expect(try await bench.counts(first).accepted == devices.count)
            for number in devices where number % 2 == 0 {
                let device = try await bench.device(number)
                #expect(device?.environment == .sandbox)
                #expect(device?.topics == ["news"])
            }
            let before = bench.provider.sent(first).values.reduce(0, +)
            #expect(before == devices.count + devices.count { $0 % 2 == 0 })
            let second = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(second)
            #expect(bench.provider.sent(second).values.reduce(0, +) == devices.count)
            #expect(try await bench.counts(second).accepted == devices.count)
        }
    }

    @Test("the move is in the audit and in the trail")
    func audited() async throws {
        let bench = try await Self.bench()
        try await bench.register(2...2)
        let service = bench.service()
        try await bench.running(service) {
            bench.provider.answers { $0.route == .apnsSandbox ? .accepted : Self.doubt }
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(id)
            let trail = try await bench.trail(id, 1)
            #expect(trail.map(\.reason) == ["EnvironmentHealed"])
            let entries = try await bench.store.write(.rest) { [app = bench.app] in
                try $0.auditEntries(app: app, before: nil, limit: 10)
            }
            #expect(entries.map(\.entry.action) == ["device.environment"])
            #expect(entries.first?.entry.object.hasSuffix("production to sandbox") == true)
        }
    }

    @Test("where the other environment refuses the credential, that is told of it, and the first answer holds")
    func otherIsRefused() async throws {
        let bench = try await Bench()
        try await bench.putCredential(.sandbox)
        bench.provider.answers { request in
            request.route == .apnsSandbox
                ? .verdict(.stopApp, "InvalidProviderToken", status: 403) : request.key == 1 ? Self.doubt : .accepted
        }
        try await bench.register(1...2)
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.drive(by: .seconds(1)) { try await bench.state(id) == .sent }
            let counts = try await bench.counts(id)
            #expect(counts.accepted == 1 && counts.retired == 1)
            #expect(try await bench.health(.sandbox)?.isStopped == true)
            #expect(try await bench.health(.production)?.isStopped == false)
        }
    }

    @Test("who is reached in the other environment shows that its credential works")
    func otherIsHealthy() async throws {
        let bench = try await Self.bench()
        try await bench.register(2...2)
        let service = bench.service()
        try await bench.running(service) {
            bench.provider.answers { $0.route == .apnsSandbox ? .accepted : Self.doubt }
            try await bench.ended(try await bench.accept(bench.draft(.all), engine: service))
            #expect(try await bench.health(.sandbox) == .ok(at: bench.now))
        }
    }

    @Test("a registration that names the disproved environment again changes nothing")
    func remembered() async throws {
        let bench = try await Self.bench()
        bench.provider.answers { $0.route == .apnsSandbox ? .accepted : Self.doubt }
        try await bench.register(1...1)
        let service = bench.service()
        try await bench.running(service) {
            try await bench.ended(try await bench.accept(bench.draft(.all), engine: service))
            try await bench.register(1...1)
            #expect(try await bench.device(1)?.environment == .sandbox)
            let second = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(second)
            #expect(bench.provider.sent(second).values.reduce(0, +) == 1)
        }
    }

    @Test("an address that neither environment knows is retired after one try in each")
    func unknown() async throws {
        let bench = try await Self.bench()
        try await bench.register(1...3)
        bench.provider.answers { _ in Self.doubt }
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(id)
            #expect(try await bench.counts(id).retired == 3)
            #expect(bench.provider.sent(id).values.allSatisfy { $0 == 2 })
            #expect(try await bench.device(1)?.retirement?.reason == "BadDeviceToken")
        }
    }

    @Test("without a credential for the other environment the first answer holds")
    func noCredential() async throws {
        let bench = try await Self.bench(hasSandbox: false)
        try await bench.register(1...2)
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(id)
            #expect(try await bench.counts(id).accepted == 1)
            #expect(try await bench.counts(id).retired == 1)
        }
    }

    @Test("a whole audience in the wrong environment heals and does not stop the route")
    func wholeAudience() async throws {
        let bench = try await Self.bench()
        bench.provider.answers { $0.route == .apnsSandbox ? .accepted : Self.doubt }
        try await bench.register(1...2500)
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.ended(id)
            #expect(try await bench.counts(id).accepted == 2500)
            #expect(service.metrics.snapshot.breakerTrips == 0)
        }
    }

    @Test("where the other environment has trouble the device is tried again later")
    func trouble() async throws {
        let bench = try await Self.bench()
        try await bench.register(1...1)
        bench.provider.answers { request in
            guard request.route == .apnsSandbox else { return Self.doubt }
            return request.earlier == 1 ? .unsent("NoConnection") : .accepted
        }
        let service = bench.service()
        try await bench.running(service) {
            let id = try await bench.accept(bench.draft(.all), engine: service)
            try await bench.drive { try await bench.state(id) == .sent }
            #expect(try await bench.counts(id).accepted == 1)
            #expect(try await bench.device(1)?.environment == .sandbox)
        }
    }
}
