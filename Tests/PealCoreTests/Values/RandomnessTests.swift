import PealCore
import Synchronization
import Testing

@Suite("Randomness") struct RandomnessTests {
    /// Returns the same word every time: the extremes show which bits are fixed.
    private struct Constant: Randomness {
        let word: UInt64
        func next() -> UInt64 { word }
    }

    @Test("creates UUIDs of version 4 and 7", arguments: [UInt64.min, .max])
    func versions(word: UInt64) {
        let random: Identifier<Device> = Constant(word: word).identifier()
        #expect(random.high >> 12 & 0xF == 4 && random.low >> 62 == 0b10)
        let now = Timestamp(milliseconds: 1_795_228_200_000)
        let ordered: Identifier<Message> = Constant(word: word).timeOrderedIdentifier(at: now)
        #expect(ordered.high >> 12 & 0xF == 7 && ordered.low >> 62 == 0b10)
        #expect(Int64(ordered.high >> 16) == now.milliseconds)
    }

    @Test("gives messages ids that differ in their first half", arguments: [UInt64.min, .max])
    func firstHalves(word: UInt64) {
        let (ids, now) = (MessageIDs(), Timestamp(milliseconds: 1_795_228_200_000))
        let made = (0..<1000).map { _ in ids.next(at: now, Constant(word: word)) }
        #expect(Set(made.map(\.high)).count == 1000)
        #expect(made.allSatisfy { Int64($0.high >> 16) == now.milliseconds && $0.high >> 12 & 0xF == 7 })
        let later = ids.next(at: now + .milliseconds(1), Constant(word: word))
        #expect(later == Constant(word: word).timeOrderedIdentifier(at: now + .milliseconds(1)))
        #expect(!made.contains(ids.next(at: now, Constant(word: word))), "requests of several milliseconds alternate")
        // With one random word, not even all of them are enough.
        for _ in 0..<5000 { _ = ids.next(at: now, Constant(word: word)) }
    }

    @Test("creates positive numbers and the requested number of bytes", arguments: [UInt64.min, .max])
    func numbers(word: UInt64) {
        #expect(Constant(word: word).positiveNumber() > 0)
        for count in [0, 1, 8, 9, 32] { #expect(Constant(word: word).bytes(count).count == count) }
    }
}
