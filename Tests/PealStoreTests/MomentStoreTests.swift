import PealCore
@testable import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("Stored moments")
struct MomentStoreTests {
    private static func draft(
        _ fixture: Fixture, users: [String] = ["ann"], method: DeliveryWindow.Method = .contextAware,
        seconds: Int64 = 3600, key: String? = nil, campaign: String = "daily", title: String = "Title"
    ) -> MessageDraft {
        var audience = Audience()
        audience.users = users
        audience.platforms = [.ios]
        var draft = fixture.draft(audience, lifeSeconds: seconds + 86_400)
        draft.content.title = .plain(title)
        draft.campaignID = campaign
        draft.window = DeliveryWindow(
            until: fixture.now + .seconds(seconds), method: method, holdSeconds: 10,
            name: key.map { MomentName(platform: .ios, userID: users[0], campaignID: campaign, key: $0) })
        return draft
    }

    private static func insert(_ fixture: Fixture, _ draft: MessageDraft) async throws -> [Moment] {
        try await fixture.store.write(.intake) { store in
            try store.insertMessage(draft)
            return try store.moments(app: draft.app, message: draft.id)
        }
    }

    private static func fire(_ fixture: Fixture, limit: Int = 100) async throws -> Int {
        try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.fireDueMoments(now: now, limit: limit)
        }
    }

    private static func moment(_ fixture: Fixture, _ moment: Moment) async throws -> Moment {
        let id = moment.id
        let found = try await fixture.store.read { try $0.moment(id) }
        return try #require(found)
    }

    @Test("of due moments, the first of a state is postponed", arguments: StoreUnderTest.allCases)
    func postponed(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        let moments = try await [
            Self.insert(fixture, Self.draft(fixture, method: .traditional)),
            Self.insert(fixture, Self.draft(fixture, method: .traditional)),
        ].joined()
        let later = fixture.now + .seconds(300)
        func postpone(_ state: Moment.State) async throws -> String? {
            try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.postponeDueMoment(state, to: later, now: now)
            }
        }
        #expect(try await postpone(.open) == nil)
        fixture.time.advance(by: .seconds(10))
        #expect(try await postpone(.claimed) == nil)
        let first = try await postpone(.open)
        #expect(moments.contains { "\($0.message)" == first })
        #expect(try await Self.fire(fixture) == 1)
        fixture.time.advance(by: .seconds(290))
        #expect(try await Self.fire(fixture) == 1)
    }

    /// Processes the waiting alerts, each with `outcome`.
    private static func work(_ fixture: Fixture, _ outcome: Outcome = .accepted) async throws -> [DeviceKey] {
        let worker = Worker(fixture: fixture)
        var sent: [DeviceKey] = []
        for slice in try await fixture.lease() {
            let page = try await worker.page(of: slice)
            var settlement = worker.settlement(slice, page, outcome: outcome)
            let entries = page.keys.map { DeliveryLogEntry(key: $0, outcome: outcome, reason: "Word", attempt: 1) }
            settlement.logRow?.data = DeliveryLog.encode(entries)
            settlement.alerts = entries
            if outcome == .retired {
                settlement.retirements = page.keys.map {
                    .init(key: $0, revision: 1, notAfter: fixture.now, reason: "Word")
                }
            }
            _ = try await worker.settle([settlement])
            sent += page.keys
        }
        return sent
    }

    private static func report(_ fixture: Fixture, _ id: MessageID) async throws -> MessageReport {
        let report = try await fixture.store.read { [app = fixture.app] in try $0.report(app: app, id: id) }
        return try #require(report)
    }

    @Test(
        "nothing goes before the fallback; then one alert to the device seen last", arguments: StoreUnderTest.allCases)
    func fallback(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        fixture.time.advance(by: .seconds(1))
        try await fixture.register(2, user: "ann")
        try await fixture.install(3, user: "ann", after: 1)
        try await fixture.install(2, user: "ann", after: 2)
        // A device of a network that only a newer server knows.
        try await fixture.install(4, user: "ann", after: 3)
        try await fixture.test.engine.write(.control) { connection in
            _ = try connection.execute("UPDATE device SET route = 0 WHERE seq = 4")
        }
        let draft = Self.draft(fixture)
        let moment = try await Self.insert(fixture, draft)[0]
        #expect(moment.hadSDK && moment.plannedArm == .contextAware && moment.isClaimable)
        #expect(try await fixture.state(draft.id) == .scheduled)
        #expect(try await Self.report(fixture, draft.id).total.pending == 1)
        fixture.time.advance(by: .seconds(3599))
        #expect(try await Self.fire(fixture) == 0)
        #expect(try await fixture.store.read { try $0.nextDueAt() } == moment.deadline)
        fixture.time.advance(by: .seconds(1))
        #expect(try await Self.fire(fixture) == 1)
        #expect(try await fixture.state(draft.id) == .sending)
        #expect(try await Self.moment(fixture, moment).state == .sending)
        #expect(try await Self.work(fixture) == [2])
        #expect(try await Self.moment(fixture, moment).state == .sent)
        let report = try await Self.report(fixture, draft.id)
        #expect(report.message.state == .sent)
        #expect(report.total.accepted == 1 && report.total.devices == 1)
    }

    @Test(
        "a dead address is followed by the next device, and after the last the user counts as retired once",
        arguments: StoreUnderTest.allCases)
    func nextDevice(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        for number in 1...3 {
            try await fixture.register(number, user: "ann")
            fixture.time.advance(by: .seconds(1))
        }
        let draft = Self.draft(fixture, method: .traditional)
        let moment = try await Self.insert(fixture, draft)[0]
        fixture.time.advance(by: .seconds(10))
        #expect(try await Self.fire(fixture) == 1)
        #expect(try await Self.work(fixture, .retired) == [3])
        #expect(try await Self.moment(fixture, moment).tried == [3, 2])
        #expect(try await Self.work(fixture, .retired) == [2])
        #expect(try await Self.report(fixture, draft.id).total.pending == 1)
        #expect(try await Self.work(fixture, .retired) == [1])
        let report = try await Self.report(fixture, draft.id)
        #expect(report.message.state == .sent)
        #expect(report.total.retired == 1 && report.total.devices == 1 && report.total.reasons == ["Word": 1])
        #expect(try await Self.moment(fixture, moment).state == .failed)
    }

    @Test("claim, cancellation, replacement and fallback at once: exactly one wins", arguments: StoreUnderTest.allCases)
    func race(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        for round in 0..<40 {
            var draft = Self.draft(fixture, seconds: 60, key: "k\(round)")
            draft.window?.holdSeconds = 0
            let moment = try await Self.insert(fixture, draft)[0]
            let now = fixture.now + .seconds(round.isMultiple(of: 2) ? 59 : 60)
            let claim = MomentClaim(
                id: ClaimID(high: 1, low: UInt64(round)), target: .init(device: 1, route: .apnsProduction), rev: 1,
                hasLedger: true)
            let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                let store = fixture.store
                group.addTask {
                    try await store.write(.intake) { store in
                        let before = try store.moment(moment.id)!
                        return try store.apply(.claim(claim), to: before, now: now)?.refusal == nil
                    }
                }
                group.addTask {
                    try await store.write(.intake) {
                        try $0.cancelMoments(app: moment.app, message: moment.message, now: now) == 1
                    }
                }
                group.addTask {
                    try await store.write(.control) { try $0.fireDueMoments(now: now, limit: 100) == 1 }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(winners == 1)
            let after = try await Self.moment(fixture, moment)
            #expect(after.state != .open)
            _ = try await Self.work(fixture)
        }
    }

    @Test("a row that was judged before another changed it is left alone", arguments: StoreUnderTest.allCases)
    func compareAndSet(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let draft = Self.draft(fixture)
        let stale = try await Self.insert(fixture, draft)[0]
        let now = fixture.now
        #expect(try await fixture.store.write(.intake) { try $0.apply(.cancel, to: stale, now: now) } != nil)
        #expect(
            try await fixture.store.write(.intake) { try $0.apply(.fallback(to: nil), to: stale, now: stale.deadline) }
                == nil)
        #expect(try await Self.moment(fixture, stale).state == .cancelled)
        let isOver = try await fixture.state(draft.id)?.isFinal
        #expect(isOver == true)
    }

    @Test(
        "a claim that is not confirmed is sent to the claimant alone, and a confirmed one ends the message",
        arguments: StoreUnderTest.allCases)
    func recovery(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        fixture.time.advance(by: .seconds(1))
        try await fixture.register(2, user: "ann")
        let draft = Self.draft(fixture, users: ["ann"])
        let moment = try await Self.insert(fixture, draft)[0]
        let claim = MomentClaim(
            id: ClaimID(high: 1, low: 1), target: .init(device: 1, route: .apnsProduction), rev: 1, hasLedger: true)
        _ = try await fixture.store.write(.intake) { [now = fixture.now] in
            try $0.apply(.claim(claim), to: moment, now: now)
        }
        #expect(try await fixture.state(draft.id) == .sending)
        fixture.time.advance(by: .seconds(600))
        #expect(try await Self.fire(fixture) == 1)
        #expect(try await Self.moment(fixture, moment).state == .recovering)
        #expect(try await Self.work(fixture) == [1])
        #expect(try await Self.moment(fixture, moment).state == .sent)
        #expect(try await fixture.state(draft.id) == .sent)
        let sent = try await Self.moment(fixture, moment)
        _ = try await fixture.store.write(.intake) { [now = fixture.now] in
            try $0.apply(.receipt(.opened, device: 1), to: sent, now: now)
        }
        #expect(try await Self.moment(fixture, moment).state == .opened)
        #expect(try await Self.report(fixture, draft.id).total.accepted == 1)
    }

    /// The life that an author states, when the claim wins, and whether the alert is tried.
    static let lateClaims: [(life: MessageOptions.Life?, at: Int64, isTried: Bool)] = [
        (nil, 60, true), (nil, 3599, true), (.seconds(3600), 60, true), (.seconds(3600), 3599, false),
    ]

    @Test(
        "an alert to a claimant is tried even if the message ends with its window, unless its author says when it ends",
        arguments: lateClaims)
    func lateClaim(_ one: (life: MessageOptions.Life?, at: Int64, isTried: Bool)) async throws {
        let fixture = try await Fixture(.sqlite)
        try await fixture.register(1, user: "ann")
        var draft = Self.draft(fixture)
        draft.options.life = one.life
        draft.expiresAt = fixture.now + .seconds(3600)
        let moment = try await Self.insert(fixture, draft)[0]
        fixture.time.advance(by: .seconds(one.at))
        let claim = MomentClaim(
            id: ClaimID(high: 1, low: 1), target: .init(device: 1, route: .apnsProduction), rev: 1, hasLedger: true)
        _ = try await fixture.store.write(.intake) { [now = fixture.now] in
            try $0.apply(.claim(claim), to: moment, now: now)
        }
        fixture.time.advance(by: .seconds(600))
        func end() async throws {
            _ = try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.endExpiredMessages(now: now, limit: 9)
            }
        }
        try await end()
        #expect(try await Self.fire(fixture) == 1)
        try await end()
        let stored = try await fixture.store.read { try $0.message(app: moment.app, id: moment.message) }
        #expect(stored.map { $0.expiresAt > fixture.now } == one.isTried)
        guard one.isTried else { return }
        #expect(try await Self.work(fixture) == [1])
        #expect(try await Self.moment(fixture, moment).state == .sent)
    }

    @Test(
        "quiet hours delay an alert to their end or that of the window, and it can be cancelled until then",
        arguments: StoreUnderTest.allCases)
    func quietHours(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        try await fixture.store.write(.control) { [app = fixture.app] store in
            guard var own = try store.app(key: app) else { return }
            own.settings.replaceRules(.init([("quiet_hours", ["from": "22:00", "to": "07:00"])]))
            try store.updateApp(own)
        }
        var short = Self.draft(fixture, method: .traditional)
        // A traditional message ends with its window.
        short.expiresAt = fixture.now + .seconds(3600)
        var urgent = Self.draft(fixture, method: .traditional)
        urgent.options.isTransactional = true
        let gone = Self.draft(fixture, method: .traditional, seconds: 7200)
        var moments: [Moment] = []
        for draft in [short, urgent, gone] { moments += try await Self.insert(fixture, draft) }
        let end = fixture.now + .seconds(5400)
        let clock = QuietClock { _, _, now in now < end ? end : nil }
        func fire() async throws -> Int {
            try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.fireDueMoments(now: now, limit: 9, quiet: clock)
            }
        }
        fixture.time.advance(by: .seconds(10))
        #expect(try await fire() == 3)
        #expect(try await Self.moment(fixture, moments[1]).state == .sending, "it is transactional")
        let waiting = try await Self.moment(fixture, moments[0])
        #expect(waiting.state == .open)
        #expect(waiting.fallbackAt == waiting.deadline && waiting.reason == "QuietHours")
        #expect(try await Self.moment(fixture, moments[2]).fallbackAt == end)
        let events = try await DeliveryTrail(store: fixture.store, isPaused: false).events(
            of: waiting.message, app: fixture.app, .user("ann"), now: fixture.now)
        let reason = events.first { $0.name == .held }?.detail
        #expect(reason == "QuietHours, until \(waiting.deadline)", "\(events)")
        #expect(try await Self.work(fixture) == [1])
        #expect(try await fire() == 0)
        // The promise of the window is kept.
        fixture.time.advance(by: .seconds(3590))
        #expect(try await fire() == 1)
        let sent = try await Self.moment(fixture, moments[0])
        #expect(sent.state == .sending && sent.reason.isEmpty)
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.endExpiredMessages(now: now, limit: 9)
        }
        #expect(try await Self.work(fixture) == [1])
        #expect(try await Self.moment(fixture, moments[0]).state == .sent)
        let count = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.cancelMoments(app: gone.app, message: gone.id, now: now)
        }
        #expect(count == 1)
    }

    @Test("a device that registers inside the window gets what waited for it", arguments: StoreUnderTest.allCases)
    func registersLater(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let draft = Self.draft(fixture, method: .traditional)
        let moment = try await Self.insert(fixture, draft)[0]
        #expect(!moment.hadSDK)
        fixture.time.advance(by: .seconds(10))
        #expect(try await Self.fire(fixture) == 1)
        #expect(try await Self.moment(fixture, moment).awaitsDevice)
        #expect(try await Self.fire(fixture) == 0)
        fixture.time.advance(by: .seconds(600))
        try await fixture.register(1, user: "ann")
        #expect(try await Self.fire(fixture) == 1)
        #expect(try await Self.work(fixture) == [1])
        #expect(try await fixture.state(draft.id) == .sent)
    }

    @Test("a user without a device at the end of the window fails", arguments: StoreUnderTest.allCases)
    func noDevice(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let draft = Self.draft(fixture)
        let moment = try await Self.insert(fixture, draft)[0]
        fixture.time.advance(by: .seconds(3600))
        #expect(try await Self.fire(fixture) == 1)
        #expect(try await Self.moment(fixture, moment).state == .failed)
        let report = try await Self.report(fixture, draft.id)
        #expect(report.message.state == .sent && report.total.suppressed == 1)
        #expect(report.total.reasons == ["NoDevice": 1])
    }

    @Test("the last request under a name counts while it is open", arguments: StoreUnderTest.allCases)
    func supersede(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let verbs = MomentVerbs(store: fixture.store, engine: SilentEngine())
        let first = try await verbs.schedule(Self.draft(fixture, key: "k"))
        #expect(!first.moment.hadSDK)
        try await fixture.register(1, user: "ann")
        let second = try await verbs.schedule(Self.draft(fixture, key: "k", title: "New"))
        #expect(!second.moment.hadSDK, "this device neither chooses moments nor reports opens")
        try await fixture.install(2, user: "ann")
        let third = try await verbs.schedule(Self.draft(fixture, seconds: 60, key: "k", title: "Newer"))
        #expect(third.moment.hadSDK, "an experiment counts its user")
        #expect(third.moment.message == first.moment.message && third.moment.rev == 3)
        #expect(third.moment.deadline == fixture.now + .seconds(60))
        let draft = try await fixture.store.read { [app = fixture.app] in
            try $0.draft(app: app, id: first.moment.message)
        }
        #expect(draft?.content.title == .plain("Newer"))
        #expect(try await verbs.schedule(Self.draft(fixture, key: "other")).moment.message != first.moment.message)
        let call = VerbCall(actor: "test", now: fixture.now)
        let name = MomentName(platform: .ios, userID: "ann", campaignID: "daily", key: "k")
        #expect(try await verbs.cancel(name, app: fixture.app, call).isApplied)
        let again = try await verbs.cancel(name, app: fixture.app, call)
        #expect(again.moment.state == .cancelled && !again.isApplied)
        #expect(try await fixture.state(first.moment.message) == .cancelled)
        let fourth = try await verbs.schedule(Self.draft(fixture, key: "k"))
        #expect(fourth.isApplied && fourth.moment.state == .open)
        #expect(fourth.moment.message != first.moment.message)
        // The name now belongs to the new message, and the cancelled one stays.
        let named = try await fixture.store.read { [app = fixture.app] in try $0.moment(app: app, named: name) }
        #expect(named?.message == fourth.moment.message)
        #expect(try await Self.moment(fixture, first.moment).state == .cancelled)
    }

    @Test("users of an experiment stay in their arm, whatever becomes of the share", arguments: StoreUnderTest.allCases)
    func arms(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let users = (0..<200).map { "u\($0)" }
        let first = try await Self.insert(fixture, Self.draft(fixture, users: users, method: .experiment))
        let aware = first.count { $0.plannedArm == .contextAware }
        #expect((60...140).contains(aware))
        try await fixture.store.write(.control) { [app = fixture.app] store in
            var changed = try store.app(key: app)!
            changed.settings[.experimentShare] = 0
            try store.updateApp(changed)
        }
        let second = try await Self.insert(fixture, Self.draft(fixture, users: users, method: .experiment))
        #expect(first.map(\.plannedArm) == second.map(\.plannedArm))
        let other = try await Self.insert(
            fixture, Self.draft(fixture, users: users, method: .experiment, campaign: "other"))
        #expect(other.allSatisfy { $0.plannedArm == .traditional })
    }

    @Test(
        "a message takes the routes of its environment, that of the platform's options first",
        arguments: [nil, Environment.production, .sandbox], [nil, Environment.sandbox])
    func environments(ofMessage: Environment?, ofPlatform: Environment?) async throws {
        let fixture = try await Fixture(.selected)
        try await fixture.register(1, user: "ann")
        var draft = Self.draft(fixture)
        draft.options.environment = ofMessage
        draft.content.data = JSON.Members([("note", #"an "environment" in a text"#)])
        if let ofPlatform {
            var options = PlatformOptions()
            options.environment = ofPlatform
            draft.content.platforms[.ios] = .init(options: options)
        }
        _ = try await Self.insert(fixture, draft)
        let (app, id) = (fixture.app, draft.id)
        let routes = try await fixture.store.read { try $0.momentRoutes(app: app, message: id) }
        for environment in [Environment.production, .sandbox] {
            let isWanted = (ofPlatform ?? ofMessage).map { $0 == environment } ?? true
            #expect(routes.contains(Route(.ios, environment)) == isWanted)
        }
    }

    @Test("devices that a message has nothing for cannot show it, and an alert to them states the reason")
    func absentPlatforms() async throws {
        let fixture = try await Fixture(.selected)
        try await fixture.register(1, user: "ann")
        var draft = Self.draft(fixture)
        draft.audience.platforms = [.ios, .android]
        draft.content.absentPlatforms = [.ios]
        let moment = try await Self.insert(fixture, draft)[0]
        let (app, id) = (fixture.app, draft.id)
        let routes = try await fixture.store.read { try $0.momentRoutes(app: app, message: id) }
        #expect(Set(routes.map(\.platform)) == [.android])
        fixture.time.advance(by: .seconds(3610))
        #expect(try await Self.fire(fixture) == 1)
        #expect(try await Self.moment(fixture, moment).state == .sending)
    }

    @Test("a device that was not allowed to show a message reports nothing of it", arguments: StoreUnderTest.allCases)
    func ungranted(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let device = try await fixture.register(1, user: "ann").device
        let (draft, app, now) = (Self.draft(fixture), fixture.app, fixture.now)
        let moment = try await Self.insert(fixture, draft)[0]
        for (number, event) in [nil, MomentEvent.cancel].enumerated() {
            let receipts = try await fixture.store.write(.intake) { store in
                if let event { _ = try store.apply(event, to: moment, now: now) }
                let events = [DeviceEvent.Kind.shown, .opened, .dismissed].enumerated().map {
                    DeviceEvent(
                        id: .init(high: UInt64(number), low: UInt64($0)), kind: $1, message: draft.id, at: now)
                }
                let reader = MomentReader(store: store, device: device, app: app)
                #expect(try reader.record(events, in: store, now: now).isEmpty)
                return try store.receipts(app: app, message: draft.id, device: device.key)
            }
            #expect(receipts.isEmpty)
        }
    }

    @Test("cancelling a message of several users cancels who is still open", arguments: StoreUnderTest.allCases)
    func several(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        try await fixture.register(2, user: "ben")
        let draft = Self.draft(fixture, users: ["ann", "ben", "cleo"])
        let moments = try await Self.insert(fixture, draft)
        let now = fixture.now
        _ = try await fixture.store.write(.intake) {
            try $0.apply(
                .fallback(to: .init(device: 1, route: .apnsProduction)), to: moments[0], now: moments[0].deadline)
        }
        #expect(
            try await fixture.store.write(.intake) {
                try $0.cancelMoments(app: draft.app, message: draft.id, now: now)
            } == 2)
        #expect(try await fixture.state(draft.id) == .cancelled)
        _ = try await Self.work(fixture)
        let report = try await Self.report(fixture, draft.id)
        #expect(report.total.accepted == 1 && report.total.suppressed == 2 && report.total.devices == 3)
        #expect(
            try await fixture.store.write(.intake) {
                try $0.cancelMoments(app: draft.app, message: draft.id, now: now)
            } == 0)
    }

    @Test(
        "alerts of one message that fall due together share slices of a small message's size",
        arguments: StoreUnderTest.allCases)
    func together(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let draft = try await Self.dueTogether(fixture, count: 300)
        #expect(try await Self.fire(fixture, limit: 500) == 300)
        let slices = try await fixture.lease()
        #expect(slices.compactMap { $0.keys?.count }.sorted() == [44, 128, 128])
        #expect(slices.allSatisfy { $0.lane == .direct && $0.id.isMoment })
        let worker = Worker(fixture: fixture)
        for slice in slices { _ = try await Self.settle(worker, slice) { _ in .accepted } }
        let report = try await Self.report(fixture, draft.id)
        #expect(report.message.state == .sent)
        #expect(report.total.accepted == 300 && report.total.devices == 300)
    }

    @Test(
        "of alerts that go together each ends by itself: sent, passed on, put off, or gone before it was read",
        arguments: StoreUnderTest.allCases)
    func eachByItself(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        // The first user has an older device, 9, to go to.
        try await fixture.register(9, user: "u1")
        let draft = try await Self.dueTogether(fixture, count: 4)
        #expect(try await Self.fire(fixture) == 4)
        let slice = try #require(try await fixture.lease().first)
        let keys = try #require(slice.keys)
        #expect(keys.count == 4)
        try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            _ = try $0.deleteDevice(app: app, id: Fixture.deviceID(4), now: now)
        }
        let worker = Worker(fixture: fixture)
        let (dead, late) = (keys[0], keys[1])
        let applied = try await Self.settle(worker, slice, putOff: [late]) { $0 == dead ? .retired : .accepted }
        #expect(applied)
        let states = try await fixture.store.read { try $0.moments(app: draft.app, message: draft.id).map(\.state) }
        #expect(states == [.sending, .sending, .sent, .failed])
        #expect(try await Self.report(fixture, draft.id).total.reasons == ["DeviceGone": 1, "Word": 1])
        fixture.time.advance(by: .seconds(60))
        _ = try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.releaseDueSlices(now: now, limit: 10)
        }
        #expect(try await Self.work(fixture).count == 2)
        let report = try await Self.report(fixture, draft.id)
        #expect(report.message.state == .sent)
        #expect(report.total.accepted == 3 && report.total.retired == 1 && report.total.devices == 4)
    }

    /// A message to `count` users with a device each, at the end of its window.
    private static func dueTogether(_ fixture: Fixture, count: Int) async throws -> MessageDraft {
        for number in 1...count { try await fixture.register(number, user: "u\(number)") }
        let draft = Self.draft(fixture, users: (1...count).map { "u\($0)" }, method: .traditional)
        _ = try await Self.insert(fixture, draft)
        fixture.time.advance(by: .seconds(10))
        return draft
    }

    /// Processes a slice in one page.
    private static func settle(
        _ worker: Worker, _ slice: Slice, putOff: [DeviceKey] = [], _ outcome: (DeviceKey) -> Outcome
    ) async throws -> Bool {
        let page = try await worker.page(of: slice)
        var settlement = worker.settlement(slice, page)
        let entries = page.keys.map { key in
            DeliveryLogEntry(
                key: key, outcome: putOff.contains(key) ? .moved : outcome(key), reason: "Word", attempt: 1)
        }
        settlement.logRow?.data = DeliveryLog.encode(entries)
        settlement.alerts = entries
        if !putOff.isEmpty {
            let readyAt = worker.fixture.now + .seconds(30)
            settlement.deferrals = [.init(part: 77, keys: putOff, attempt: 1, readyAt: readyAt)]
        }
        settlement.retirements = page.keys.filter { outcome($0) == .retired }.map {
            .init(key: $0, revision: 1, notAfter: worker.fixture.now, reason: "Word")
        }
        return try await worker.settle([settlement])[0].isApplied
    }
}
