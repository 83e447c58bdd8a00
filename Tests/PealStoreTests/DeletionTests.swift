import PealCore
@testable import PealStore
import PealTesting
import Testing

/// What a deletion changes immediately, and what the Pruner completes in pieces.
@Suite("Deletions")
struct DeletionTests {
    private static func delete(_ fixture: Fixture) async throws {
        let (app, now) = (fixture.app, fixture.now)
        #expect(try await fixture.store.write(.control) { try $0.deleteApp(app, now: now) })
    }

    private static func deleteTopic(_ name: String, _ fixture: Fixture) async throws -> Bool {
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.deleteTopic(app: app, name: name, now: now)
        }
    }

    @Test("an app is deleted at once, and its id and its devices' ids and addresses can be used again")
    func app() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...20, topics: ["a"])
        let found = try await fixture.store.read { [app = fixture.app] in try $0.app(key: app) }
        let known = try #require(found)
        try await Self.delete(fixture)
        #expect(try await fixture.store.read { try $0.app(known.id) } == nil)
        let again = Fixture(
            fixture.test, app: try await fixture.store.write(.control) { try $0.insertApp(known) }.key)
        #expect(again.app != fixture.app)
        try await again.registerMany(1...20, topics: ["a"])
        try await fixture.pruneAll(limit: 7)
        fixture.time.advance(by: .seconds(Limits.deletedAppWatchSeconds))
        try await fixture.pruneAll(limit: 7)
        #expect(try await again.store.read { try $0.deviceCount(app: again.app, route: nil) } == 20)
        #expect(try await PruningTests.count("topic_member", app: again.app, again.test) == 20)
        #expect(try await again.store.read { try $0.deviceCount(app: fixture.app, route: nil) } == 0)
    }

    @Test("nothing more is leased, read, accepted or registered for a deleted app")
    func silence() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...300)
        _ = try await fixture.send(.all)
        let leased = try #require(try await fixture.lease(limit: 1).first)
        let candidates = try await fixture.store.read { [now = fixture.now] in
            try $0.candidates(of: leased, now: now)
        }
        _ = try await fixture.send(.all)
        try await Self.delete(fixture)
        let ready = try await fixture.store.read { [now = fixture.now] in
            try $0.readyRoutes(after: nil, stepsMax: 100, now: now)
        }
        #expect(ready.routes == [])
        let worker = Worker(fixture: fixture)
        #expect(try await worker.page(of: leased).count == 0)
        // A worker that read its candidates earlier reads one more page, which is empty.
        let page = try await fixture.store.read { [now = fixture.now] in
            try $0.page(of: leased, candidates: candidates, after: 0, limit: 1024, now: now)
        }
        #expect(page.count == 0 && page.isLast)
        await #expect(throws: PealError.notFound("app")) { _ = try await fixture.send(.all) }
        await #expect(throws: PealError.notFound("app")) { try await fixture.register(1) }
        // Its settlement changes nothing once the slices are gone.
        try await fixture.pruneAll(limit: 3)
        let result = try await worker.settle([worker.settlement(leased, page)])
        #expect(result.map(\.isApplied) == [false])
    }

    @Test("a deletion continues after a restart")
    func restart() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...50, topics: ["a", "b"])
        try await Self.delete(fixture)
        _ = try await fixture.store.write(.rest) { [now = fixture.now] in try $0.prune(now: now, limit: 30) }
        let reopened = try await fixture.reopened()
        let now = fixture.now
        #expect(try await reopened.store.read { try $0.hasRemainders(now: now) })
        try await reopened.pruneAll(limit: 30)
        for table in ["device", "device_topic", "topic_member", "topic"] {
            #expect(try await PruningTests.count(table, app: fixture.app, reopened.test) == 0, "\(table)")
        }
        #expect(try await reopened.store.read { try !$0.hasRemainders(now: now) })
    }

    @Test("a topic is deleted at once: for its devices, for messages, and for one that is being sent")
    func topic() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...10, topics: ["a", "kept"])
        let app = fixture.app
        _ = try await fixture.send(.topics("a"))
        let slice = try #require(try await fixture.lease().first)
        #expect(try await Self.deleteTopic("a", fixture))
        #expect(try await !Self.deleteTopic("a", fixture))
        #expect(try await fixture.store.read { try $0.device(app: app, id: Fixture.deviceID(1)) }?.topics == ["kept"])
        #expect(try await Worker(fixture: fixture).page(of: slice).count == 0)
        #expect(try await fixture.send(.topics("a")).plan.state == .sent)
        // A new topic of the same name has only devices that subscribe from now on.
        try await fixture.register(3, topics: ["a"])
        let now = fixture.now
        func members() async throws -> Int? {
            try await fixture.store.read { try $0.topic(app: app, name: "a", now: now)?.deviceCount }
        }
        #expect(try await members() == 1)
        try await fixture.pruneAll(limit: 4)
        #expect(try await members() == 1)
        #expect(try await PruningTests.count("topic_member", app: app, fixture.test) == 10)
        #expect(try await PruningTests.count("device_topic", app: app, fixture.test) == 10)
    }

    @Test("a device that was retired when its topic was deleted returns without it")
    func retiredMember() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.register(1, topics: ["a", "b"])
        try await fixture.register(2, address: Fixture.address(1), topics: ["b"])
        #expect(try await Self.deleteTopic("a", fixture))
        try await fixture.pruneAll()
        let returned = try await fixture.register(1, address: Fixture.address(9))
        #expect(returned.device.topics == ["b"])
        #expect(try await PruningTests.count("device_topic", app: fixture.app, fixture.test) == 2)
    }

    @Test("an excluded topic that is deleted no longer excludes any device")
    func excludedTopic() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...3, topics: ["all"])
        try await fixture.register(2, topics: ["all", "muted"])
        var audience = Audience.topics("all")
        audience.excludedTopics = ["muted"]
        _ = try await fixture.send(audience)
        #expect(try await Self.deleteTopic("muted", fixture))
        #expect(try await Worker(fixture: fixture).run() == [1, 2, 3])
    }

    @Test("a user with many devices is erased in calls of a bounded size", arguments: [1, 200, 450])
    func user(_ count: Int) async throws {
        let fixture = try await Fixture(.sqlite)
        for number in 1...count { try await fixture.register(number, user: "anna") }
        try await fixture.register(1000, user: "bert")
        let (app, now) = (fixture.app, fixture.now)
        var erased: [Int] = []
        var isComplete = false
        for _ in 0..<10 where !isComplete {
            let piece = try await fixture.store.write(.control) {
                try $0.deleteUser(app: app, userID: "anna", now: now)
            }
            erased.append(piece.devices)
            isComplete = piece.isComplete
        }
        #expect(erased.reduce(0, +) == count)
        #expect(erased.allSatisfy { $0 <= 200 })
        try await fixture.pruneAll()
        #expect(try await fixture.store.read { try $0.deviceCount(app: app, route: nil) } == 1)
        #expect(try await PruningTests.count("remainder", app: app, fixture.test) == 1, "it is checked once more")
        fixture.time.advance(by: .seconds(Limits.erasedUserWatchSeconds))
        try await fixture.pruneAll()
        #expect(try await PruningTests.count("remainder", app: app, fixture.test) == 0)
    }

    @Test("nothing is left of an erased user whose message was claimed, and what they begin later stays")
    func claimedMessage() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.register(1, user: "anna")
        func schedule() async throws -> Moment {
            var draft = fixture.draft(.users("anna"), lifeSeconds: 90_000)
            draft.audience.platforms = [.ios]
            draft.window = DeliveryWindow(
                until: fixture.now + .seconds(3600), method: .contextAware, holdSeconds: 10, name: nil)
            let stored = draft
            return try await fixture.store.write(.intake) { store in
                try store.insertMessage(stored)
                return try #require(try store.moments(app: stored.app, message: stored.id).first)
            }
        }
        let (app, now) = (fixture.app, fixture.now)
        let claimed = try await schedule()
        try await fixture.store.write(.intake) { store in
            let claim = MomentClaim(
                id: ClaimID(high: 1, low: 1), target: .init(device: 1, route: .apnsProduction), rev: 1, hasLedger: true)
            #expect(try store.apply(.claim(claim), to: claimed, now: now)?.refusal == nil)
            try store.countOpen(app: app, userID: "anna", hour: 8)
        }
        for _ in 0..<2 {
            _ = try await fixture.store.write(.control) { try $0.deleteUser(app: app, userID: "anna", now: now) }
        }
        #expect(try await PruningTests.count("moment", app: app, fixture.test) == 1, "it is not over yet")
        #expect(try await PruningTests.count("remainder", app: app, fixture.test) == 1)
        fixture.time.advance(by: .seconds(Limits.claimSeconds))
        try await fixture.register(2, user: "anna")
        _ = try await schedule()
        try await fixture.store.write(.control) { [now = fixture.now] store in
            _ = try store.fireDueMoments(now: now, limit: 10)
            try store.countOpen(app: app, userID: "anna", hour: 9)
        }
        fixture.time.advance(by: .seconds(Limits.erasedUserWatchSeconds))
        try await fixture.pruneAll()
        #expect(try await PruningTests.count("moment", app: app, fixture.test) == 1, "the later one")
        #expect(try await PruningTests.count("device", app: app, fixture.test) == 1)
        #expect(
            try await PruningTests.count("open_hour", app: app, fixture.test) == 3, "two of all users, and a later one")
        #expect(try await PruningTests.count("remainder", app: app, fixture.test) == 0)
    }

    @Test("an erasure whose process died continues, and spares what the user registers afterwards")
    func userAfterCrash() async throws {
        let fixture = try await Fixture(.sqlite)
        for number in 1...210 { try await fixture.register(number, user: "anna") }
        let (app, now) = (fixture.app, fixture.now)
        let first = try await fixture.store.write(.control) { try $0.deleteUser(app: app, userID: "anna", now: now) }
        #expect(!first.isComplete)
        fixture.time.advance(by: .seconds(1))
        try await fixture.register(999, user: "anna")
        try await fixture.pruneAll()
        let left = try await fixture.store.read { try $0.devices(app: app, .init(), after: 0, limit: 9).map(\.id) }
        #expect(left == [Fixture.deviceID(999)])
    }

    @Test("a device with many receipts is deleted at once, and its receipts in pieces")
    func device() async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.registerMany(1...2)
        let (app, now) = (fixture.app, fixture.now)
        try await fixture.store.write(.control) { store in
            for number in 1...500 {
                let message = MessageID(high: 1, low: UInt64(number))
                try store.record(
                    [1, 2].map { Receipt(message: message, device: $0, kind: .received, at: now) }, app: app)
            }
            #expect(try store.deleteDevice(app: app, id: Fixture.deviceID(1), now: now))
        }
        #expect(try await PruningTests.count("receipt", app: app, fixture.test) == 900)
        try await fixture.register(1)
        let pieces = try await fixture.pruneAll(limit: 100)
        #expect(pieces.count >= 4)
        #expect(try await PruningTests.count("receipt", app: app, fixture.test) == 500)
    }

    @Test("slices of a message follow it in pieces", arguments: [Message.State.paused, .cancelled])
    func slices(_ state: Message.State) async throws {
        let fixture = try await Fixture(.sqlite)
        let draft = fixture.draft(.all)
        let (app, now) = (fixture.app, fixture.now)
        try await fixture.store.write(.control) { store in
            try store.insertMessage(draft)
            let session = try #require(store as? StoreSession)
            let slices = (1...2500).map { number in
                (
                    slice: Slice(
                        id: .init(
                            app: app, message: draft.id, route: .apnsProduction, rangeStart: Int64(number), part: 0),
                        keyFrom: 1, keyTo: 2, keys: nil, cursor: 0, estimate: 1, lane: .bulk), rank: number
                )
            }
            try session.insertSlices(slices, owner: nil, leaseUntil: now)
            try session.connection.execute(
                "UPDATE message SET state = \(Message.State.sending), cutoff_at = \(now), slices_open = 2500")
            if state == .cancelled { try session.connection.execute("UPDATE slice SET state = 3") }
            _ = try store.moveMessage(app: app, id: draft.id, from: [.sending], to: state, now: now)
        }
        func census() async throws -> Int {
            let census = try await fixture.store.read { try $0.census() }
            return state == .paused ? census.slicesReady : census.slicesEnding
        }
        let atOnce = try await census()
        #expect(atOnce == (state == .paused ? 1500 : 1000))
        try await fixture.pruneAll()
        #expect(try await census() == (state == .paused ? 0 : 2500))
        guard state == .paused else { return }
        _ = try await fixture.store.write(.control) {
            try $0.moveMessage(app: app, id: draft.id, from: [.paused], to: .sending, now: now)
        }
        try await fixture.pruneAll()
        #expect(try await census() == 2500)
    }

    @Test(
        "an expired message that is paused and resumed is found by its expiry again", arguments: StoreUnderTest.allCases
    )
    func pausedAfterExpiry(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...3)
        let id = try await fixture.send(.all, lifeSeconds: 60).id
        let leased = try await fixture.lease()
        #expect(!leased.isEmpty)
        let (app, later) = (fixture.app, fixture.now + .seconds(61))
        func end() async throws -> Int {
            try await fixture.store.write(.control) { try $0.endExpiredMessages(now: later, limit: 10) }
        }
        func move(_ from: Message.State, _ to: Message.State) async throws {
            let earlier = try await fixture.store.write(.control) {
                try $0.moveMessage(app: app, id: id, from: [from], to: to, now: later)
            }
            #expect(earlier == from)
        }
        #expect(try await end() == 1)
        #expect(try await end() == 0, "its slices end already")
        try await move(.sending, .paused)
        _ = try await Worker(fixture: fixture).settle(
            leased.map { slice in
                Settlement(of: slice, by: "me", next: .release(readyAt: nil))
            })
        #expect(try await fixture.store.read { try $0.census() }.slicesEnding == 0, "it is held while it is paused")
        #expect(try await end() == 1)
        #expect(try await fixture.store.read { try $0.census() }.slicesEnding == leased.count)
    }

    @Test("an experiment's arms are deleted with the last message of its campaign")
    func experiment() async throws {
        let fixture = try await Fixture(.sqlite)
        var draft = fixture.draft(.users("ann"), lifeSeconds: 90_000)
        draft.audience.platforms = [.ios]
        draft.campaignID = "daily"
        draft.window = DeliveryWindow(
            until: fixture.now + .seconds(3600), method: .experiment, holdSeconds: 10, name: nil)
        let first = draft
        try await fixture.store.write(.intake) { try $0.insertMessage(first) }
        let app = fixture.app
        #expect(try await PruningTests.count("experiment_arm", app: app, fixture.test) == 1)
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.cancelMoments(app: app, message: first.id, now: now)
        }
        fixture.time.advance(by: .seconds(StoreRetention().messageSeconds))
        try await fixture.pruneAll(limit: 2)
        for table in ["message", "moment", "experiment", "experiment_arm"] {
            #expect(try await PruningTests.count(table, app: app, fixture.test) == 0, "\(table)")
        }
    }
}
