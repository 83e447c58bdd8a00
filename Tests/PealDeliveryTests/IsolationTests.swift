import PealCore
import PealStore
import PealTesting
import Testing

@testable import PealDelivery

@Suite("A provider that does not answer", .timeLimit(.minutes(10)))
struct IsolationTests {
    private static func audience(_ platform: Platform) -> Audience {
        var audience = Audience.all
        audience.platforms = [platform]
        return audience
    }

    @Test("slows no other provider")
    func silence() async throws {
        let fixture = try await DeliveryFixture()
        let silent = ScriptedProvider()
        silent.answers { _ in .silence }
        try await fixture.putCredential(.production, .fcm)
        try await fixture.register(1...9_000, route: .fcm)
        try await fixture.register(9_001...14_000)
        let service = fixture.service(providers: [.apns: fixture.provider, .fcm: silent], pagesInFlightMax: 4)
        try await fixture.running(service) {
            let stuck = try await fixture.accept(fixture.draft(Self.audience(.android)), engine: service)
            // Two of three slices hold every slot; the third waits for one.
            try await fixture.eventually { silent.pages.count == 2 }
            try await fixture.drive(by: .milliseconds(500), isWorkUnderWay: true) {
                service.metrics.snapshot.pagesLent >= 2
            }
            let id = try await fixture.accept(fixture.draft(Self.audience(.ios)), engine: service)
            // From here on the clock does not move, so requests to the silent provider cannot time out.
            try await fixture.ended(id)
            #expect(try await fixture.counts(id).accepted == 5_000)
            #expect(try await fixture.state(stuck) == .sending)
            silent.answers { _ in .accepted }
            silent.answerOpen()
        }
    }

    @Test("never makes a message that waited for it arrive after its expiry")
    func expiryWhileWaiting() async throws {
        let fixture = try await DeliveryFixture()
        let silent = ScriptedProvider()
        silent.answers { _ in .silence }
        try await fixture.putCredential(.production, .fcm)
        try await fixture.register(1...4_000, route: .fcm)
        try await fixture.register(4_001...4_100)
        let service = fixture.service(providers: [.apns: fixture.provider, .fcm: silent], pagesInFlightMax: 2)
        try await fixture.running(service) {
            try await fixture.accept(fixture.draft(Self.audience(.android)), engine: service)
            // One page holds every slot, and lends them after a second.
            try await fixture.eventually { silent.pages.count == 1 }
            let draft = fixture.draft(Self.audience(.ios), lifeSeconds: 1)
            let id = try await fixture.accept(draft, engine: service)
            try await fixture.eventually { try await fixture.census().slicesReady == 0 }
            try await fixture.drive(by: .milliseconds(250), isWorkUnderWay: true) {
                try await fixture.state(id)?.isFinal ?? false
            }
            #expect(fixture.provider.sentCount(id) == 0)
            #expect(try await fixture.state(id) == .expired)
            silent.answers { _ in .accepted }
            silent.answerOpen()
        }
    }

    @Test("does not delay small messages over other providers")
    func silenceInTheDirectLane() async throws {
        let fixture = try await DeliveryFixture()
        let silent = ScriptedProvider()
        silent.answers { _ in .silence }
        try await fixture.register(1...1)
        var others: [DeliveryFixture] = []
        for _ in 0..<3 {
            let other = try await fixture.another()
            try await other.putCredential(.production, .fcm)
            try await other.register(2...101, route: .fcm)
            others.append(other)
        }
        let service = fixture.service(providers: [.apns: fixture.provider, .fcm: silent])
        try await fixture.running(service) {
            try await fixture.eventually { service.isRunning }
            var stuck: [MessageID] = []
            for number in 2...101 {
                for other in others {
                    stuck.append(try await other.accept(other.draft(.devices(number...number)), engine: service))
                }
            }
            try await fixture.eventually { silent.pages.count >= Limits.directSlicesActiveMax }
            try await fixture.pass(seconds: 3)
            // From here on the clock does not move, so requests to the silent provider cannot time out.
            let id = try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.ended(id)
            #expect(try await fixture.counts(id).accepted == 1)
            try await fixture.eventually { silent.pages.count == stuck.count }
            silent.answers { _ in .accepted }
            silent.answerOpen()
            for (index, message) in stuck.enumerated() { try await others[index % 3].ended(message) }
            #expect(silent.pages.count == stuck.count)
        }
    }

    @Test("a message to untrusted hosts, none of which can be reached, delays no other message of the app")
    func unreachableHosts() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...3000)
        fixture.provider.answers { request in
            guard request.key > 1 else { return .accepted }
            var answer = ProviderAnswer(.verdict(.holdAddress(after: .zero)), reason: "NoConnection")
            if request.key > 2000 { answer = ProviderAnswer(.unsent, reason: "Deadline") }
            answer.isOfHostAlone = true
            return .answer(answer)
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.devices(2...3000)), engine: service)
            try await fixture.eventually {
                let census = try await fixture.census()
                return census.slicesWaiting > 0 && census.slicesReady + census.slicesLeased == 0
            }
            #expect(fixture.provider.sentCount(id) == 2999)
            let other = try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.ended(other)
            #expect(try await fixture.counts(other).accepted == 1)
            #expect(service.metrics.snapshot.breakerTrips == 0)
        }
    }

    @Test(
        "deferrals that an untrusted host causes say nothing about the route",
        arguments: [.lost, .unsent, .verdict(.holdAddress(after: .zero)), .verdict(.retry(after: nil))]
            as [ProviderAnswer.Result])
    func hostAlone(result: ProviderAnswer.Result) {
        var answer = ProviderAnswer(result, reason: "NoConnection")
        let usual = SentPage.ofOneDevice(answer, at: Timestamp(seconds: 0))
        #expect(usual.tally.deferred == 1 || usual.problem?.kind == .unsent)
        answer.isOfHostAlone = true
        let page = SentPage.ofOneDevice(answer, at: Timestamp(seconds: 0))
        #expect(page.tally == .init() && page.problem == nil)
    }

    @Test("devices at untrusted hosts, however many fail, do not keep a closed route closed")
    func untrustedProbes() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...2000)
        fixture.provider.answers { _ in .credentialRefused }
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.routeStops()
            let before = fixture.provider.pages.count
            fixture.provider.answers { request in
                guard request.key < 1900 else { return .accepted }
                var answer = ProviderAnswer(.verdict(.holdAddress(after: .zero)), reason: "NoConnection")
                answer.isOfHostAlone = true
                return .answer(answer)
            }
            try await fixture.drive(by: .seconds(1)) { try await fixture.gate()?.state == .open }
            #expect(fixture.provider.pages.count - before < 20, "pages of 16 devices only would be more than 100")
        }
    }
}

@Suite("The queue of small messages")
struct DirectQueueTests {
    private static func slices(_ numbers: Range<Int>, app: AppKey = 1) -> [Slice] {
        numbers.map { number in
            let id = Slice.ID(
                app: app, message: MessageID(high: 1, low: UInt64(number)), route: .fcm, rangeStart: 0, part: 0)
            return Slice(id: id, keyFrom: 1, keyTo: 1, keys: [1], cursor: 0, estimate: 1, lane: .direct)
        }
    }

    @Test("regards a route as stalled after several lost answers, not after one")
    func lostAnswers() {
        let queue = DirectQueue()
        let slices = Self.slices(0..<Limits.directRouteStalledMin)
        let route = ActiveRoute(app: 1, route: .fcm)
        #expect(queue.put(slices, askedAt: .zero).isEmpty)
        #expect(queue.take().count == slices.count)
        for slice in slices.dropLast() { queue.stall(slice.id) }
        #expect(!queue.isStalled(route))
        queue.stall(slices[slices.count - 1].id)
        #expect(queue.isStalled(route))
        queue.resume(slices[0].id)
        #expect(!queue.isStalled(route))
    }

    @Test("refuses further slices of a stalled route, and takes those of others")
    func fullQueue() {
        let queue = DirectQueue()
        var (begun, next) = (0, 0)
        while begun < Limits.directSlicesStalledMax {
            let slices = Self.slices(next..<next + 64)
            next += slices.count
            #expect(queue.put(slices, askedAt: .zero).isEmpty)
            let taken = queue.take()
            begun += taken.count
            for (slice, _) in taken { queue.stall(slice.id) }
        }
        let (more, other) = (Self.slices(next..<next + 3), Self.slices(next..<next + 1, app: 2))
        #expect(queue.put(more + other, askedAt: .zero).map(\.id) == more.map(\.id))
        #expect(queue.take().map(\.slice.id) == other.map(\.id))
    }

    @Test("limits how many slices wait and how many are worked on")
    func limits() {
        let queue = DirectQueue()
        let slices = Self.slices(0..<Limits.directSlicesWaitingMax + 3)
        #expect(queue.put(slices, askedAt: .zero).map(\.id) == slices.suffix(3).map(\.id))
        #expect(queue.take().count == Limits.directSlicesActiveMax)
        #expect(queue.take().isEmpty)
        queue.finish(slices[0].id)
        #expect(queue.take().map(\.slice.id) == [slices[Limits.directSlicesActiveMax].id])
    }
}

@Suite("The budget of pages in flight")
struct PageBudgetTests {
    private func isFull(_ budget: PageBudget) -> Bool {
        guard let slot = budget.takeIfFree(isStalled: false) else { return true }
        slot.release()
        return false
    }

    @Test("a slot that is released twice becomes free once")
    func release() throws {
        let budget = PageBudget(2, lendable: 0)
        let slots = try (0..<2).map { _ in try #require(budget.takeIfFree(isStalled: false)) }
        #expect(isFull(budget))
        for _ in 0..<2 { slots[0].release() }
        let third = try #require(budget.takeIfFree(isStalled: false))
        #expect(isFull(budget))
        for slot in [slots[1], third] { slot.release() }
    }

    @Test("a stalled page lends its slot once, and only so many pages do")
    func lending() throws {
        let budget = PageBudget(2, lendable: 1)
        let slots = try (0..<2).map { _ in try #require(budget.takeIfFree(isStalled: false)) }
        #expect(slots[0].lend() && !slots[0].lend())
        #expect(!slots[1].lend(), "too many pages are stalled")
        #expect(budget.takeIfFree(isStalled: true) == nil)
        let third = try #require(budget.takeIfFree(isStalled: false))
        slots[0].release()
        #expect(isFull(budget), "the slot belongs to the other page now")
        #expect(slots[1].lend(), "a stalled page has ended")
        #expect(!isFull(budget))
        for slot in [slots[1], third] { slot.release() }
        let stalled = try #require(budget.takeIfFree(isStalled: true))
        #expect(budget.takeIfFree(isStalled: true) == nil)
        stalled.release()
    }
}
