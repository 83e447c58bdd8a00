/// The counters of one network.
struct ProviderTally {
    var accepted = 0
    var devices = 0
    var devicesWithMoreThanOne = 0
    var duplicates = 0
    var refused: [String: Int] = [:]
    var disturbed: [String: Int] = [:]

    /// Requests that were answered, or disturbed by a fault.
    var received: Int { accepted + refused.values.reduce(0, +) + disturbed.values.reduce(0, +) }

    /// Counts `name`, or `other` when there are too many names.
    static func count(_ name: String, in counts: inout [String: Int]) {
        let isKnown = counts[name] != nil || counts.count < SimulatorLimits.reasonsMax
        counts[isKnown ? name : "other", default: 0] += 1
    }

    /// Adds the counters of `other`.
    mutating func add(_ other: ProviderTally) {
        accepted += other.accepted
        devices += other.devices
        devicesWithMoreThanOne += other.devicesWithMoreThanOne
        duplicates += other.duplicates
        refused.merge(other.refused, uniquingKeysWith: +)
        disturbed.merge(other.disturbed, uniquingKeysWith: +)
    }

    /// The counters as members of a JSON object.
    var members: [(String, String)] {
        [
            ("received", String(received)), ("accepted", String(accepted)), ("devices", String(devices)),
            ("duplicates", String(duplicates)), ("devices_with_more_than_one", String(devicesWithMoreThanOne)),
            ("refused", JSONText.counts(refused)), ("disturbed", JSONText.counts(disturbed)),
        ]
    }
}
