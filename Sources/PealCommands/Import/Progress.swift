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

    /// - Parameter counts: as `10 refused`.
    mutating func tell(_ devices: Int, _ counts: String = "", isLast: Bool = false) {
        let now = time.uptime
        guard isLast || now - toldAt >= .seconds(Limits.importProgressSeconds) else { return }
        toldAt = now
        let rate = seconds > 0 ? ", \(Int(Double(devices) / seconds))/s" : ""
        Surroundings.current.warn("\(devices) devices" + (counts.isEmpty ? "" : ", \(counts)") + rate)
    }
}
