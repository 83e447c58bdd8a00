internal import PealCore

/// Reports the progress of a long command on standard error every few seconds.
struct Progress {
    private let time: any TimeSource
    private let start: Duration
    private var reportedAt: Duration

    init(_ time: any TimeSource) {
        self.time = time
        start = time.uptime
        reportedAt = start
    }

    var seconds: Double { (time.uptime - start) / .seconds(1) }

    /// - Parameters:
    ///   - counts: other counts, such as `10 refused`.
    ///   - share: how much is done, from 0 to 1; nil if that is unknown. It is not shown if it is at least 1 before
    ///     the end, because then it is wrong.
    ///   - what: what `count` counts, in the singular.
    mutating func report(
        _ count: Int, _ counts: String = "", share: Double? = nil, isLast: Bool = false, what: String = "device"
    ) {
        let now = time.uptime
        guard isLast || now - reportedAt >= .seconds(Limits.importProgressSeconds) else { return }
        reportedAt = now
        let rate = seconds > 0 ? Double(count) / seconds : 0
        let share = share.flatMap { isLast || $0 >= 1 ? nil : $0 }
        let left = share.flatMap { $0 > 0 ? seconds / $0 * (1 - $0) : nil }
        Surroundings.current.warn(
            Self.line(Spelling.counted(count, what), counts, share: share, rate: rate, left: left))
    }

    /// `5200 of 10000 devices, 10 rejected, 52%, 412/s, 12 s left`.
    /// - Parameter what: what is counted, in the singular.
    static func line(_ count: Int, of total: Int, _ what: String, _ counts: String, rate: Double) -> String {
        let share = total > 0 ? Double(count) / Double(total) : nil
        let left = rate > 0 && count < total ? (Double(total) - Double(count)) / rate : nil
        return line("\(count) of \(Spelling.counted(total, what))", counts, share: share, rate: rate, left: left)
    }

    private static func line(
        _ count: String, _ counts: String, share: Double?, rate: Double, left: Double?
    ) -> String {
        let parts = [
            count, counts, share.map { "\(Int(min(1, max(0, $0)) * 100))%" } ?? "",
            rate > 0 ? "\(Int(min(rate, 1e9)))/s" : "", left.map { "\(duration($0)) left" } ?? "",
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private static func duration(_ seconds: Double) -> String {
        let seconds = Int(min(seconds.rounded(.up), 1e9))
        if seconds < 120 { return "\(seconds) s" }
        return seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
    }
}
