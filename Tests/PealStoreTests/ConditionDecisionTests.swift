import PealCore
@testable import PealStore
import PealTesting
import Testing

@Suite("Conditions whose sets have been read")
struct ConditionDecisionTests {
    private static let range: ClosedRange<DeviceKey> = 100...163

    /// Every key has its own row.
    private static func row(_ key: DeviceKey) -> RowTest.Row {
        let registered = Timestamp(milliseconds: key)
        return RowTest.Row(
            locale: key % 3, zone: key % 5, registeredAt: registered, since: registered, detail: DeviceDetail())
    }

    private static func random(_ randomness: SeededRandomness, depth: Int) -> ConditionDecision {
        func parts() -> [ConditionDecision] {
            (0..<pick(3, randomness) + 1).map { _ in random(randomness, depth: depth - 1) }
        }
        switch depth == 0 ? 3 + pick(4, randomness) : pick(7, randomness) {
        case 0: return .and(parts())
        case 1: return .or(parts())
        case 2: return .not(random(randomness, depth: depth - 1))
        case 3: return .rows(.locale([Int64(pick(3, randomness))]))
        case 4: return .rows(.timeZone(Int64(pick(5, randomness))))
        case 5: return .rows(.always(pick(2, randomness) == 0))
        default: return .set(keys(randomness))
        }
    }

    private static func pick(_ count: Int, _ randomness: SeededRandomness) -> Int {
        Int(randomness.next() % UInt64(count))
    }

    private static func keys(_ randomness: SeededRandomness) -> KeySet {
        KeySet(range: range, range.filter { _ in pick(2, randomness) == 0 })
    }

    @Test("their bounds leave open only devices whose rows decide", arguments: UInt64(0)..<200)
    func bounds(_ seed: UInt64) {
        let randomness = SeededRandomness(seed: seed)
        let (decision, wanted) = (Self.random(randomness, depth: 4), Self.keys(randomness))
        let bounds = decision.bounds(in: wanted)
        for key in Self.range {
            let holds = wanted.contains(key) && decision.holds(key, Self.row(key))
            #expect(!bounds.certain.contains(key) || holds)
            #expect(bounds.possible.contains(key) || !holds)
        }
    }

    @Test("sets alone decide, and only devices that are in doubt remain")
    func certain() {
        let one = KeySet(range: Self.range, [101, 102])
        let other = KeySet(range: Self.range, [102, 103])
        let wanted = KeySet(range: Self.range, Self.range)
        let test = ConditionDecision.rows(.locale([0]))
        let sets = ConditionDecision.and([.set(one), .not(.set(other))]).bounds(in: wanted)
        #expect(sets.certain.keys(after: 0, limit: 9) == [101] && sets.possible.keys(after: 0, limit: 9) == [101])
        let mixed = ConditionDecision.or([.set(one), .and([.set(other), test])]).bounds(in: wanted)
        #expect(mixed.certain.keys(after: 0, limit: 9) == [101, 102])
        #expect(mixed.possible.keys(after: 0, limit: 9) == [101, 102, 103])
    }
}
