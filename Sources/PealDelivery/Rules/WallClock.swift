internal import Foundation
package import PealCore

/// Converts between instants and the local times of one time zone, which are represented as if they were UTC.
struct WallClock: Sendable {
    private let zone: TimeZone

    /// - Parameter name: in the time zone database (IANA); nil if that does not contain it.
    init?(_ name: String) {
        guard let zone = TimeZone(identifier: name) else { return nil }
        self.zone = zone
    }

    private init(_ zone: TimeZone) { self.zone = zone }

    static let utc = WallClock(.gmt)

    /// What clocks show at `instant`.
    func reading(at instant: Timestamp) -> Timestamp { instant + offset(at: instant) }

    /// When clocks first show `reading`. If they skip it, the instant is as long after the skip as `reading` is after
    /// the skip's start (RFC 5545 §3.3.5).
    func instant(of reading: Timestamp) -> Timestamp {
        let (before, after) = (offset(at: reading - .seconds(86_400)), offset(at: reading + .seconds(86_400)))
        let first = reading - before
        guard before != after, offset(at: first) != before else { return first }
        let second = reading - after
        return offset(at: second) == after ? second : first
    }

    /// The end of the quiet hours; nil if they do not contain `instant`.
    func end(of hours: QuietHours, at instant: Timestamp) -> Timestamp? {
        let now = reading(at: instant)
        let midnight = now.floored(toSeconds: 86_400)
        let minute = Int((now - midnight).milliseconds / 60_000)
        guard hours.contain(minute: minute) else { return nil }
        var end = midnight + .seconds(Int64(hours.to) * 60)
        if end <= now { end = end + .seconds(86_400) }
        let due = firstInstant(notBefore: end)
        // In an hour that is repeated, the end has passed once already.
        return due > instant ? due : end - offset(at: instant)
    }

    /// When clocks first show `reading` or later: if they skip it, the end of the skip.
    private func firstInstant(notBefore reading: Timestamp) -> Timestamp {
        let due = instant(of: reading)
        guard self.reading(at: due) != reading else { return due }
        var (low, high) = (due - .seconds(86_400), due)
        while (high - low).milliseconds > 1 {
            let middle = low + (high - low) / 2
            if self.reading(at: middle) < reading { low = middle } else { high = middle }
        }
        return high
    }

    func offset(at instant: Timestamp) -> Duration {
        let date = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
        return .seconds(Int64(zone.secondsFromGMT(for: date)))
    }
}

extension WallClock {
    /// The clock of the first known time zone, or else of UTC.
    fileprivate static func first(of zones: [String]) -> WallClock {
        zones.lazy.compactMap { WallClock($0) }.first ?? .utc
    }
}

extension QuietClock {
    /// Uses the system's time zone database.
    static let system = QuietClock { hours, zones, now in WallClock.first(of: zones).end(of: hours, at: now) }
}

extension LocalClock {
    /// Uses the system's time zone database.
    package static let system = LocalClock { zones, instant in WallClock.first(of: zones).offset(at: instant) }
}
