import Logging
import PealCore
import PealStore
import PealTesting
import Testing

@testable import PealDelivery

@Suite("What a verdict does to message, address and route", .timeLimit(.minutes(10)))
struct VerdictEffectTests {
    /// The outcome of the device whose request got this answer.
    enum Message: Sendable, Hashable {
        case ended(Outcome)
        /// Retried after about this many seconds, which counts as an attempt.
        case later(seconds: ClosedRange<Int64>)
        /// Retried after this many seconds, which does not count as an attempt and says nothing about the route.
        case waits(seconds: Int64)
        /// As if it had not been tried.
        case returned
    }

    enum Address: Sendable, Hashable {
        case kept
        case retired(isSuspicious: Bool)
    }

    enum Route: Sendable, Hashable {
        case open
        case paused(seconds: ClosedRange<Int64>)
        case stopped(seconds: ClosedRange<Int64>)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let answer: ProviderAnswer.Result
        let message: Message
        var address = Address.kept
        var route = Route.open

        var testDescription: String { "\(answer)" }

        init(_ answer: ProviderAnswer.Result, _ message: Message, _ address: Address = .kept, _ route: Route = .open) {
            self.answer = answer
            self.message = message
            self.address = address
            self.route = route
        }
    }

    static let rows: [Row] = [
        Row(.verdict(.accepted), .ended(.accepted)), Row(.verdict(.rejectMessage), .ended(.rejected)),
        Row(
            .verdict(.retireAddress(since: nil, isSuspicious: false)), .ended(.retired), .retired(isSuspicious: false)),
        Row(.verdict(.retireAddress(since: nil, isSuspicious: true)), .ended(.retired), .retired(isSuspicious: true)),
        Row(.verdict(.holdAddress(after: .seconds(30))), .later(seconds: 30...30)),
        Row(.verdict(.holdAddress(after: .zero)), .later(seconds: 10...12)),
        Row(.verdict(.retry(after: nil)), .later(seconds: 30...36)),
        Row(.verdict(.retry(after: .seconds(90))), .later(seconds: 120...120)),
        Row(.verdict(.holdApp(after: .seconds(20))), .returned, .kept, .paused(seconds: 20...20)),
        Row(.verdict(.refreshCredential), .returned, .kept, .paused(seconds: 1...1)),
        Row(.verdict(.reconnect), .returned, .kept, .paused(seconds: 1...1)),
        Row(.verdict(.stopApp), .returned, .kept, .stopped(seconds: 30...30)),
        Row(.held(after: .seconds(40)), .waits(seconds: 60)),
        Row(.lost, .later(seconds: 10...12)), Row(.unsent, .returned, .kept, .paused(seconds: 1...1)),
    ]

    @Test("is as in the table", arguments: rows)
    func effects(row: Row) async throws {
        let fixture = try await DeliveryFixture()
        let context = DeliveryContext(
            store: fixture.store, providers: [.apns: fixture.provider], time: fixture.time,
            randomness: fixture.randomness,
            logger: .init(label: "test"), options: .init())
        let page = SentPage.ofOneDevice(ProviderAnswer(row.answer, reason: "Word"), at: fixture.now)
        let route = ActiveRoute(app: fixture.app, route: .apnsProduction)
        let slot = fixture.slot
        let (credential, record) = try #require(try await fixture.store.read { try $0.credential(at: slot) })
        let terms = SendTerms(
            route: route, provider: fixture.provider, access: RouteAccess(credential, record), slot: slot,
            accessVersion: context.access.version(of: slot), life: life(from: fixture.now), lostAnswer: .resend)
        let report = await context.report([page], under: terms, isProbe: false, isOwnStop: false)
        #expect(report.suspiciousAddresses == .retire)
        try await check(row.route, fixture, context, route, report)
        check(row, page, at: fixture.now)
    }

    private func check(
        _ expected: Route, _ fixture: DeliveryFixture, _ context: DeliveryContext, _ route: ActiveRoute,
        _ report: DeliveryContext.ReportedEffect
    ) async throws {
        let isStopped = context.routes.change(route) { $0.isStopped }
        #expect((report.readyAt == nil) == (expected == .open), "the gate holds what is released")
        let closedUntil = context.routes.change(route) { $0.closedUntil }
        let wait = closedUntil.map { ($0 - fixture.time.uptime).components.seconds }
        let gate = try await fixture.gate()
        #expect((gate?.state ?? .open) == (expected == .open ? .open : isStopped ? .stopped : .paused))
        let health = try await fixture.health()
        switch expected {
        case .open: #expect(wait == nil && !isStopped)
        case .paused(let seconds): #expect(wait.map(seconds.contains) == true && !isStopped)
        case .stopped(let seconds):
            #expect(wait.map(seconds.contains) == true && isStopped)
            #expect(health == .stopped(at: fixture.now, reason: "Word"))
        }
        if !isStopped, case .stopped = health { Issue.record("the credential is recorded as stopped") }
    }

    private func check(_ row: Row, _ page: SentPage, at now: Timestamp) {
        let terms = Conclusion.Terms.trusting(life(from: now), now: now, readyAt: now + .seconds(77))
        let conclusion = Conclusion([page], terms: terms, chance: 0)
        #expect(conclusion.retirements.isEmpty == (row.address == .kept))
        if case .retired(let isSuspicious) = row.address {
            #expect(page.tally.suspicious == (isSuspicious ? 1 : 0))
            #expect(conclusion.retirements.first?.revision == 4)
        }
        let deferral = conclusion.deferrals.first
        switch row.message {
        case .ended(let outcome):
            #expect(deferral == nil)
            #expect(conclusion.log.entry(0).outcome == outcome)
        case .later(let seconds):
            #expect(deferral.map { seconds.contains(($0.readyAt - now).components.seconds) } == true)
            #expect(deferral?.attempt == 1)
        case .waits(let seconds):
            #expect((deferral?.readyAt).map { ($0 - now).components.seconds } == seconds)
            #expect(deferral?.attempt == 0 && page.tally == .init())
        case .returned:
            #expect(deferral == nil && !conclusion.isWhole && conclusion.log.count == 0, "it stays in its slice")
        }
    }

    /// What follows from the answer to one device, which was read five seconds ago.
    private func conclusion(
        _ answer: ProviderAnswer.Result, holdsAddresses: Bool = false, doubt: Int = 0
    ) -> Conclusion {
        let readAt = ManualTime().now
        let terms = Conclusion.Terms.trusting(
            life(from: readAt), now: readAt + .seconds(5), holdsAddresses: holdsAddresses, doubt: doubt)
        return Conclusion(
            [.ofOneDevice(ProviderAnswer(answer, reason: "Word"), at: readAt)], terms: terms, chance: 0)
    }

    @Test("a retirement spares devices that registered after the time that the network stated, or after they were read")
    func retiredSince() {
        func limits(_ since: Timestamp?) -> [Timestamp] {
            conclusion(.verdict(.retireAddress(since: since, isSuspicious: false))).retirements.map(\.notAfter)
        }
        let dead = Timestamp(seconds: 1_700_000_000)
        #expect(limits(dead) == [dead])
        #expect(limits(nil) == [ManualTime().now])
    }

    @Test("an address without a device is not retired, but its outcome is")
    func unregisteredAddress() {
        let conclusion = conclusion(
            .verdict(.retireAddress(since: nil, isSuspicious: false)), holdsAddresses: true)
        #expect(conclusion.retirements.isEmpty && conclusion.log.entry(0).outcome == .retired)
    }

    @Test(
        "a device that may have the message already stays in doubt until it is sent to, and then counts as resent",
        arguments: [
            (.held(after: .seconds(40)), 0, false, 0), (.held(after: .seconds(40)), 1, true, 0),
            (.verdict(.retry(after: nil)), 0, false, 0), (.verdict(.retry(after: nil)), 1, false, 1),
            (.lost, 0, true, 0), (.lost, 1, true, 1),
            (.verdict(.accepted), 0, nil, 0), (.verdict(.accepted), 1, nil, 1),
        ] as [(ProviderAnswer.Result, Int, Bool?, Int)])
    func doubt(answer: ProviderAnswer.Result, before: Int, isDoubtful: Bool?, resent: Int) {
        let conclusion = conclusion(answer, doubt: before)
        #expect(conclusion.deferrals.first?.isDoubtful == isDoubtful)
        #expect(conclusion.resentCount == resent)
    }

    @Test("a device that the rules hold back stays in doubt, and its attempt does not count", arguments: [0, 1])
    func heldInDoubt(before: Int) {
        let now = ManualTime().now
        let hold = PageRuling.Hold(until: now + .seconds(60), reason: .quietHours)
        let page = SentPage.ofOneDevice(ruled: .hold(hold), at: now)
        let conclusion = Conclusion([page], terms: .trusting(life(from: now), now: now, doubt: before), chance: 0)
        #expect(conclusion.deferrals.map(\.isDoubtful) == [before > 0])
        #expect(conclusion.deferrals.map(\.attempt) == [0] && conclusion.deferrals.map(\.readyAt) == [hold.until])
        #expect(conclusion.resentCount == 0)
    }

    private func life(from now: Timestamp) -> PlatformLife {
        MessageLife(start: now, end: now + .seconds(7200)).under(.init())
    }
}
