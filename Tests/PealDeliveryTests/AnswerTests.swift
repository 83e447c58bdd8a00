import PealCore
import PealStore
import PealTesting
import Testing

@testable import PealDelivery

@Suite("What an answer means", .timeLimit(.minutes(10)))
struct AnswerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let verdict: Verdict
        let reason: String
        let outcome: Outcome
        var isRetired = false

        var testDescription: String { "\(verdict)" }
    }

    static let since = Timestamp(milliseconds: 1_795_219_200_000) + .seconds(3600)

    @Test(
        "each verdict has its effect on the device and on the log",
        arguments: [
            Case(verdict: .accepted, reason: "", outcome: .accepted),
            Case(verdict: .rejectMessage, reason: "PayloadEmpty", outcome: .rejected),
            Case(
                verdict: .retireAddress(since: nil, isSuspicious: false), reason: "ExpiredToken", outcome: .retired,
                isRetired: true),
            Case(
                verdict: .retireAddress(since: nil, isSuspicious: true), reason: "BadDeviceToken", outcome: .retired,
                isRetired: true),
            Case(
                verdict: .retireAddress(since: since, isSuspicious: false), reason: "Unregistered", outcome: .retired,
                isRetired: true),
            Case(
                verdict: .retireAddress(since: Timestamp(milliseconds: 0), isSuspicious: false),
                reason: "Unregistered", outcome: .retired),
            Case(verdict: .holdAddress(after: .zero), reason: "TooManyRequests", outcome: .accepted),
            Case(verdict: .retry(after: nil), reason: "InternalServerError", outcome: .accepted),
            Case(verdict: .holdApp(after: .seconds(20)), reason: "QuotaExceeded", outcome: .accepted),
            Case(verdict: .refreshCredential, reason: "ExpiredProviderToken", outcome: .accepted),
            Case(verdict: .reconnect, reason: "Shutdown", outcome: .accepted),
            Case(verdict: .stopApp, reason: "InvalidProviderToken", outcome: .accepted),
        ])
    func verdicts(_ example: Case) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...30)
        let number: DeviceKey = 7
        fixture.provider.answers { request in
            request.key == number && request.earlier == 0 ? .verdict(example.verdict, example.reason) : .accepted
        }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id)?.isFinal ?? false }
            let counts = try await fixture.counts(id)
            #expect(counts.settled == 30)
            #expect(counts.accepted == (example.outcome == .accepted ? 30 : 29))
            let last = try #require(try await fixture.trail(id, number).last)
            #expect(last.outcome == example.outcome)
            if example.outcome != .accepted {
                #expect(last.reason == example.reason)
                #expect(counts.reasons == [example.reason: 1])
            }
            #expect((try await fixture.device(7)?.retirement != nil) == example.isRetired)
            #expect(fixture.provider.repeatCount(id, except: number) == 0)
        }
    }

    @Test("a stopped route is reported, keeps its work, and continues when the credential is fixed")
    func stopApp() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...2000)
        fixture.provider.answers { _ in .credentialRefused }
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { try await fixture.census().slicesParked > 0 }
            try await fixture.eventually { try await fixture.census().slicesLeased == 0 }
            #expect(try await fixture.health() == .stopped(at: fixture.now, reason: "InvalidProviderToken"))
            #expect(try await fixture.counts(id).settled == 0)
            fixture.provider.answers { _ in .accepted }
            try await fixture.putCredential()
            service.credentialsChanged(at: fixture.slot)
            #expect(fixture.provider.drained.count == 1)
            try await fixture.drive(by: .seconds(2)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 2000)
        }
    }

    @Test(
        "a notification whose answer is lost is sent again, or dropped if the author prefers that",
        arguments: [true, false])
    func lost(isDropped: Bool) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...10)
        fixture.provider.answers { request in
            request.key == 3 && request.earlier == 0
                ? .answer(ProviderAnswer(.lost, reason: "ConnectionLost")) : .accepted
        }
        var options = MessageOptions()
        options.lostAnswer = isDropped ? .drop : .resend
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, options: options), engine: service)
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id)?.isFinal ?? false }
            #expect(fixture.provider.sent(id)[3] == (isDropped ? 1 : 2))
            let counts = try await fixture.counts(id)
            #expect(counts.reasons == (isDropped ? ["LostAnswer": 1] : [:]))
            #expect(counts.accepted == (isDropped ? 9 : 10))
            let reason = try await fixture.trail(id, 3).first?.reason
            #expect(reason == (isDropped ? "LostAnswer" : "LostAnswer ConnectionLost"))
        }
    }
}
