internal import PealCore
internal import Synchronization

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers in every run, so that a failure can be reproduced.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// Random numbers that are the same in every run.
package final class SeededRandomness: Randomness {
    private let generator: Mutex<SeededGenerator>

    package init(seed: UInt64 = 1) { generator = Mutex(SeededGenerator(seed: seed)) }

    package func next() -> UInt64 { generator.withLock { $0.next() } }
}
