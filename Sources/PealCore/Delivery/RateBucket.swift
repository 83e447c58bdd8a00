/// What a rate limit allows now.
package struct RateGrant: Sendable, Hashable {
    /// How many notifications may be sent now; 0 if it must wait.
    package let count: Int
    /// When more may be sent; now if `count` is not 0.
    package let readyAt: Timestamp
    /// If it must wait: for how long its next grant uses up the rate. The next waiter asks that much later.
    package let takes: Duration
    /// If it must wait: whether it waits for the rate of the app and not for that of the message.
    package let isOfApp: Bool

    package init(count: Int, readyAt: Timestamp, takes: Duration = .zero, isOfApp: Bool = false) {
        self.count = count
        self.readyAt = readyAt
        self.takes = takes
        self.isOfApp = isOfApp
    }
}

/// A rate limit (GCRA, ITU-T I.371): notifications are allowed at even intervals, in blocks of 100 ms. A request that
/// is late by at most a block catches up. Any second allows at most the rate and two blocks.
package struct RateBucket: Sendable, Hashable {
    private static let blockMicroseconds = 100_000.0

    package let perSecond: Int64
    /// When the time of the notifications granted so far ends, in microseconds since 1970.
    package var busyUntil: Int64

    package init(perSecond: Int64, busyUntil: Int64) {
        self.perSecond = perSecond
        self.busyUntil = busyUntil
    }

    private var interval: Double { 1_000_000 / Double(perSecond) }
    private var block: Double { max(Self.blockMicroseconds, interval) }

    /// How many of `wanted` may be sent now. Fewer than a block are granted only if fewer are wanted.
    package func room(for wanted: Int, at now: Timestamp) -> RateGrant {
        let room = Double(now.milliseconds * 1000 - start(at: now)) + block
        let least = min(Double(wanted), max(1, (block / interval).rounded(.down)))
        // Clocks count milliseconds, so half a microsecond is negligible.
        guard room + 0.5 >= least * interval else {
            return RateGrant(
                count: 0, readyAt: now + .milliseconds(Int64(((least * interval - room) / 1000).rounded(.up))),
                takes: .microseconds(Int64((least * interval).rounded(.up))))
        }
        return RateGrant(count: min(wanted, Int(((room + 0.5) / interval).rounded(.down))), readyAt: now)
    }

    package mutating func take(_ count: Int, at now: Timestamp) {
        busyUntil = start(at: now) + Int64((Double(count) * interval).rounded())
    }

    /// Grants reach at most a block ahead; servers' clocks may differ.
    private static let aheadMicroseconds: Int64 = 5_000_000

    /// The instant from which the next ones count: now, if nothing was granted recently, or if the clock was set back.
    private func start(at now: Timestamp) -> Int64 {
        let now = now.milliseconds * 1000
        guard busyUntil <= now + Self.aheadMicroseconds else { return now }
        return busyUntil < now - Int64(block) ? now : busyUntil
    }
}
