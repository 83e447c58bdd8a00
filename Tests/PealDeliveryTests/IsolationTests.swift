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
        let bench = try await Bench()
        let silent = ScriptedProvider(.fcm)
        silent.answers { _ in .silence }
        try await bench.putCredential(.production, .fcm)
        try await bench.register(1...9_000, route: .fcm)
        try await bench.register(9_001...14_000)
        let service = bench.service(providers: [.apns: bench.provider, .fcm: silent], pagesInFlightMax: 2)
        try await bench.running(service) {
            let stuck = try await bench.accept(bench.draft(Self.audience(.android)), engine: service)
            // Two of three slices hold every place; a third waits for one.
            try await bench.eventually { silent.pages.count == 2 }
            try await bench.drive(by: .milliseconds(500), isWorkUnderWay: true) {
                service.metrics.snapshot.pagesLent >= 2
            }
            let id = try await bench.accept(bench.draft(Self.audience(.ios)), engine: service)
            // The clock stands from here on: nothing of the silent provider can time out.
            try await bench.ended(id)
            #expect(try await bench.counts(id).accepted == 5_000)
            #expect(try await bench.state(stuck) == .sending)
            silent.answers { _ in .accepted }
            silent.answerOpen()
        }
    }
}
