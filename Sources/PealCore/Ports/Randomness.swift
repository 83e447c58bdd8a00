internal import Synchronization

/// The only source of random numbers: cryptographic in production, seeded in tests.
package protocol Randomness: Sendable {
    func next() -> UInt64
}

extension Randomness {
    package func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let word = next()
            bytes.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) })
        }
        return Array(bytes.prefix(count))
    }

    /// A random UUID (version 4, RFC 9562 §5.4).
    package func identifier<Of>() -> Identifier<Of> {
        Identifier(high: next() & ~0xF000 | 0x4000, low: next() & ~(0b11 << 62) | 0b10 << 62)
    }

    /// A UUID that sorts by time (version 7, RFC 9562 §5.7), so that messages are stored in the order of their
    /// creation.
    package func timeOrderedIdentifier<Of>(at now: Timestamp) -> Identifier<Of> {
        let time = UInt64(bitPattern: now.milliseconds) << 16
        return Identifier(high: time | next() & 0x0FFF | 0x7000, low: next() & ~(0b11 << 62) | 0b10 << 62)
    }

    /// A positive number of 62 random bits.
    package func positiveNumber() -> Int64 { Int64(next() >> 2) + 1 }
}

/// Creates message ids that sort by time. No two ids of this process have the same first half, which is the id of a
/// Pivotal schedule.
package final class MessageIDs: Sendable {
    /// The first halves in use. Requests of several milliseconds run at once, so the time alone does not show which
    /// halves could still be drawn again.
    private struct Taken {
        var recent: Set<UInt64> = []
        var former: Set<UInt64> = []
    }

    private static let recentMax = 16_384

    /// The random bits of the first half (`rand_a` in RFC 9562 §5.7).
    private static let randomBits: UInt64 = 0x0FFF

    private let taken = Mutex(Taken())

    package init() {}

    package func next(at now: Timestamp, _ randomness: any Randomness) -> MessageID {
        let drawn: MessageID = randomness.timeOrderedIdentifier(at: now)
        return taken.withLock { taken in
            if taken.recent.count >= Self.recentMax { taken = Taken(former: taken.recent) }
            var half = drawn.high
            // All 4,096 of one millisecond may be taken.
            var attempts = 0
            while attempts <= Self.randomBits, taken.recent.contains(half) || taken.former.contains(half) {
                half = half & ~Self.randomBits | (half + 1) & Self.randomBits
                attempts += 1
            }
            taken.recent.insert(half)
            return MessageID(high: half, low: drawn.low)
        }
    }
}
