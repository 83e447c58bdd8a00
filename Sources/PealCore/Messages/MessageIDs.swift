internal import Synchronization

/// Gives messages ids that sort by time, and of which no two of this process have the same first half: Pivotal's
/// schedules are numbered by it.
package final class MessageIDs: Sendable {
    private struct Taken {
        var at = Timestamp(milliseconds: 0)
        var halves: Set<UInt64> = []
    }

    /// The random bits of the first half (`rand_a` in RFC 9562 §5.7).
    private static let randomBits: UInt64 = 0x0FFF

    private let taken = Mutex(Taken())

    package init() {}

    package func next(at now: Timestamp, _ randomness: any Randomness) -> MessageID {
        let drawn: MessageID = randomness.timeOrderedIdentifier(at: now)
        return taken.withLock { taken in
            if taken.at != now || taken.halves.count > Self.randomBits { taken = Taken(at: now) }
            var half = drawn.high
            while !taken.halves.insert(half).inserted {
                half = half & ~Self.randomBits | (half + 1) & Self.randomBits
            }
            return MessageID(high: half, low: drawn.low)
        }
    }
}
