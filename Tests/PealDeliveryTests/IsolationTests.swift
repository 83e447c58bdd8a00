import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

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
        let silent = ScriptedProvider(.fcm)
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

    @Test("does not delay small messages over other providers")
    func silenceInTheDirectLane() async throws {
        let fixture = try await DeliveryFixture()
        let silent = ScriptedProvider(.fcm)
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
}
