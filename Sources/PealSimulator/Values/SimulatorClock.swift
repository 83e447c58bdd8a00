import Foundation
import Synchronization

/// The simulator's clock: the system's time or that of a test, shifted by a skew.
package struct SimulatorClock: Sendable {
    private let read: @Sendable () -> Int64

    /// A clock that reads `milliseconds` (since 1970, UTC).
    package init(milliseconds: @escaping @Sendable () -> Int64) {
        read = milliseconds
    }

    /// The system's clock, `skewSeconds` ahead, or behind if negative.
    package static func system(skewSeconds: Int64 = 0) -> SimulatorClock {
        SimulatorClock {
            Int64(Date().timeIntervalSince1970 * 1_000) &+ (skewSeconds &* 1_000)
        }
    }

    /// The same clock, shifted by the current `skew`.
    func skewed(by skew: ClockSkew) -> SimulatorClock {
        SimulatorClock { read() &+ skew.milliseconds }
    }

    /// Milliseconds since 1970, UTC.
    package var milliseconds: Int64 { read() }
}

/// A shift of the simulator's clock, in addition to the one with which it was started.
package final class ClockSkew: Sendable {
    private let amount = Atomic<Int64>(0)

    /// No shift.
    package init() {}

    /// Sets the clock `seconds` ahead, or behind if negative.
    package func set(seconds: Int64) {
        amount.store(seconds &* 1_000, ordering: .relaxed)
    }

    /// Milliseconds by which the clock is ahead.
    var milliseconds: Int64 { amount.load(ordering: .relaxed) }
}

/// A stream of random numbers that depends only on its seed (SplitMix64), so that a run can be repeated.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A stream that starts at `seed`; equal seeds give equal streams.
    package init(seed: UInt64) {
        state = seed
    }

    /// The next 64 bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// Spreads every bit of `value` over all 64 bits of the result.
    static func mix(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A random UUID (version 4) in the canonical form, lower case.
    mutating func uuid() -> String {
        let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return String(unsafeUninitializedCapacity: 36) { target in
            var position = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    target[position] = 0x2D
                    position += 1
                }
                let half = digit < 16 ? high : low
                target[position] = Hexadecimal.digit(half >> UInt64(60 - 4 * (digit & 15)))
                position += 1
            }
            return position
        }
    }
}

/// Generates ids and secrets, the same ones for the same seed.
final class IDSource: Sendable {
    private let random: Mutex<SeededRandom>

    init(seed: UInt64) {
        random = Mutex(SeededRandom(seed: seed))
    }

    /// A random UUID in the canonical form.
    func uuid() -> String {
        random.withLock { $0.uuid() }
    }

    /// 64 random bits.
    func number() -> UInt64 {
        random.withLock { $0.next() }
    }

    /// `count` random bytes.
    func bytes(_ count: Int) -> [UInt8] {
        random.withLock { random in (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) } }
    }
}

/// A 64-bit hash of a longer text. The probability that any two of ten million device tokens collide is 1 : 300,000.
enum Fingerprint {
    /// The start value of an empty text.
    static let start: UInt64 = 0x51_7C_C1_B7_27_22_0A_95

    /// Folds `word` into `state`.
    @inline(__always)
    static func fold(_ state: UInt64, _ word: UInt64) -> UInt64 {
        let product = (state ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return (product.high ^ product.low) &+ word.byteSwapped
    }

    /// The fingerprint of `bytes`; ignores the case of letters if `isFoldingCase`.
    static func of(_ bytes: UnsafeRawBufferPointer, isFoldingCase: Bool = true) -> UInt64 {
        let mask: UInt64 = isFoldingCase ? 0x2020_2020_2020_2020 : 0
        var state = start
        var position = 0
        while bytes.count - position >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            state = fold(state, word | mask)
            position += 8
        }
        var word: UInt64 = 0
        for byte in bytes[position...] { word = word << 8 | UInt64(byte) | (mask & 0xFF) }
        return SeededRandom.mix(fold(fold(state, word), UInt64(bytes.count)))
    }

    /// The fingerprint of `text`.
    static func of(_ text: String, isFoldingCase: Bool = true) -> UInt64 {
        var text = text
        return text.withUTF8 { of(UnsafeRawBufferPointer($0), isFoldingCase: isFoldingCase) }
    }
}
