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

/// The server's clock as the device estimates it: the difference to its own, learned from every response.
package struct ServerClock: Sendable, Hashable, Codable {
    /// Milliseconds that the server is ahead of the wall clock.
    package private(set) var ahead: Int64 = 0

    package init() {}

    /// Learns from a response. The time when the request was sent is used, so that the server's time is never
    /// underestimated: deadlines are kept early rather than late.
    package mutating func learn(_ now: WireTime, sentAt wall: Int64) { ahead = now.milliseconds - wall }

    /// The server's time when the wall clock shows this.
    package func now(_ wall: Int64) -> WireTime { WireTime(milliseconds: wall + ahead) }
}
