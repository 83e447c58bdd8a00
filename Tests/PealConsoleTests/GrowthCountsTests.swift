@testable import PealConsole
import PealCore
import PealTesting
import Testing

@Suite("How topics grew") struct GrowthCountsTests {
    private static func join(_ number: Int, _ fixture: ConsoleFixture) async throws {
        let (app, now) = (fixture.app.key, fixture.clock.now)
        try await fixture.store.write(.intake) { store in
            let registration = DeviceRegistration(
                id: DeviceID(high: 1, low: UInt64(number)),
                address: Address(
                    route: Route(.primary[0], .production), bytes: Array(repeating: UInt8(number), count: 32)),
                topics: ["news"])
            _ = try store.register(registration, app: app, now: now)
        }
    }

    private static func counted(_ answer: GrowthCounts.Answer) -> Int? {
        if case .counted(let count) = answer { count.topic.deviceCount } else { nil }
    }

    @Test("is counted at once for small topics, and unknown for others")
    func small() async throws {
        try await ConsoleFixture.open { fixture in
            let counts = GrowthCounts(store: fixture.store, time: fixture.clock)
            let app = fixture.app.key
            for number in 1...3 {
                try await Self.join(number, fixture)
                let answer = try await counts.growth(app: app, topic: "news", days: 30)
                #expect(Self.counted(answer) == number)
            }
            guard case .unknown = try await counts.growth(app: app, topic: "none", days: 30) else {
                Issue.record("an unknown topic was counted")
                return
            }
        }
    }

    @Test("is counted in the background for large topics, and kept for a while")
    func large() async throws {
        try await ConsoleFixture.open { fixture in
            let counts = GrowthCounts(store: fixture.store, time: fixture.clock, directMax: 1)
            let app = fixture.app.key
            @Sendable func growth() async throws -> GrowthCounts.Answer {
                try await counts.growth(app: app, topic: "news", days: 30)
            }
            try await Self.join(1, fixture)
            guard case .counting(about: 1) = try await growth() else {
                Issue.record("the page waited for the count")
                return
            }
            while Self.counted(try await growth()) != 1 { try Task.checkCancellation() }
            try await Self.join(2, fixture)
            fixture.clock.advance(by: .seconds(9))
            #expect(Self.counted(try await growth()) == 1, "it is kept")
            fixture.clock.advance(by: .seconds(2))
            #expect(Self.counted(try await growth()) == 1, "the page does not wait for the new count")
            while Self.counted(try await growth()) != 2 { try Task.checkCancellation() }
            fixture.clock.advance(by: .seconds(601))
            guard case .counting(about: 2) = try await growth() else {
                Issue.record("an old count was shown")
                return
            }
        }
    }
}
