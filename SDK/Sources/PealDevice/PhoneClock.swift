#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif
package import PealWire

/// The clocks of the device. Conformers: the system's; one that tests move.
public protocol PhoneClock: Sendable {
    /// Milliseconds since 1970 by the clock that the person can set.
    var wall: Int64 { get }
    /// Milliseconds since some instant, by a clock that cannot be set and that runs while the device sleeps.
    var uptime: Int64 { get }
}

/// The system's clocks.
public struct SystemClock: PhoneClock {
    /// The clocks of this device.
    public init() {}

    public var wall: Int64 { Self.milliseconds(CLOCK_REALTIME) }

    public var uptime: Int64 {
        #if canImport(Darwin)
            Self.milliseconds(CLOCK_MONOTONIC)
        #else
            Self.milliseconds(CLOCK_BOOTTIME)
        #endif
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

extension PhoneClock {
    /// What both clocks show.
    package var reading: ClockReading { ClockReading(wall: wall, uptime: uptime) }
}

/// What the clocks of the device showed at one instant.
package struct ClockReading: Sendable, Hashable, Codable {
    package let wall: Int64
    package let uptime: Int64

    package init(wall: Int64, uptime: Int64) { (self.wall, self.uptime) = (wall, uptime) }
}

/// The server's clock as the device estimates it, learned from every response.
///
/// Neither clock of the device suffices: if the wall clock is set back by days, receipts would be older than their
/// messages, and the uptime starts at zero when the device restarts. But since the last response, at least as much time
/// has passed as the uptime has grown.
package struct ServerClock: Sendable, Hashable, Codable {
    /// The server's time in the last response, and what the device's clocks showed when its request was sent.
    private struct Learned: Sendable, Hashable, Codable {
        let now: Int64
        let sent: ClockReading
    }

    private var learned: Learned?

    package init() {}

    /// Learns from a response. The time when the request was sent is used, so that the server's time is never
    /// underestimated: deadlines are kept early rather than late.
    package mutating func learn(_ now: WireTime, sentAt sent: ClockReading) {
        learned = Learned(now: now.milliseconds, sent: sent)
    }

    /// The server's time when the device's clocks show this; before the first response, what the wall clock shows.
    package func now(_ reading: ClockReading) -> WireTime {
        guard let learned else { return WireTime(milliseconds: reading.wall) }
        let passed = max(0, reading.wall - learned.sent.wall, reading.uptime - learned.sent.uptime)
        return WireTime(milliseconds: learned.now + passed)
    }
}
