/// How many devices ended how. `pending` is an estimate until their window has been read.
package struct OutcomeCounts: Sendable, Hashable {
    package var accepted = 0
    package var rejected = 0
    package var retired = 0
    package var expired = 0
    package var suppressed = 0
    package var pending = 0
    /// Devices per named reason, as `BadDeviceToken` or `NoCredential`.
    package var reasons: [String: Int] = [:]

    package init() {}

    package var settled: Int { accepted + rejected + retired + expired + suppressed }
    package var devices: Int { settled + pending }

    package mutating func add(_ other: OutcomeCounts) {
        accepted += other.accepted
        rejected += other.rejected
        retired += other.retired
        expired += other.expired
        suppressed += other.suppressed
        pending += other.pending
        reasons.merge(other.reasons, uniquingKeysWith: +)
    }

    /// Counts `count` devices that ended in `outcome`; `moved` is no end and counts nothing.
    package mutating func count(_ outcome: Outcome, _ count: Int = 1, reason: String? = nil) {
        switch outcome {
        case .accepted: accepted += count
        case .rejected: rejected += count
        case .retired: retired += count
        case .expired: expired += count
        case .suppressed: suppressed += count
        case .moved: return
        }
        if let reason { reasons[reason, default: 0] += count }
    }
}
