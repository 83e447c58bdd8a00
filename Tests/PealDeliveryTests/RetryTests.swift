import PealCore
import PealStore
import PealTesting
import Testing

@testable import PealDelivery

@Suite("Retries", .timeLimit(.minutes(10)))
struct RetryTests {
    @Test("wait longer each time, in the steps that the providers advise")
    func backOff() {
        func seconds(_ wait: BackOff.Wait, _ attempt: Int, chance: UInt64 = 0) -> Int64 {
            BackOff.delay(wait, attempt: attempt, chance: chance).components.seconds
        }
        #expect((1...6).map { seconds(.provider(after: nil), $0) } == [30, 120, 900, 1200, 1200, 1200])
        #expect((1...6).map { seconds(.lost, $0) } == [10, 30, 120, 900, 1200, 1200])
        #expect((1...5).map { seconds(.address(after: .zero), $0) } == [10, 20, 40, 80, 160])
        #expect(seconds(.address(after: .zero), 1000) == 3600)
        #expect(seconds(.address(after: .zero), -3) == 10)
        for chance: UInt64 in [1, 5_000_000, .max] {
            #expect((30...36).contains(seconds(.provider(after: nil), 1, chance: chance)))
        }
        #expect(seconds(.provider(after: .seconds(61)), 1) == 120)
        #expect(seconds(.address(after: .seconds(9_000_000)), 1) == 6 * 3600)
    }

    @Test("are sent when they are due and count as attempts, and each device ends once")
    func retries() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...200)
        fixture.provider.answers { request in
            request.key % 20 == 0 && request.earlier < 2
                ? .verdict(.retry(after: nil), "InternalServerError", status: 500) : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { try await fixture.census().slicesWaiting == 1 }
            #expect(try await fixture.counts(id).accepted == 190)
            #expect(try await fixture.counts(id).pending == 10)
            try await fixture.drive(by: .seconds(1)) { fixture.provider.sent(id)[20] == 2 }
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            let trail = try await fixture.trail(id, 20)
            #expect(trail.map(\.outcome) == [.moved, .moved, .accepted])
            #expect(trail.map(\.attempt) == [1, 2, 3])
            #expect(trail.map(\.reason) == ["InternalServerError", "InternalServerError", ""])
            #expect(try await fixture.counts(id).accepted == 200)
            #expect(service.metrics.snapshot.retries == 20)
        }
    }

    @Test("end with the provider's reason when the message would have expired")
    func expiry() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        fixture.provider.answers { $0.key == 4 ? .verdict(.retry(after: nil), "ServiceUnavailable") : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 100), engine: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(fixture.provider.sent(id)[4] == 2)
            #expect(try await fixture.counts(id).expired == 1)
            #expect(try await fixture.trail(id, 4).last?.outcome == .expired)
            #expect(try await fixture.trail(id, 4).last?.reason == "ServiceUnavailable")
        }
    }

    @Test("a lost answer is retried once although the message ends before the usual pause")
    func lostShortly() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        fixture.provider.answers { request in
            request.key == 4 ? .answer(ProviderAnswer(.lost, reason: "StreamReset")) : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 6), engine: service)
            try await fixture.drive(by: .milliseconds(250)) { try await fixture.state(id) == .sent }
            #expect(fixture.provider.sent(id)[4] == 2)
            let trail = try await fixture.trail(id, 4)
            #expect(trail.map(\.reason) == ["LostAnswer StreamReset", "LostAnswer"])
            #expect(trail.map(\.outcome) == [.moved, .expired])
            #expect(try await fixture.counts(id).reasons == ["LostAnswer": 1])
        }
    }

    @Test("end after many lost answers")
    func attempts() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        fixture.provider.answers { request in
            request.key == 4 ? .answer(ProviderAnswer(.lost, reason: "Timeout")) : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 86_400), engine: service)
            try await fixture.drive(by: .seconds(30)) { try await fixture.state(id) == .sent }
            #expect(fixture.provider.sent(id)[4] == Limits.lostAttemptsMax)
            #expect(try await fixture.counts(id).reasons == ["GaveUp": 1])
        }
    }

    @Test("a stated wait of a second grows, and the device is tried until the message expires")
    func statedWait() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        fixture.provider.answers { $0.key == 4 ? .verdict(.retry(after: .seconds(1)), "Slow") : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, lifeSeconds: 4 * 3600), engine: service)
            try await fixture.drive(by: .seconds(5)) { try await fixture.state(id) == .sent }
            let counts = try await fixture.counts(id)
            #expect(counts.expired == 1 && counts.rejected == 0 && counts.reasons == ["Slow": 1])
            #expect((12...16).contains(fixture.provider.sent(id)[4] ?? 0))
        }
    }

    @Test("a wait that a peer asked for costs no attempt")
    func held() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        fixture.provider.answers { request in
            request.key == 4 && request.earlier < 3 * Limits.lostAttemptsMax
                ? .answer(ProviderAnswer(.held(after: .seconds(1)), reason: "OriginHeld")) : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 10)
            #expect(try await fixture.trail(id, 4).last?.attempt == 1)
        }
    }

    @Test("a life of 0 seconds is one attempt")
    func oneAttempt() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        fixture.provider.answers { $0.key == 4 ? .verdict(.retry(after: nil), "InternalServerError") : .accepted }
        var options = MessageOptions()
        options.life = .seconds(0)
        let service = fixture.service()
        try await fixture.running(service) {
            let draft = fixture.draft(.all, options: options, lifeSeconds: 0)
            let id = try await fixture.accept(draft, engine: service)
            try await fixture.ended(id)
            #expect(fixture.provider.repeatCount(id) == 0)
            let counts = try await fixture.counts(id)
            #expect(counts.accepted == 9)
            #expect(counts.expired == 1)
        }
    }

    @Test("stragglers delay no other device: the page is settled without them, and their late answers count")
    func stragglers() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...3000)
        fixture.provider.answers { $0.key % 1000 == 0 && $0.earlier == 0 ? .silence : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.counts(id).accepted == 2997 }
            #expect(try await fixture.state(id) == .sending)
            #expect(try await fixture.census().slicesLeased > 0)
            fixture.provider.answerOpen()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 3000)
            #expect(fixture.provider.repeatCount(id) == 0)
            #expect(try await fixture.trail(id, 1000).map(\.outcome) == [.moved, .accepted])
            #expect(service.metrics.snapshot.stragglers == 3)
        }
    }

    @Test("devices whose requests wait to begin again are not stragglers")
    func refused() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...300)
        fixture.provider.answers { $0.key <= 10 ? .refused : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.sentCount(id) == 290 }
            try await fixture.pass(seconds: 5)
            fixture.provider.answerOpen()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 300)
            #expect(service.metrics.snapshot.stragglers == 0)
        }
    }

    @Test("a straggler whose request begins again late is awaited as long as the others")
    func begunAgain() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...500)
        fixture.provider.answers { $0.key == 100 && $0.earlier == 0 ? .silence : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.counts(id).accepted == 499 }
            let flight = try #require(fixture.provider.pages.first).flight
            flight.withdraw(1)
            try await fixture.pass(seconds: 8)
            flight.begin(1)
            try await fixture.pass(seconds: 12)
            fixture.provider.answerOpen()
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            #expect(fixture.provider.repeatCount(id) == 0)
            #expect(try await fixture.counts(id).accepted == 500)
        }
    }

    @Test("a straggler that never answers is lost, and sent again")
    func lostStraggler() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...500)
        fixture.provider.answers { $0.key == 100 && $0.earlier == 0 ? .silence : .accepted }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive(isWorkUnderWay: true) { try await fixture.state(id) == .sent }
            #expect(fixture.provider.sent(id)[100] == 2)
            #expect(try await fixture.counts(id).accepted == 500)
            let trail = try await fixture.trail(id, 100)
            #expect(trail.map(\.reason) == ["LateAnswer", "LostAnswer", ""])
        }
    }
}
