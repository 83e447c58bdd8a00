/// Counts in the step that begins at `at`, over all messages of an app except tests.
package struct Statistics: Sendable, Hashable {
    package var at: Timestamp
    package var accepted = 0
    package var rejected = 0
    package var retired = 0
    package var expired = 0
    package var suppressed = 0
    package var received = 0
    package var opened = 0
    package var contentOpened = 0

    package init(at: Timestamp, _ counts: OutcomeCounts) {
        self.at = at
        accepted = counts.accepted
        rejected = counts.rejected
        retired = counts.retired
        expired = counts.expired
        suppressed = counts.suppressed
    }

    package init(at: Timestamp) { self.at = at }

    /// Kinds that statistics do not count leave zeros.
    package init(_ receipt: Receipt) {
        at = receipt.at
        switch receipt.kind {
        case .received: received = 1
        case .opened: opened = 1
        case .contentOpened: contentOpened = 1
        case .heartbeat, .shown, .dismissed, .suppressed: break
        }
    }

    /// Adds the counts of `other`; `at` stays.
    package mutating func add(_ other: Statistics) {
        accepted += other.accepted
        rejected += other.rejected
        retired += other.retired
        expired += other.expired
        suppressed += other.suppressed
        received += other.received
        opened += other.opened
        contentOpened += other.contentOpened
    }

    package var isZero: Bool {
        accepted + rejected + retired + expired + suppressed + received + opened + contentOpened == 0
    }
}

extension Statistics {
    /// The length of a step of a time series; see `Timestamp.floored`.
    package enum Step: String, CaseIterable, Sendable {
        case minute, hour, day

        package var seconds: Int64 {
            switch self {
            case .minute: 60
            case .hour: 3600
            case .day: 86_400
            }
        }

        /// The beginning of the step that `at` is in.
        package func start(of at: Timestamp) -> Timestamp { at.floored(toSeconds: seconds) }
    }

    /// The sums of `counted` in each step of `from..<to`, including empty steps.
    package static func series(_ counted: [Statistics], from: Timestamp, to: Timestamp, by step: Step) -> [Statistics] {
        var sums: [Timestamp: Statistics] = [:]
        for item in counted {
            let start = step.start(of: item.at)
            sums[start, default: Statistics(at: start)].add(item)
        }
        var items: [Statistics] = []
        var at = step.start(of: from)
        while at < to {
            items.append(sums[at] ?? Statistics(at: at))
            at = at + .seconds(step.seconds)
        }
        return items
    }
}
