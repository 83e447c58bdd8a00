import PealCore

/// Compares which notifications reached which device, as the push network recorded it, with what the servers report
/// about their messages.
package struct TortureLedger: Sendable {
    /// What the servers report about a message that has ended.
    package struct Counts: Sendable, Hashable {
        package var devices = 0
        package var accepted = 0
        package var rejected = 0
        package var retired = 0
        package var expired = 0
        package var suppressed = 0
        package var pending = 0
        package var isFinal = false
        /// The message's state, as the API names it.
        package var state = ""
        /// How the message ended before its audience was determined, so that no device is counted.
        package var endUnplanned: UnplannedEnd?

        package init() {}

        var summary: String { "\(state), \(devices) devices, \(accepted) accepted, \(retired) retired" }

        package var sum: Int { accepted + rejected + retired + expired + suppressed + pending }
    }

    /// Expired, or cancelled by its author.
    package enum UnplannedEnd: String, Sendable, Hashable {
        case expired, cancelled
    }

    private struct Pair {
        var count = 0
        var ids: Set<String> = []
    }

    private let schedule: TortureSchedule
    /// By message and device.
    private var pairs: [Int: [Int: Pair]] = [:]
    private var reports: [Int: Counts] = [:]
    /// Requests that the push network ended without an answer although the device had the notification.
    package var lostAnswers = 0
    package var closedConnections = 0
    package var crashes = 0
    package var pauses = 0

    package init(_ schedule: TortureSchedule) { self.schedule = schedule }

    /// Records that `device` received `message` under `id`, the `apns-id`.
    package mutating func received(_ message: Int, device: Int, id: String) {
        pairs[message, default: [:]][device, default: Pair()].count += 1
        pairs[message]?[device]?.ids.insert(id)
    }

    package mutating func reported(_ message: Int, _ counts: Counts) { reports[message] = counts }

    /// Whether every device that can receive the message has it.
    package func isComplete(_ message: TortureSchedule.Message) -> Bool {
        let living = schedule.devices(of: message.audience).count { !schedule.isDead($0) }
        return pairs[message.number]?.count ?? 0 >= living
    }

    /// The most requests in flight on one connection to the push network.
    private static let streamsMax = 1000

    /// How many devices may have a message twice: those in flight at every crash or pause, those on a connection that
    /// was closed, and those whose answer was lost.
    package func duplicatesMax(pagesInFlight: Int) -> Int {
        (crashes + pauses) * (pagesInFlight * Limits.pageDevicesPerSlot + Limits.pageDevicesMax)
            + closedConnections * Self.streamsMax + lostAnswers
    }

    package struct Verdict: Sendable, Hashable {
        package var accepted = 0
        package var delivered = 0
        package var rejected = 0
        package var expired = 0
        package var suppressed = 0
        package var lost = 0
        package var duplicates = 0
        package var duplicatesMax = 0
        /// The violations, as sentences.
        package var violations: [String] = []
    }

    package func verdict(pagesInFlight: Int) -> Verdict {
        var verdict = Verdict()
        for message in schedule.messages { judge(message, &verdict) }
        verdict.duplicatesMax = duplicatesMax(pagesInFlight: pagesInFlight)
        if verdict.lost > 0 { verdict.violations.append("\(verdict.lost) notifications were lost") }
        if verdict.duplicates > verdict.duplicatesMax {
            verdict.violations.append("\(verdict.duplicates) duplicates, at most \(verdict.duplicatesMax) are allowed")
        }
        return verdict
    }

    private func judge(_ message: TortureSchedule.Message, _ verdict: inout Verdict) {
        let name = "message \(message.number)"
        let audience = Set(schedule.devices(of: message.audience))
        let received = pairs[message.number] ?? [:]
        guard let counts = reports[message.number] else {
            verdict.violations.append("\(name) was never accepted")
            return
        }
        // A device that an earlier message retired is not in the audience of a later one.
        let living = audience.count { !schedule.isDead($0) }
        let delivered = received.keys.count { audience.contains($0) }
        verdict.accepted += living
        verdict.delivered += delivered
        // Only devices that do not have it: a device may have it although its answer was lost and the message expired.
        var left = max(0, living - delivered)
        func take(_ count: Int) -> Int {
            let taken = min(left, count)
            left -= taken
            return taken
        }
        verdict.rejected += take(counts.rejected)
        verdict.expired += take(counts.endUnplanned == .expired ? left : counts.expired)
        verdict.suppressed += take(counts.endUnplanned == .cancelled ? left : counts.suppressed)
        verdict.lost += left
        verdict.duplicates += received.values.reduce(0) { $0 + $1.count - 1 }

        var faults: [String] = []
        if left > 0 { faults.append("was lost for \(left) of \(living) devices: \(counts.summary)") }
        if !counts.isFinal { faults.append("did not end") }
        if counts.sum != counts.devices { faults.append("has counts of \(counts.sum) for \(counts.devices) devices") }
        if counts.accepted > delivered {
            faults.append("counts \(counts.accepted) as accepted, and \(delivered) devices have it")
        }
        let outsiders = received.count - delivered
        if outsiders > 0 { faults.append("reached \(outsiders) devices outside its audience") }
        let renamed = received.values.count { $0.ids.count > 1 }
        if renamed > 0 { faults.append("reached \(renamed) devices under more than one apns-id") }
        verdict.violations += faults.map { "\(name) \($0)" }
    }
}
