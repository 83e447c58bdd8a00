import PealCore
@testable import PealStore
import PealTesting
import Synchronization
import Testing

@Suite("Stored moments")
struct MomentStoreTests {
    static func draft(
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

    static func insert(_ fixture: Fixture, _ draft: MessageDraft) async throws -> [Moment] {
        try await fixture.store.write(.intake) { store in
            try store.insertMessage(draft)
            return try store.moments(app: draft.app, message: draft.id)
        }
    }

    static func fire(_ fixture: Fixture, limit: Int = 100) async throws -> Int {
        try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.fireDueMoments(now: now, limit: limit)
        }
    }

    static func moment(_ fixture: Fixture, _ moment: Moment) async throws -> Moment {
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
    static func work(_ fixture: Fixture, _ outcome: Outcome = .accepted) async throws -> [DeviceKey] {
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

    static func report(_ fixture: Fixture, _ id: MessageID) async throws -> MessageReport {
        let report = try await fixture.store.read { [app = fixture.app] in try $0.report(app: app, id: id) }
        return try #require(report)
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

    @Test("a row that has changed since it was judged stays as it is", arguments: StoreUnderTest.allCases)
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

    @Test("users of an experiment stay in their arm, even if the share changes", arguments: StoreUnderTest.allCases)
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
        #expect(other.count == first.count && other.allSatisfy { $0.plannedArm == .traditional })
    }

    @Test(
        "a message takes the routes of its environment, which the platform's options override",
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

    @Test(
        "a message that a phone claims or is alerted for counts once for the frequency cap",
        arguments: StoreUnderTest.allCases)
    func frequencyCap(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.store.changeSettings(of: fixture.app) {
            $0.replaceRules(.init([("frequency_cap", ["messages": 1, "hours": 24])]))
        }
        func waits(_ key: DeviceKey) async throws -> Bool {
            try await fixture.store.write(.settle) { [app = fixture.app, now = fixture.now] in
                let (cap, id) = (FrequencyCap(messages: 1, hours: 24), MessageID(high: 1, low: UInt64(key)))
                return try $0.reserve([key], app: app, message: id, cap: cap, now: now)[key] != nil
            }
        }
        var phones: [DeviceKey] = []
        for user in ["ann", "bob", "eve"] {
            phones.append(try await fixture.register(phones.count + 1, user: user).device.key)
        }
        let ann = phones[0]
        let moments = try await Self.insert(fixture, Self.draft(fixture, users: ["ann", "bob"]))
        var urgent = Self.draft(fixture, users: ["eve"])
        urgent.options.isTransactional = true
        _ = try await Self.insert(fixture, urgent)
        _ = try await fixture.store.write(.intake) { [now = fixture.now] store in
            let claim = MomentClaim(
                id: ClaimID(high: 1, low: 1), target: .init(device: ann, route: .apnsProduction), rev: 1,
                hasLedger: true)
            return try store.apply(.claim(claim), to: moments[0], now: now)
        }
        fixture.time.advance(by: .seconds(3600))
        _ = try await Self.fire(fixture)
        #expect(try await waits(ann))
        #expect(try await waits(phones[1]))
        #expect(try await !waits(phones[2]), "a transactional message does not count")
    }
}
