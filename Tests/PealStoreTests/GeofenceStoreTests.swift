import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Geofences in the store")
struct GeofenceStoreTests {
    private static let circle = GeofenceLocation.Circle(
        name: "Market", latitude: "47.80", longitude: "13.0450", radius: "150")

    private static func plan(
        _ fixture: Fixture, _ locations: [Int64], tags: [String] = ["a"], ends: Int64 = 3600
    ) -> Geofence.Plan {
        Geofence.Plan(
            tags: tags, trigger: .enter, expiresAt: fixture.now + .seconds(ends), reach: .ios, locationIDs: locations,
            data: JSON.Members([("ios", ["alertBody": "Grüße", "n": .number("1.0")])]))
    }

    private static func write<R: Sendable>(
        _ fixture: Fixture, _ body: @escaping @Sendable (any StoreWriting, AppKey, Timestamp) throws -> R
    ) async throws -> R {
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in try body($0, app, now) }
    }

    @Test("come back as they were put, with their locations in order", arguments: StoreUnderTest.allCases)
    func roundTrip(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let plan = Self.plan(fixture, [2, 1])
        let made = try await Self.write(fixture) { store, app, now in
            _ = try store.insertLocation(Self.circle, app: app, now: now)
            _ = try store.insertLocation(Self.circle, app: app, now: now)
            return try store.insertGeofence(plan, app: app, now: now)
        }
        #expect(made.id == 1 && made.plan == plan)
        #expect(made.locations.map(\.id) == [2, 1] && made.locations.allSatisfy { $0.circle == Self.circle })
        let read = try await fixture.store.read { [app = fixture.app] in try $0.geofence(app: app, id: 1) }
        #expect(read == made)
        var changed = plan
        changed.locationIDs = [1]
        changed.startsAt = fixture.now + .seconds(5)
        changed.tags = []
        let after = try await Self.write(fixture) { [changed] in
            try $0.updateGeofence(1, changed, app: $1, now: $2)
        }
        #expect(after?.plan == changed && after?.createdAt == made.createdAt)
        #expect(try await Self.write(fixture) { try $0.updateGeofence(7, plan, app: $1, now: $2) } == nil)
        let error = await #expect(throws: PealError.self) {
            try await Self.write(fixture) { store, app, now in
                var wrong = plan
                wrong.locationIDs = [1, 9]
                _ = try store.insertGeofence(wrong, app: app, now: now)
            }
        }
        #expect(error?.field == "locations[1]")
    }

    @Test(
        "no two changes have one instant, and a location's change is its geofences'", arguments: StoreUnderTest.allCases
    )
    func instants(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let plan = Self.plan(fixture, [1])
        let (first, second) = try await Self.write(fixture) { store, app, now in
            _ = try store.insertLocation(Self.circle, app: app, now: now)
            return (
                try store.insertGeofence(plan, app: app, now: now), try store.insertGeofence(plan, app: app, now: now)
            )
        }
        #expect(first.updatedAt < second.updatedAt)
        _ = try await Self.write(fixture) { try $0.updateLocation(1, Self.circle, app: $1, now: $2) }
        let ledger = try await fixture.store.read { [app = fixture.app] in try $0.geofenceLedger(app: app) }
        #expect(ledger.geofences.count == 2 && ledger.geofences.allSatisfy { $0.updatedAt > second.updatedAt })
        #expect(ledger.changedAt == ledger.geofences.map(\.updatedAt).max())
        let users = try await fixture.store.read { [app = fixture.app] in try $0.geofences(app: app, at: 1) }
        #expect(users.map(\.id) == [1, 2])
    }

    @Test("a deleted one is remembered until every version's end has passed", arguments: StoreUnderTest.allCases)
    func tombstones(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (long, short) = (Self.plan(fixture, [1], ends: 7200), Self.plan(fixture, [1], ends: 60))
        let deleted = try await Self.write(fixture) { store, app, now in
            _ = try store.insertLocation(Self.circle, app: app, now: now)
            _ = try store.insertGeofence(long, app: app, now: now)
            _ = try store.updateGeofence(1, short, app: app, now: now)
            return [
                try store.deleteGeofence(1, app: app, now: now), try store.deleteGeofence(1, app: app, now: now),
            ]
        }
        #expect(deleted == [true, false])
        func remembered() async throws -> [Int64] {
            _ = try await Self.write(fixture) { store, _, now in try store.prune(now: now, limit: 100) }
            return try await fixture.store.read { [app = fixture.app] in
                try $0.geofenceLedger(app: app).deleted.map(\.id)
            }
        }
        fixture.time.advance(by: .seconds(7199))
        #expect(try await remembered() == [1])
        fixture.time.advance(by: .seconds(1))
        #expect(try await remembered() == [])
        // Numbers are not reused.
        #expect(try await Self.write(fixture) { try $0.insertGeofence(long, app: $1, now: $2).id } == 2)
    }

    @Test("locations and groups are listed by page, name and change", arguments: StoreUnderTest.allCases)
    func pages(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await Self.write(fixture) { store, app, now in
            for number in 1...5 {
                var circle = Self.circle
                circle.name = number.isMultiple(of: 2) ? "Café \(number)" : "Shop \(number)"
                _ = try store.insertLocation(circle, app: app, now: now)
            }
            _ = try store.insertLocationGroup(.init(name: "Odd", text: "t", locationIDs: [5, 1]), app: app, now: now)
        }
        func locations(_ query: NumberedPageQuery) async throws -> ([Int64], Int) {
            let page = try await fixture.store.read { [app = fixture.app] in try $0.locations(app: app, query) }
            return (page.items.map(\.id), page.total)
        }
        #expect(try await locations(.init(page: 1, size: 2)) == ([1, 2], 5))
        #expect(try await locations(.init(page: 3, size: 2)) == ([5], 5))
        #expect(try await locations(.init(page: .max, size: 2)) == ([], 5))
        #expect(try await locations(.init(page: 1, size: 9, text: "cAFÉ")) == ([2, 4], 2))
        let last = try await fixture.store.read { [app = fixture.app] in try $0.location(app: app, id: 4)?.updatedAt }
        #expect(try await locations(.init(page: 1, size: 9, updatedAfter: last)) == ([5], 1))

        let group = try await fixture.store.read { [app = fixture.app] in try $0.locationGroup(app: app, id: 1) }
        #expect(group?.locations.map(\.id) == [5, 1])
        let gone = try await Self.write(fixture) { store, app, _ in try store.deleteLocation(5, app: app) }
        #expect(gone)
        let groups = try await fixture.store.read { [app = fixture.app] in
            try $0.locationGroups(app: app, .init(page: 1, size: 9, text: "odd"))
        }
        #expect(groups.items.first?.plan.locationIDs == [1] && groups.total == 1)
        let ended = try await Self.write(fixture) { store, app, _ in try store.deleteLocationGroup(1, app: app) }
        #expect(ended)
    }

    @Test("are deleted with their app", arguments: StoreUnderTest.allCases)
    func app(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let plan = Self.plan(fixture, [1])
        try await Self.write(fixture) { store, app, now in
            _ = try store.insertLocation(Self.circle, app: app, now: now)
            _ = try store.insertGeofence(plan, app: app, now: now)
            _ = try store.deleteApp(app, now: now)
        }
        try await fixture.pruneAll()
        let ledger = try await fixture.store.read { [app = fixture.app] in try $0.geofenceLedger(app: app) }
        #expect(ledger == GeofenceLedger(geofences: [], deleted: [], changedAt: nil))
    }
}
