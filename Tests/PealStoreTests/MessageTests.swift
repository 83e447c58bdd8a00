import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Messages")
struct MessageTests {
    /// A draft that uses every field.
    static func fullDraft(_ fixture: Fixture) -> MessageDraft {
        var audience = Audience.topics("a")
        audience.devices = [Fixture.deviceID(1)]
        audience.users = ["ä\u{0}\"", ""]
        audience.addresses = [Fixture.address(3, .fcm)]
        audience.platforms = [.ios, .android]
        audience.interactiveOnly = true
        audience.excludedTopics = ["z"]
        var options = MessageOptions()
        options.priority = .low
        options.life = .seconds(0)
        options.collapseKey = "k"
        options.isBackground = true
        options.environment = .sandbox
        options.lostAnswer = .drop
        var draft = fixture.draft(audience, options: options, startAt: fixture.now + .seconds(60))
        draft.campaignID = "spring"
        draft.source = [0, 1, 255]
        draft.content.title = .localized(["de": "Hallo", "en": "Hello"])
        draft.content.subtitle = .plain("")
        draft.content.imageURL = "https://example.org/i.png"
        draft.content.data = .init([("z", .number("1.0")), ("a", .number("12345678901234567890")), ("n", .null)])
        draft.content.badge = 3
        draft.content.sound = "s"
        draft.content.threadID = "t"
        draft.content.category = "c"
        draft.content.defaultLocale = "en"
        var own = PlatformOptions()
        own.life = .until(fixture.now)
        own.isBackground = false
        draft.content.platforms[.ios] = .init(
            fields: .init([("payload", ["aps": ["x": [1, 2]]])]), options: own)
        return draft
    }

    @Test("a draft is read back without loss", arguments: StoreUnderTest.allCases)
    func lossless(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let draft = Self.fullDraft(fixture)
        try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        let read = try await fixture.store.read { try $0.draft(app: draft.app, id: draft.id) }
        #expect(read == draft)
        let job = try await fixture.store.read { try $0.job(app: draft.app, id: draft.id) }
        #expect(job?.content == draft.content)
        #expect(job?.options == draft.options)
        #expect(job?.message.state == .scheduled)
    }

    @Test("an id is used once, and another app sees nothing", arguments: StoreUnderTest.allCases)
    func conflict(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let draft = fixture.draft(.all)
        try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        let error = await #expect(throws: PealError.self) {
            try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        }
        #expect(error?.code == .internal)
        #expect(try await fixture.store.read { try $0.message(app: draft.app + 1, id: draft.id) } == nil)
        #expect(try await fixture.store.read { try $0.report(app: draft.app + 1, id: draft.id) } == nil)
    }

    @Test(
        "a scheduled message is changed until it starts, and starts when it is due", arguments: StoreUnderTest.allCases)
    func scheduled(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        var draft = fixture.draft(.all, startAt: fixture.now + .seconds(60))
        try await fixture.store.write(.intake) { [draft] in try $0.insertMessage(draft) }
        draft.startAt = fixture.now + .seconds(30)
        draft.content.title = .plain("New")
        let changed = draft
        #expect(try await fixture.store.write(.control) { try $0.replaceDraft(changed, now: fixture.now) })
        #expect(try await fixture.store.read { try $0.nextDueAt() } == changed.startAt)
        func due() async throws -> [MessageID] {
            try await fixture.store.write(.control) { [now = fixture.now] in
                try $0.dueMessages(now: now, limit: 10).map(\.id)
            }
        }
        #expect(try await due() == [])
        fixture.time.advance(by: .seconds(30))
        #expect(try await due() == [changed.id])
        #expect(try await due() == [changed.id], "found in planning until it is planned")
        #expect(try await fixture.store.write(.control) { try !$0.replaceDraft(changed, now: fixture.now) })
        #expect(try await fixture.state(changed.id) == .planning)
    }

    @Test("a small explicit audience comes back leased, once", arguments: StoreUnderTest.allCases)
    func direct(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...200)
        let (id, plan) = try await fixture.send(.devices(5, 3), owner: "me")
        let slice = try #require(plan.leasedSlices.first)
        #expect(plan.leasedSlices.count == 1)
        #expect(slice.lane == .direct)
        #expect(slice.keys == [3, 5])
        #expect(slice.term == 1)
        #expect(try await fixture.lease().isEmpty)
        let again = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.plan(app: app, id: id, owner: "me", now: now)
        }
        #expect(again.state == .sending)
        #expect(again.leasedSlices.isEmpty)
        #expect(try await Worker(fixture: fixture).run(slice) == [3, 5])
        #expect(try await fixture.state(id) == .sent)

        var many = Audience()
        many.devices = (1...129).map(Fixture.deviceID)
        #expect(try await fixture.send(many, owner: "me").plan.leasedSlices.isEmpty)
        #expect(try await fixture.lease().map(\.lane) == [.bulk])
    }

    @Test("a paused message holds its slices, and a resumed one releases them", arguments: StoreUnderTest.allCases)
    func pause(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...20_000)
        let (id, _) = try await fixture.send(.all)
        let leased = try await fixture.lease(limit: 1)[0]
        func move(_ from: Set<Message.State>, _ to: Message.State) async throws -> Message.State? {
            try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                try $0.moveMessage(app: app, id: id, from: from, to: to, now: now)
            }
        }
        #expect(try await move([.sending], .paused) == .sending)
        #expect(try await move([.sending], .paused) == nil)
        #expect(try await fixture.lease().isEmpty)
        let settlement = Settlement(of: leased, by: "me", counts: .init(), next: .release(readyAt: nil))
        #expect(try await Worker(fixture: fixture).settle([settlement])[0].isApplied)
        #expect(try await fixture.lease().isEmpty, "what is given back while paused is held too")
        #expect(try await move([.paused], .sending) == .paused)
        #expect(try await Worker(fixture: fixture).run().count == 20_000)
        #expect(try await fixture.state(id) == .sent)
        #expect(try await move([.sending, .paused], .cancelled) == nil)
    }

    @Test("a message paused before it had slices continues where it was", arguments: StoreUnderTest.allCases)
    func pausedEarly(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let draft = fixture.draft(.all, startAt: fixture.now + .seconds(60))
        try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        func pauseAndResume(after wait: Duration) async throws -> Message.State? {
            for (from, to) in [(Message.State.scheduled, Message.State.paused), (.paused, .sending)] {
                _ = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                    try $0.moveMessage(app: app, id: draft.id, from: [from], to: to, now: now)
                }
                fixture.time.advance(by: wait)
            }
            return try await fixture.state(draft.id)
        }
        #expect(try await pauseAndResume(after: .zero) == .scheduled)
        #expect(try await pauseAndResume(after: .seconds(60)) == .planning)
    }

    @Test("a message that only waits for a time of its rules is not late", arguments: StoreUnderTest.allCases)
    func oldestPending(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...4)
        func oldest() async throws -> Timestamp? {
            try await fixture.store.read { try $0.census() }.oldestPendingAt
        }
        func hold(_ slice: Slice, attempt: Int, lists: Int64 = 1) async throws {
            let worker = Worker(fixture: fixture)
            var settlement = worker.settlement(slice, try await worker.page(of: slice), outcome: .moved)
            settlement.deferrals = (1...lists).map {
                .init(part: $0, keys: [1, 2, 3, 4], attempt: attempt, readyAt: fixture.now + .seconds(600))
            }
            settlement.isOfOnlySlice = false
            #expect(try await worker.settle([settlement]).map(\.isApplied) == [true])
        }
        #expect(try await oldest() == nil)
        _ = try await fixture.send(.all)
        let first = fixture.now
        #expect(try await oldest() == first, "ready")
        let held = try await fixture.lease(.apnsProduction, owner: "me")
        #expect(try await oldest() == first, "leased")
        // More than are examined, and due before those that are retried.
        for slice in held { try await hold(slice, attempt: 0, lists: 1001) }
        #expect(try await oldest() == nil, "held by rules")
        fixture.time.advance(by: .seconds(60))
        _ = try await fixture.send(.all)
        let second = fixture.now
        for slice in try await fixture.lease(.apnsProduction, owner: "me") { try await hold(slice, attempt: 1) }
        #expect(try await oldest() == second, "retried later")
    }

    @Test("a message that was paused before its start counts as scheduled", arguments: StoreUnderTest.allCases)
    func pausedCensus(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...200)
        let draft = fixture.draft(.all, startAt: fixture.now + .seconds(86_400))
        try await fixture.store.write(.intake) { try $0.insertMessage(draft) }
        let (sending, _) = try await fixture.send(.all)
        func counts() async throws -> [Int] {
            let census = try await fixture.store.read { try $0.census() }
            return [census.messagesScheduled, census.messagesUnfinished]
        }
        func move(_ id: MessageID, _ from: Message.State, _ to: Message.State) async throws {
            _ = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
                try $0.moveMessage(app: app, id: id, from: [from], to: to, now: now)
            }
        }
        #expect(try await counts() == [1, 1])
        try await move(draft.id, .scheduled, .paused)
        #expect(try await counts() == [1, 1])
        try await move(sending, .sending, .paused)
        #expect(try await counts() == [1, 1], "it has started")
        try await move(draft.id, .paused, .sending)
        #expect(try await fixture.state(draft.id) == .scheduled)
        #expect(try await counts() == [1, 1])
        try await move(sending, .paused, .cancelled)
        #expect(try await counts() == [1, 0])
    }

    @Test("a cancelled message stays cancelled when its rest is settled", arguments: StoreUnderTest.allCases)
    func cancel(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...5)
        let (id, _) = try await fixture.send(.all)
        let before = try await fixture.store.write(.control) { [app = fixture.app, now = fixture.now] in
            try $0.moveMessage(app: app, id: id, from: [.sending, .paused], to: .cancelled, now: now)
        }
        #expect(before == .sending)
        let slice = try #require(try await fixture.lease().first)
        _ = try await Worker(fixture: fixture).run(slice, outcome: .suppressed)
        let report = try await fixture.store.read { try $0.report(app: fixture.app, id: id) }
        #expect(report?.message.state == .cancelled)
        #expect(report?.total.suppressed == 5)
        #expect(report?.total.pending == 0)
    }

    @Test("messages are listed newest first and by state, campaign and dialect", arguments: StoreUnderTest.allCases)
    func listing(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        var ids: [MessageID] = []
        for number in 1...4 {
            fixture.time.advance(by: .seconds(1))
            var draft = fixture.draft(.all)
            draft.campaignID = number.isMultiple(of: 2) ? "even" : nil
            draft.dialect = number == 4 ? "pivotal" : "native"
            ids.append(draft.id)
            let stored = draft
            try await fixture.store.write(.intake) { try $0.insertMessage(stored) }
        }
        func list(_ filter: MessageFilter, before: MessageID? = nil, limit: Int = 10) async throws -> [MessageID] {
            try await fixture.store.read { [app = fixture.app] in
                try $0.messages(app: app, filter, before: before, limit: limit).map(\.id)
            }
        }
        #expect(try await list(.init()) == ids.reversed())
        #expect(try await list(.init(), before: ids[2], limit: 1) == [ids[1]])
        #expect(try await list(.init(campaignID: "even")) == [ids[3], ids[1]])
        #expect(try await list(.init(campaignID: "even", dialect: "native")) == [ids[1]])
        #expect(try await list(.init(state: .sent)) == [])
    }

    @Test("data is pruned after its retention, a part at a time", arguments: StoreUnderTest.allCases)
    func pruning(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.registerMany(1...5)
        let request = IdempotentRequest(scope: [1], key: "k", digest: [2])
        try await fixture.store.write(.control) { [now = fixture.now] in
            try $0.keepAnswer(KeptAnswer(digest: [2], status: 202, body: [3]), to: request, now: now)
        }
        let (old, _) = try await fixture.send(.all)
        _ = try await Worker(fixture: fixture, pageLimit: 2).run()
        fixture.time.advance(by: .seconds(31 * 24 * 3600))
        let (young, _) = try await fixture.send(.all)
        _ = try await Worker(fixture: fixture).run()
        func prune(_ limit: Int) async throws -> Int {
            try await fixture.store.write(.rest) { [now = fixture.now] in try $0.prune(now: now, limit: limit) }
        }
        #expect(try await prune(2) == 2)
        for _ in 0..<100 where try await prune(2) == 0 { break }
        #expect(try await fixture.state(old) == nil)
        #expect(try await fixture.state(young) == .sent)
        let rows = try await fixture.store.read { [app = fixture.app] session in
            try [old, young].map {
                try session.logRows(app: app, message: $0, route: .apnsProduction, key: 1, inAddresses: false).count
            }
        }
        #expect(rows == [0, 1])
    }
}
