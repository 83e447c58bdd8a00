import PealCore
import Testing

@Suite("A device's share of the geofences")
struct GeofenceShareTests {
    private static func at(_ seconds: Int64) -> Timestamp { Timestamp(seconds: 1_000_000 + seconds) }

    private static func geofence(
        _ id: Int64, changed: Int64 = 0, tags: [String] = [], starts: Int64? = nil, ends: Int64 = 10_000,
        reach: Geofence.Reach = .all
    ) -> Geofence {
        let plan = Geofence.Plan(
            tags: tags, trigger: .enter, startsAt: starts.map(at), expiresAt: at(ends), reach: reach,
            locationIDs: [1], data: .init())
        return Geofence(id: id, plan: plan, locations: [], createdAt: at(0), updatedAt: at(changed))
    }

    private static func share(
        _ geofences: [Geofence], deleted: [(Int64, Int64)] = [], platform: Platform = .ios,
        topics: [String: Int64]? = nil, since: Int64?, now: Int64 = 1000
    ) -> GeofenceShare {
        let changes = geofences.map(\.updatedAt) + deleted.map { at($0.1) }
        let ledger = GeofenceLedger(
            geofences: geofences, deleted: deleted.map { .init(id: $0.0, at: at($0.1)) }, changedAt: changes.max())
        let joined = topics.map { Dictionary(uniqueKeysWithValues: $0.map { (ExactText($0), at($1)) }) }
        return GeofenceShare(
            ledger, for: .init(platform: platform, topics: joined), since: since.map(at), now: at(now))
    }

    @Test("from no state is everything that is active, and nothing deleted")
    func full() {
        let share = Self.share(
            [
                Self.geofence(1), Self.geofence(2, changed: 7), Self.geofence(3, ends: 1000),
                Self.geofence(4, starts: 1001),
            ],
            deleted: [(9, 3)], since: nil)
        #expect(share.geofences.map(\.id) == [1, 2])
        #expect(share.deletedIDs == [])
        #expect(share.lastModified == Self.at(7))
    }

    @Test("later is what was changed or deleted since, and then nothing")
    func delta() {
        let fences = [Self.geofence(1, changed: 5), Self.geofence(2, changed: 6), Self.geofence(3, changed: 7)]
        let share = Self.share(fences, deleted: [(8, 5), (9, 6)], since: 5)
        #expect(share.geofences.map(\.id) == [2, 3])
        #expect(share.deletedIDs == [9])
        #expect(share.lastModified == Self.at(7))
        let again = Self.share(fences, deleted: [(8, 5), (9, 6)], since: 7)
        #expect(again.geofences == [] && again.deletedIDs == [] && again.lastModified == Self.at(7))
    }

    @Test(
        "is limited to the device's platform and topics",
        arguments: [
            (Platform.ios, ["a": 0] as [String: Int64]?, [1, 2, 4]), (.ios, [:], [1, 2]),
            (.android, ["b": 0], [1, 3, 5]),
            (.ios, nil, [1, 2, 4, 5]), (.androidBaidu, [:], [1, 3]), (.windows, ["a": 0], [1, 4]),
        ])
    func cut(platform: Platform, topics: [String: Int64]?, ids: [Int64]) {
        let fences = [
            Self.geofence(1), Self.geofence(2, reach: .ios), Self.geofence(3, reach: .android),
            Self.geofence(4, tags: ["a"]), Self.geofence(5, tags: ["b", "c"]),
        ]
        #expect(Self.share(fences, platform: platform, topics: topics, since: nil).geofences.map(\.id) == ids)
    }

    @Test("includes once what became visible by joining a topic or by a start")
    func joining() {
        let fences = [Self.geofence(1, changed: 5, tags: ["a", "b"]), Self.geofence(2, changed: 5, starts: 400)]
        let known = Self.share(fences, topics: [:], since: nil, now: 300)
        #expect(known.geofences == [] && known.lastModified == Self.at(5))
        let joined = Self.share(fences, topics: ["a": 350, "b": 380], since: 5, now: 390)
        #expect(joined.geofences.map(\.id) == [1] && joined.lastModified == Self.at(350))
        let started = Self.share(fences, topics: ["a": 350, "b": 380], since: 350, now: 400)
        #expect(started.geofences.map(\.id) == [2] && started.lastModified == Self.at(400))
        let later = Self.share(fences, topics: ["a": 350, "b": 380], since: 400, now: 500)
        #expect(later.geofences == [] && later.deletedIDs == [])
    }

    @Test("reports a changed one that the device no longer has as deleted, and omits an ended one")
    func lost() {
        let fences = [
            Self.geofence(1, changed: 50, reach: .android), Self.geofence(2, changed: 50, tags: ["x"]),
            Self.geofence(3, changed: 50, starts: 2000), Self.geofence(4, changed: 50, ends: 900),
            Self.geofence(5, changed: 40, ends: 900),
        ]
        let share = Self.share(fences, topics: [:], since: 45)
        #expect(share.geofences == [])
        #expect(share.deletedIDs == [1, 2, 3, 4])
        #expect(Self.share(fences, topics: [:], since: nil).deletedIDs == [])
    }
}

@Suite("The audience of a change of geofences")
struct GeofenceAudienceTests {
    private static let now = Timestamp(seconds: 1000)

    private static func plan(
        _ tags: [String], _ reach: Geofence.Reach, starts: Int64? = nil, ends: Int64 = 2000
    ) -> Geofence.Plan {
        Geofence.Plan(
            tags: tags, trigger: .exit, startsAt: starts.map { Timestamp(seconds: $0) },
            expiresAt: Timestamp(seconds: ends), reach: reach, locationIDs: [], data: .init())
    }

    private static func audiences(
        _ before: [Geofence.Plan], _ after: [Geofence.Plan]
    ) -> [GeofenceAudience] {
        GeofenceAudience.all(before: before, after: after, now: now)
    }

    private static func only(
        _ before: [Geofence.Plan], _ after: [Geofence.Plan]
    ) throws -> GeofenceAudience {
        let audiences = audiences(before, after)
        try #require(audiences.count == 1)
        return audiences[0]
    }

    @Test("is empty once all have ended")
    func ended() {
        #expect(Self.audiences([], []) == [])
        #expect(Self.audiences([], [Self.plan([], .all, ends: 1000)]) == [])
    }

    @Test("is the union of before and after, and everyone if one has no tags")
    func union() throws {
        let both = try Self.only([Self.plan(["a"], .ios)], [Self.plan(["b"], .android, ends: 3000)])
        #expect(both.topics == ["a", "b"] && both.reaches == [.ios, .android])
        #expect(both.expiresAt == Timestamp(seconds: 3000) && both.startsAt == nil)
        #expect(try Self.only([Self.plan(["a"], .ios)], [Self.plan([], .ios)]).topics == nil)
        #expect(try Self.only([Self.plan([], .all, ends: 900)], [Self.plan(["a"], .ios)]).topics == ["a"])
    }

    @Test("learns of a geofence at its new start, and at once if it had the geofence before")
    func start() throws {
        let (soon, later) = (Self.plan(["a"], .all, starts: 1400), Self.plan(["b"], .all, starts: 1500))
        let moved = try Self.only([soon], [later])
        #expect(moved.startsAt == Timestamp(seconds: 1500) && moved.topics == ["b"])
        #expect(try Self.only([later], [soon]).startsAt == Timestamp(seconds: 1400))
        #expect(try Self.only([later], [Self.plan(["a"], .all)]).startsAt == nil)

        let postponed = Self.audiences([Self.plan(["a"], .all)], [later])
        #expect(postponed.map(\.startsAt) == [nil, Timestamp(seconds: 1500)])
        #expect(postponed.map(\.topics) == [["a"], ["b"]])
    }

    @Test("is empty if a geofence is deleted before its start, because no device has it")
    func neverStarted() {
        #expect(Self.audiences([Self.plan([], .all, starts: 1500)], []) == [])
    }
}
