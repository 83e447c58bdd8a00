internal import PealCore

/// Reads when a push starts and ends.
struct PivotalTiming {
    /// nil = at once.
    let startAt: Timestamp?
    /// As given; nil = the platforms' own.
    let expiresAt: Timestamp?
    /// Whether `scheduleIn` looks like milliseconds though it means seconds.
    let isSuspicious: Bool

    private static let monthSeconds: Int64 = 30 * 24 * 3600

    /// - Throws: `invalid_field` when both schedule fields are set, or a scheduled push would end before it starts.
    init(_ body: Tolerance, settings: AppSettings.Pivotal, now: Timestamp) throws(PealError) {
        let at = try body.milliseconds("scheduleAt")
        var delay = try body.integer("scheduleIn").flatMap { $0 == 0 ? nil : $0 }
        if at != nil, delay != nil {
            throw .invalid("scheduleIn", "scheduleAt and scheduleIn must not both be set")
        }
        isSuspicious = delay.map { $0 > Self.monthSeconds && $0.isMultiple(of: 1000) } ?? false
        if isSuspicious, settings.scheduleInMillisHeuristic { delay = delay.map { $0 / 1000 } }
        if let delay, !(0...Limits.ttlSecondsMax).contains(delay) {
            throw .invalid("scheduleIn", "scheduleIn must be 0 to \(Limits.ttlSecondsMax) seconds")
        }
        let due = at ?? delay.map { now + .seconds($0) }
        let start = due.flatMap { $0 - now > .seconds(Limits.pivotalImmediateSeconds) ? $0 : nil }
        expiresAt = try body.milliseconds("expiryTime")
        if let start, let expiresAt, expiresAt <= start {
            throw .invalid("expiryTime", "expiryTime must be later than the start")
        }
        startAt = start
    }
}
