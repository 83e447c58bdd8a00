internal import PealCore

/// Tells on standard error how far a long command is, every few seconds.
struct Progress {
    private let time: any TimeSource
    private let start: Duration
    private var toldAt: Duration

    init(_ time: any TimeSource) {
        self.time = time
        start = time.uptime
        toldAt = start
    }

    var seconds: Double { (time.uptime - start) / .seconds(1) }

    /// - Parameters:
    ///   - counts: as `10 refused`.
    ///   - what: is counted.
    mutating func tell(_ count: Int, _ counts: String = "", isLast: Bool = false, what: String = "devices") {
        let now = time.uptime
        guard isLast || now - toldAt >= .seconds(Limits.importProgressSeconds) else { return }
        toldAt = now
        let rate = seconds > 0 ? ", \(Int(Double(count) / seconds))/s" : ""
        Surroundings.current.warn("\(count) \(what)" + (counts.isEmpty ? "" : ", \(counts)") + rate)
    }
}
