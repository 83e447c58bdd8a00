import PealCore
import PealTesting
import Testing

@Suite("Manual time")
struct ManualTimeTests {
    @Test("a sleeper wakes when the clock was moved far enough, and not before")
    func waking() async throws {
        let time = ManualTime()
        let start = time.now
        let sleeper = Task {
            try await time.sleep(for: .seconds(10))
            return time.uptime
        }
        await time.sleepers(1)
        time.advance(by: .seconds(9))
        await time.sleepers(1)
        time.advance(by: .seconds(1))
        #expect(try await sleeper.value == .seconds(10))
        #expect(time.now - start == .seconds(10))
    }

    @Test("a cancelled sleeper wakes at once")
    func cancelling() async throws {
        let time = ManualTime()
        let sleeper = Task { try await time.sleep(for: .seconds(10)) }
        await time.sleepers(1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test("the same seed gives the same numbers")
    func seeded() {
        let numbers = { (seed: UInt64) in
            let randomness = SeededRandomness(seed: seed)
            return (0..<5).map { _ in randomness.next() }
        }
        #expect(numbers(1) == numbers(1))
        #expect(numbers(1) != numbers(2))
    }
}
