import PealCore
@testable import PealStore
import PealTesting
import Synchronization
import Testing

extension MomentStoreTests {
    @Test(
        "nothing is sent before the fallback, and then one alert to the device seen last",
        arguments: StoreUnderTest.allCases)
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
        "quiet hours delay an alert until they or the window end, and it can be cancelled until then",
        arguments: StoreUnderTest.allCases)
    func quietHours(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        try await fixture.register(1, user: "ann")
        try await fixture.store.changeSettings(of: fixture.app) {
            $0.replaceRules(.init([("quiet_hours", ["from": "22:00", "to": "07:00"])]))
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
}
