import PealCore
import PealTesting
import Testing

@testable import PealDelivery

@Suite("Rates", .timeLimit(.minutes(10)))
struct RateTests {
    @Test("small messages are sent as fast as the app's rate allows", arguments: StoreUnderTest.allCases)
    func smallMessages(_ engine: StoreUnderTest) async throws {
        let fixture = try await DeliveryFixture(engine)
        try await fixture.set(.init([("rate_per_second", 50)]))
        try await fixture.register(1...1)
        let service = fixture.service()
        try await fixture.running(service) {
            try await fixture.eventually { service.isRunning }
            let start = fixture.now
            for _ in 0..<150 { try await fixture.accept(fixture.draft(.devices(1...1)), engine: service) }
            try await fixture.drive(by: .milliseconds(20), isWorkUnderWay: true) {
                fixture.provider.pages.count == 150
            }
            let took = fixture.now - start
            #expect(took > .seconds(2) && took < .seconds(9), "\(took)")
        }
    }

    @Test("turns follow each other as fast as the rate allows, and few workers wait for theirs")
    func turns() {
        let board = RateBoard()
        let fast = (0..<20).map { _ in
            board.turn(.app(1), after: .milliseconds(1), takes: .milliseconds(1), now: .seconds(1))
        }
        #expect(fast.map(\.delay) == (1...20).map { .milliseconds($0) })
        #expect(fast.map(\.isNear) == (1...20).map { $0 <= 11 })
        let slow = (0..<20).map { _ in
            board.turn(.app(2), after: .milliseconds(100), takes: .seconds(1), now: .seconds(1))
        }
        #expect(slow.map(\.delay) == (1...20).map { .milliseconds(100 * $0) })
        #expect(slow.map(\.isNear) == (1...20).map { $0 <= 10 })
    }

    @Test("a slow send gives each page the lifetime that remains")
    func remainingLife() async throws {
        let fixture = try await DeliveryFixture()
        let provider = ScriptedProvider()
        try await fixture.putCredential(.production, .fcm)
        try await fixture.register(1...60, route: .fcm)
        var options = MessageOptions()
        options.ratePerSecond = 2
        let service = fixture.service(providers: [.fcm: provider])
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all, options: options), engine: service)
            try await fixture.drive(by: .milliseconds(100), isWorkUnderWay: true) {
                try await fixture.state(id) == .sent
            }
            #expect(provider.sentCount(id) == 60)
            // It takes half a minute, and a rendering is used for ten seconds.
            #expect(provider.renderings >= 3)
        }
    }
}
