import PealCore
import PealStore
import PealTesting
import Testing

@testable import PealDelivery

@Suite("The breaker of a route", .timeLimit(.minutes(10)))
struct BreakerTests {
    typealias Tally = RouteBreaker.Tally

    @Test("pauses longer each time a probe fails, and opens when one succeeds")
    func pauses() {
        var breaker = RouteBreaker()
        let bad = Tally(answers: 1000, accepted: 700, suspicious: 0, deferred: 300, deferredByProvider: 300)
        #expect(breaker.enter(nil, now: .zero) == .open)
        #expect(breaker.trips(on: bad, now: .zero) == true)
        #expect(breaker.enter(nil, now: .seconds(9)) == .closed(until: .seconds(10)))
        #expect(breaker.trips(on: bad, now: .seconds(9)) == false)
        #expect(breaker.enter(nil, now: .seconds(10)) == .probe)
        #expect(breaker.enter(nil, now: .seconds(10)) == .closed(until: .seconds(11)))
        _ = breaker.judge(bad, of: nil, isProbe: true, now: .seconds(10))
        breaker.abandonProbe(of: nil)
        #expect(breaker.enter(nil, now: .seconds(39)) == .closed(until: .seconds(40)))
        #expect(breaker.enter(nil, now: .seconds(40)) == .probe)
        let good = Tally(answers: 64, accepted: 64, suspicious: 0, deferred: 0, deferredByProvider: 0)
        #expect(breaker.judge(good, of: nil, isProbe: true, now: .seconds(40)).hasReopened)
        #expect(breaker.enter(nil, now: .seconds(40)) == .open)
    }

    @Test(
        "is closed longer after each failed probe, up to a maximum",
        arguments: [(false, [10, 30, 60, 120, 300, 300]), (true, [30, 60, 120, 300, 900, 900])] as [(Bool, [Int64])])
    func steps(isStop: Bool, expected: [Int64]) {
        let bad = Tally(answers: 1000, deferred: 1000, deferredByProvider: 1000)
        var (breaker, now) = (RouteBreaker(), Duration.zero)
        var waits: [Int64] = []
        for _ in expected {
            let isProbe = breaker.closedUntil != nil
            if isStop {
                breaker.stop(by: nil, isProbe: isProbe, now: now)
            } else {
                _ = breaker.judge(bad, of: nil, isProbe: isProbe, now: now)
            }
            let until = breaker.closedUntil ?? now
            waits.append((until - now).components.seconds)
            now = until
        }
        #expect(waits == expected)
        #expect(breaker.isStopped == isStop)
    }

    @Test("requests that cannot be sent close it for a second, and then longer, up to a minute")
    func backOff() {
        var (breaker, now) = (RouteBreaker(), Duration.zero)
        var waits: [Int64] = []
        for _ in 0..<8 {
            breaker.backOff(isProbe: breaker.closedUntil != nil, now: now)
            let until = breaker.closedUntil ?? now
            // A page that began before the pause does not lengthen it.
            breaker.backOff(isProbe: false, now: now)
            #expect(breaker.closedUntil == until)
            waits.append((until - now).components.seconds)
            now = until
        }
        #expect(waits == [1, 2, 4, 8, 15, 30, 60, 60])
    }

    @Test("a message that was leased for a probe is tried, although another one of the probe was refused before it")
    func slowerProbe() {
        let (bad, good) = (MessageID(high: 1, low: 1), MessageID(high: 1, low: 2))
        var breaker = RouteBreaker()
        breaker.stop(by: bad, isProbe: false, now: .zero)
        #expect(breaker.enter(bad, isLeasedForProbe: true, now: .seconds(30)) == .probe)
        breaker.stop(by: bad, isProbe: true, now: .seconds(30))
        breaker.abandonProbe(of: bad)
        #expect(breaker.enter(good, now: .seconds(30)) == .closed(until: .seconds(90)))
        #expect(breaker.enter(good, isLeasedForProbe: true, now: .seconds(30)) == .probe)
        #expect(breaker.judge(Tally(answers: 1, accepted: 1), of: good, isProbe: true, now: .seconds(31)).hasReopened)
        #expect(breaker.enter(good, now: .seconds(31)) == .open)
    }

    @Test("a stopped route is probed when the clock is set, unless addresses looked dead or the provider asked to wait")
    func clockWasSet() {
        func probes(_ close: (inout RouteBreaker) -> Void) -> Bool {
            var breaker = RouteBreaker()
            close(&breaker)
            breaker.clockWasSet(now: .seconds(1))
            return breaker.enter(nil, now: .seconds(1)) == .probe
        }
        #expect(probes { _ = $0.stop(by: nil, isProbe: false, now: .zero) })
        #expect(!probes { $0.hold(.seconds(60), now: .zero) })
        #expect(
            !probes {
                _ = $0.stop(by: nil, isProbe: false, now: .zero)
                $0.hold(.seconds(7200), now: .zero)
            })
        #expect(
            !probes { _ = $0.judge(Tally(answers: 1000, suspicious: 1000), of: nil, isProbe: false, now: .zero) })
    }

    @Test("a probe that never reports is given to another after half a minute")
    func lostProbe() {
        var breaker = RouteBreaker()
        breaker.hold(.seconds(5), now: .zero)
        #expect(breaker.enter(nil, now: .seconds(5)) == .probe)
        #expect(breaker.enter(nil, now: .seconds(34)) == .closed(until: .seconds(35)))
        #expect(breaker.enter(nil, now: .seconds(35)) == .probe)
    }

    @Test("doubts a mass of suspicious retirements, and trusts them among successes or when they are few")
    func suspicion() {
        func trusts(_ tallies: [Tally]) -> Bool {
            var breaker = RouteBreaker()
            return tallies.map { breaker.judge($0, of: nil, isProbe: false, now: .zero).retires }.last ?? true
        }
        #expect(trusts([Tally(answers: 49, accepted: 0, suspicious: 49)]))
        #expect(!trusts([Tally(answers: 50, accepted: 0, suspicious: 50)]))
        #expect(trusts([Tally(answers: 100, accepted: 70, suspicious: 30)]))
        #expect(trusts([Tally(answers: 1000, accepted: 0, suspicious: 200)]))
        #expect(!trusts([Tally(answers: 1000, accepted: 0, suspicious: 201)]))
        #expect(!trusts(Array(repeating: Tally(answers: 1, suspicious: 1), count: 50)))
        #expect(trusts(Array(repeating: Tally(answers: 1, suspicious: 1), count: 49)))
        let good = Tally(answers: 100_000, accepted: 100_000)
        #expect(!trusts([good, Tally(answers: 1000, accepted: 0, suspicious: 1000)]))
    }

    @Test("one throttled device does not stop a route")
    func oneDevice() {
        var breaker = RouteBreaker()
        for _ in 0..<200 {
            _ = breaker.judge(Tally(answers: 1, deferred: 1), of: nil, isProbe: false, now: .zero)
            #expect(breaker.enter(nil, now: .zero) == .open)
        }
    }

    @Test("devices with their own problems never pause the others of their route")
    func ownTrouble() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...200)
        fixture.provider.answers { request in
            request.key % 2 == 0 ? .verdict(.holdAddress(after: .seconds(3600)), "THIRD_PARTY_AUTH_ERROR") : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let first = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { try await fixture.counts(first).accepted == 100 }
            try await fixture.eventually { try await fixture.census().slicesLeased == 0 }
            let second = try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.ended(second)
            #expect(try await fixture.counts(second).accepted == 1)
            #expect(service.metrics.snapshot.breakerTrips == 0)
            try await fixture.drive(by: .seconds(300)) { try await fixture.state(first)?.isFinal ?? false }
            #expect(try await fixture.counts(first).expired == 100)
            #expect(fixture.provider.sent(first)[2] == 2)
        }
    }

    @Test("an answered probe shows that the credential is accepted, even where every device is refused")
    func answeredProbe() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .credentialRefused }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { try await fixture.health()?.isStopped ?? false }
            fixture.provider.answers { _ in .unregistered }
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).retired == 1)
            try await fixture.eventually { try await !(fixture.health()?.isStopped ?? true) }
        }
    }

    @Test("every pause and every stop counts, except those of a route that is already closed")
    func trips() {
        var breaker = RouteBreaker()
        var before = breaker
        breaker.backOff(isProbe: false, now: .zero)
        #expect(breaker.hasTripped(since: before))
        before = breaker
        breaker.backOff(isProbe: true, now: .seconds(2))
        breaker.hold(.seconds(60), now: .seconds(3))
        #expect(!breaker.hasTripped(since: before))
        breaker.stop(by: nil, isProbe: false, now: .seconds(4))
        #expect(breaker.hasTripped(since: before))
        before = breaker
        breaker.stop(by: nil, isProbe: true, now: .seconds(90))
        #expect(!breaker.hasTripped(since: before))
    }

    @Test("hosts that fail do not close a route whose other hosts accept")
    func manyHosts() {
        let mixed = Tally(answers: 1000, accepted: 300, deferred: 700, deferredByProvider: 700)
        let dead = Tally(answers: 1000, deferred: 1000, deferredByProvider: 1000)
        var breaker = RouteBreaker(hasManyHosts: true)
        #expect(breaker.trips(on: mixed, now: .zero) == false)
        #expect(breaker.trips(on: dead, now: .zero) == true)
        breaker = RouteBreaker(hasManyHosts: true)
        let one = Tally(answers: 1, deferred: 1, deferredByProvider: 1)
        _ = breaker.judge(Tally(answers: 50, accepted: 50), of: nil, isProbe: false, now: .zero)
        for _ in 0..<40 { #expect(breaker.trips(on: one, now: .zero) == false) }
        #expect((0..<100).contains { _ in breaker.trips(on: one, now: .zero) })
        #expect(Route.allCases.filter(\.hasManyHosts) == [.wns, .mpns, .webPush])
    }

    @Test("mass retirement stops the app and keeps every address")
    func massRetirement() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...3000)
        fixture.provider.answers { _ in .badToken }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually {
                let census = try await fixture.census()
                return census.slicesWaiting + census.slicesParked > 0 && census.slicesReady + census.slicesLeased == 0
            }
            #expect(try await fixture.health() == .stopped(at: fixture.now, reason: "MassRetirement"))
            #expect(try await fixture.deviceCount() == 3000)
            #expect(try await fixture.counts(id).retired == 0)
            #expect(service.metrics.snapshot.breakerTrips == 1)
            fixture.provider.answers { _ in .accepted }
            service.credentialsChanged(at: fixture.slot)
            try await fixture.drive(by: .seconds(2)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 3000)
        }
    }

    @Test("an outage pauses the route after a few pages, and all is sent when it is over")
    func outage() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...6000)
        fixture.provider.answers { _ in .verdict(.retry(after: nil), "ServiceUnavailable", status: 503) }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually {
                let census = try await fixture.census()
                return census.slicesWaiting + census.slicesParked > 0 && census.slicesReady + census.slicesLeased == 0
            }
            let tries = fixture.provider.sentCount(id) + fixture.provider.repeatCount(id)
            #expect(tries <= Limits.pagesInFlightMax * Limits.pageDevicesPerSlot)
            fixture.provider.answers { _ in .accepted }
            try await fixture.drive(by: .seconds(2)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 6000)
        }
    }

    @Test("addresses that are reported as dead while others accept are retried once and then retired")
    func evidence() {
        let (message, other) = (MessageID(high: 1, low: 1), MessageID(high: 1, low: 2))
        let (good, bad) = (Tally(answers: 100, accepted: 100), Tally(answers: 1000, suspicious: 1000))
        var breaker = RouteBreaker()
        func judge(
            _ page: Tally, of id: MessageID, again: Bool = false, version: Int = 1, at seconds: Int64 = 0
        ) -> RouteBreaker.Judgement {
            breaker.judge(page, of: id, isProbe: false, isRepeated: again, version: version, now: .seconds(seconds))
        }
        _ = judge(good, of: message)
        let doubt = judge(bad, of: message)
        #expect(doubt.suspiciousAddresses == .retryLater && doubt.isNewDoubt)
        #expect(breaker.closedUntil == nil)
        #expect(!judge(bad, of: message, again: true).retires, "nothing was accepted since")
        _ = judge(good, of: other)
        #expect(!judge(bad, of: message, again: true).retires, "too little was accepted for 1,000 addresses")
        for _ in 0..<2 { _ = judge(good, of: other) }
        #expect(judge(bad, of: message, again: true).retires)
        #expect(!judge(bad, of: message).retires, "these devices were not tried before")
        _ = judge(good, of: other, version: 2)
        #expect(!judge(bad, of: message, again: true, version: 2).retires, "the credential is another one")
        #expect(judge(bad, of: message, version: 2, at: 86_400).stopReason == "MassRetirement")
    }

    @Test("of pages that were in flight together, the order of judgement does not matter", arguments: [0, 600])
    func rounds(seconds: Int64) {
        let message = MessageID(high: 1, low: 1)
        let (good, bad) = (Tally(answers: 400, accepted: 400), Tally(answers: 1000, suspicious: 1000))
        var breaker = RouteBreaker()
        for page in [good, bad, good] { _ = breaker.judge(page, of: message, isProbe: false, now: .zero) }
        let last = breaker.judge(bad, of: message, isProbe: false, now: .seconds(seconds))
        #expect(!last.retires)
        let repeated = breaker.judge(bad, of: message, isProbe: false, isRepeated: true, now: .seconds(1200))
        #expect(repeated.retires == (seconds == 0), "an outage may have begun since the acceptances")
    }

    @Test("a credential that fits a few devices stops its route, and retires none of the others")
    func mostlyWrong() {
        let (message, few) = (MessageID(high: 1, low: 1), MessageID(high: 1, low: 2))
        let page = Tally(answers: 2048, accepted: 8, suspicious: 2040)
        let again = Tally(answers: 2040, accepted: 8, suspicious: 2032)
        var breaker = RouteBreaker()
        #expect(breaker.judge(page, of: message, isProbe: false, now: .zero).stopReason == "MassRetirement")
        let probe = Tally(answers: 16, accepted: 1, suspicious: 15)
        #expect(breaker.judge(probe, of: few, isProbe: true, now: .seconds(30)).hasReopened)
        for seconds: Int64 in [600, 1800] {
            let now = Duration.seconds(seconds)
            let judgement = breaker.judge(again, of: message, isProbe: false, isRepeated: true, now: now)
            #expect(judgement.suspiciousAddresses == .retryLater)
        }
    }

    @Test("what one host accepts retires no address of another", arguments: [true, false])
    func evidenceOfHosts(hasManyHosts: Bool) {
        let (message, other) = (MessageID(high: 1, low: 1), MessageID(high: 1, low: 2))
        let (good, bad) = (Tally(answers: 100, accepted: 100), Tally(answers: 400, suspicious: 400))
        var breaker = RouteBreaker(hasManyHosts: hasManyHosts)
        for (page, id) in [(good, other), (bad, message), (good, other)] {
            _ = breaker.judge(page, of: id, isProbe: false, now: .zero)
        }
        let repeated = breaker.judge(bad, of: message, isProbe: false, isRepeated: true, now: .seconds(600))
        #expect(repeated.retires == !hasManyHosts)
    }

    @Test("devices that the other environment reached prove nothing about this one")
    func healedProveNothing() {
        var breaker = RouteBreaker()
        let healed = Tally(answers: 100, accepted: 100, healed: 100)
        _ = breaker.judge(healed, of: nil, isProbe: false, now: .zero)
        let bad = Tally(answers: 1000, suspicious: 1000)
        #expect(breaker.judge(bad, of: nil, isProbe: false, now: .zero).stopReason == "MassRetirement")
    }

    @Test(
        "thousands of registered addresses that do not exist stop nothing for long, and are retired",
        arguments: [2501...5600, 1...3100])
    func registeredByMany(dead: ClosedRange<Int>) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...8100)
        fixture.provider.answers { dead.contains(Int($0.key)) ? .badToken : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive(by: .seconds(5)) { try await fixture.counts(id).accepted == 5000 }
            #expect(fixture.time.now <= fixture.start + .seconds(600))
            try await fixture.drive(by: .seconds(20)) { try await fixture.state(id) == .sent }
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 5000 && counts.retired == 3100)
            #expect(try await fixture.deviceCount() == 5000)
            #expect(try await fixture.health()?.isStopped == false)
            #expect(service.metrics.snapshot.breakerTrips <= 1)
        }
    }

    @Test("a message with one attempt ends when its addresses are doubted")
    func oneAttempt() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...2000)
        var options = MessageOptions()
        options.life = .seconds(0)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.ended(try await fixture.accept(fixture.draft(.all), engine: service))
            fixture.provider.answers { _ in .badToken }
            let draft = fixture.draft(.all, options: options, lifeSeconds: 0)
            let id = try await fixture.accept(draft, engine: service)
            try await fixture.ended(id)
            let counts = try await fixture.counts(id)
            #expect(counts.expired == 2000 && counts.retired == 0)
            #expect(fixture.provider.repeatCount(id) == 0)
        }
    }

    @Test("with a wrong credential no address is retired, however often the route is probed")
    func wrongCredential() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...3000)
        fixture.provider.answers { _ in .badToken }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 7200), engine: service)
            try await fixture.drive(by: .seconds(30)) { try await fixture.state(id)?.isFinal ?? false }
            #expect(try await fixture.counts(id).retired == 0)
            #expect(try await fixture.deviceCount() == 3000)
            #expect(try await fixture.health()?.isStopped == true)
        }
    }
}

extension RouteBreaker {
    /// Judges a page, and returns whether that paused or stopped the route.
    fileprivate mutating func trips(on page: Tally, now: Duration) -> Bool {
        let before = self
        _ = judge(page, of: nil, isProbe: false, now: now)
        return hasTripped(since: before)
    }

    /// Stops the route, unless only this message is refused.
    @discardableResult
    mutating func stop(by message: MessageID?, isProbe: Bool, now: Duration) -> Judgement {
        var judgement = Judgement()
        apply((.stop, "TopicDisallowed"), of: message, isProbe: isProbe, to: &judgement, now: now)
        return judgement
    }
}

extension RouteBreaker.Judgement {
    /// Whether suspicious addresses are retired.
    fileprivate var retires: Bool { suspiciousAddresses == .retire }
}
