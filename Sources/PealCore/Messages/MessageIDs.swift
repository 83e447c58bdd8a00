internal import Synchronization

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
