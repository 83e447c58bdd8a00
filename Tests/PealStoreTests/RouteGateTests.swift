import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Gates of routes")
struct RouteGateTests {
    private static let route = Route.apnsProduction

    private static func close(
        _ fixture: Fixture, _ state: RouteGate.State = .stopped, seconds: Int64 = 30, suspect: MessageID? = nil,
        fingerprint: String? = nil
    ) async throws -> Int64? {
        let gate = RouteGate(
            ActiveRoute(app: fixture.app, route: route), state, closedUntil: fixture.now + .seconds(seconds),
            reason: "InvalidProviderToken", fingerprint: fingerprint, suspect: suspect, probed: suspect)
        return try await fixture.store.write(.control) { try $0.setGate(gate) }
    }

    private static func ready(_ fixture: Fixture) async throws -> [ActiveRoute] {
        let now = fixture.now
        return try await fixture.store.read { try $0.readyRoutes(after: nil, stepsMax: .max, now: now).routes }
    }

    /// The given number of messages to one device, oldest first.
    private static func messages(_ count: Int, _ fixture: Fixture) async throws -> [MessageID] {
        var ids: [MessageID] = []
        for _ in 0..<count {
            ids.append(try await fixture.send(.devices(1)).id)
            fixture.time.advance(by: .milliseconds(5))
        }
        return ids
    }

    @Test("a closed route's slices are not leased, and nothing of them is written", arguments: StoreUnderTest.allCases)
    func closed(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        let ids = try await Self.messages(3, fixture)
        _ = try await Self.close(fixture)
        #expect(try await Self.ready(fixture) == [])
        #expect(try await fixture.lease().isEmpty)
        let census = try await fixture.store.read { try $0.census() }
        #expect(census.slicesParked == 3 && census.slicesReady == 0 && census.slicesWaiting == 0)
        try await fixture.store.write(.control) { [app = fixture.app] in
            try $0.openGate(ActiveRoute(app: app, route: Self.route))
        }
        #expect(Set(try await fixture.lease().map(\.id.message)) == Set(ids))
    }

    @Test(
        "a probe takes one slice of each of a few messages, after the one that was refused and then from the beginning",
        arguments: StoreUnderTest.allCases)
    func probes(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        let ids = try await Self.messages(6, fixture)
        _ = try await Self.close(fixture, suspect: ids[0])
        func probe() async throws -> [MessageID] {
            fixture.time.advance(by: .seconds(31))
            #expect(try await Self.ready(fixture).count == 1)
            let slices = try await fixture.lease()
            #expect(try await fixture.lease().isEmpty, "one probe at a time")
            #expect(try await Self.ready(fixture) == [])
            let messages = slices.map(\.id.message)
            let later = fixture.now + .seconds(Limits.leaseSeconds + 1)
            try await fixture.store.write(.control) { _ = try $0.takeBackLeases(endedBefore: later) }
            return messages
        }
        #expect(try await probe() == Array(ids[1...4]))
        #expect(try await probe() == [ids[5], ids[0], ids[1], ids[2]])
        #expect(try await probe() == [ids[3], ids[4], ids[5], ids[0]])
    }

    @Test("a probe prefers devices that were not tried before", arguments: StoreUnderTest.allCases)
    func untriedFirst(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        _ = try await Self.messages(1, fixture)
        try await fixture.test.execute("UPDATE slice SET attempt = 1")
        let columns = """
            app, message, route, window_no, lane, rank, state, ready_at, key_from, key_to, keys, cursor, pages, estimate,
            counts, owner, term, lease_until, doubt
            """
        try await fixture.test.execute(
            "INSERT INTO slice (\(columns), part, attempt) SELECT \(columns), 7, 0 FROM slice")
        _ = try await Self.close(fixture)
        fixture.time.advance(by: .seconds(31))
        #expect(try await fixture.lease().map(\.attempt) == [0])
        fixture.time.advance(by: .seconds(31))
        #expect(try await fixture.lease().map(\.attempt) == [1])
    }

    @Test("what ends needs no open route", arguments: StoreUnderTest.allCases)
    func ending(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        _ = try await Self.close(fixture, seconds: 100_000)
        let (cancelled, plan) = try await fixture.send(.devices(1), owner: "me")
        #expect(plan.leasedSlices.isEmpty, "a slice of a closed route is not leased to be released again")
        let (expired, _) = try await fixture.send(.devices(1), lifeSeconds: 60)
        let (paused, _) = try await fixture.send(.devices(1), lifeSeconds: 60)
        _ = try await fixture.send(.devices(1))
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            _ = try $0.moveMessage(app: app, id: cancelled, from: [.sending], to: .cancelled, now: now)
            _ = try $0.moveMessage(app: app, id: paused, from: [.sending], to: .paused, now: now)
        }
        #expect(try await fixture.lease().map(\.id.message) == [cancelled])
        #expect(try await fixture.store.read { try $0.nextDueAt() } == fixture.now + .seconds(60))
        fixture.time.advance(by: .seconds(60))
        let count = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.endExpiredMessages(now: now, limit: 10)
        }
        #expect(count == 2)
        #expect(Set(try await fixture.lease().map(\.id.message)) == [expired, paused])
        #expect(try await fixture.store.read { try $0.nextDueAt() } != fixture.now, "each is found once")
    }

    @Test("a slice that is released after its message ended becomes ending", arguments: StoreUnderTest.allCases)
    func releasedLate(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1)
        let (id, _) = try await fixture.send(.devices(1))
        let slice = try #require(try await fixture.lease().first)
        _ = try await Self.close(fixture)
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            _ = try $0.moveMessage(app: app, id: id, from: [.sending], to: .cancelled, now: now)
            _ = try $0.settle(
                [
                    Settlement(of: slice, by: "me", next: .release(readyAt: nil))
                ], now: now)
        }
        #expect(try await fixture.lease().map(\.id.message) == [id])
    }

    @Test("a gate outlives a restart, and a new credential opens it", arguments: StoreUnderTest.allCases)
    func lasting(_ engine: StoreUnderTest) async throws {
        var fixture = try await Fixture(engine)
        let change = try await Self.close(fixture)
        fixture = try await fixture.reopened()
        let gates = try await fixture.store.read { try $0.gates(changedAfter: 0, limit: 9) }
        #expect(gates.map(\.state) == [.stopped] && gates.first?.reason == "InvalidProviderToken")
        #expect(gates.first?.change == change)
        let key = Credential.apnsToken(
            .init(keyID: "ABCDE12345", teamID: "TEAM123456", privateKey: "key", bundleID: "com.example.app"))
        let record = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.putCredential(
                CredentialExamination(credential: key, facts: .init()),
                at: CredentialSlot(app: app, provider: .apns, environment: .production), now: now)
        }
        let later = try await fixture.store.read { try $0.gates(changedAfter: change ?? 0, limit: 9) }
        #expect(later.map(\.state) == [.open])
        #expect(try await Self.close(fixture, fingerprint: "an earlier one") == nil)
        #expect(try await Self.close(fixture, fingerprint: record.fingerprint) != nil)
    }

    @Test(
        "gates and devices of networks that this program does not know are left out",
        arguments: StoreUnderTest.allCases)
    func unknownRoute(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        _ = try await Self.close(fixture)
        try await fixture.test.engine.write(.control) { _ = try $0.execute("UPDATE route_gate SET route = 0") }
        _ = try await Self.close(fixture)
        let gates = try await fixture.store.read { [app = fixture.app] in
            try ($0.gates(changedAfter: 0, limit: 9), $0.gates(app: app))
        }
        #expect(gates.0.map(\.route.route) == [Self.route] && gates.1.map(\.route.route) == [Self.route])
        try await fixture.register(1)
        _ = try await fixture.send(.all)
        #expect(try await fixture.store.read { try $0.census() }.slicesParked == 1)
        try await fixture.register(2)
        try await fixture.test.engine.write(.control) { connection in
            _ = try connection.execute("UPDATE device SET route = 0 WHERE seq = 2")
        }
        #expect(try await fixture.send(.devices(1, 2)).plan.audienceEstimate == 1)
        #expect(try await fixture.store.read { try $0.census() }.slicesParked == 2)
    }

    @Test("a search visits a bounded number of routes and continues where it ended", arguments: StoreUnderTest.allCases)
    func walk(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        var routes: [ActiveRoute] = []
        for (number, route) in [Route.apnsProduction, .apnsSandbox, .fcm, .webPush].enumerated() {
            try await fixture.register(number + 1, route: route)
            routes.append(ActiveRoute(app: fixture.app, route: route))
        }
        routes.sort { $0.route.rawValue < $1.route.rawValue }
        _ = try await fixture.send(.all)
        func walk(_ start: ActiveRoute?, _ steps: Int) async throws -> ReadyRoutes {
            try await fixture.store.read { [now = fixture.now] in
                try $0.readyRoutes(after: start, stepsMax: steps, now: now)
            }
        }
        let first = try await walk(nil, 3)
        #expect(first.routes == Array(routes[..<3]) && first.resumeAfter == routes[2])
        let second = try await walk(routes[2], 3)
        #expect(second.routes == [routes[3], routes[0], routes[1]])
        let whole = try await walk(routes[0], 9)
        #expect(whole.routes == [routes[1], routes[2], routes[3], routes[0]] && whole.resumeAfter == nil)
    }

    @Test("what waits on a route is summed, with the oldest message", arguments: StoreUnderTest.allCases)
    func loads(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...30)
        let start = fixture.now
        _ = try await fixture.send(.all)
        fixture.time.advance(by: .seconds(5))
        _ = try await fixture.send(.devices(1, 2))
        let loads = try await fixture.store.read { [app = fixture.app] in try $0.routeLoads(app: app) }
        #expect(loads.keys.map { $0 } == [.apnsProduction])
        #expect(loads[.apnsProduction]?.pending == 32 && loads[.apnsProduction]?.oldestAt == start)
        #expect(try await fixture.store.read { try $0.parkedRoutes(limit: 9) }.isEmpty)
        _ = try await Self.close(fixture)
        let parked = try await fixture.store.read { try $0.parkedRoutes(limit: 9) }
        #expect(parked.count == 1 && parked.first.map { $0.slices >= 2 } == true)
    }
}
