/// Counts what came: in total, by network, by reason, and by device. It holds no notification, so it may count for
/// days.
struct Ledger {
    private struct DeviceCount {
        var accepted: UInt32 = 0
        /// Half of the last notification's fingerprint.
        var lastID: UInt32 = 0
    }

    private var devices: [UInt64: DeviceCount] = [:]
    private var pairs: Set<UInt64> = []
    private var tallies = [ProviderTally](repeating: ProviderTally(), count: PushProvider.allCases.count)

    /// The counters of all networks together.
    var total: ProviderTally {
        tallies.reduce(into: ProviderTally()) { $0.add($1) }
    }

    /// Counts a notification of `device` by the fingerprints of both. `isExact` remembers every pair; otherwise only
    /// the device's last notification can be recognised when it comes again.
    mutating func accept(device: UInt64, id: UInt64, provider: PushProvider, isExact: Bool) {
        let place = provider.index
        tallies[place].accepted += 1
        if isExact { countDuplicate(Fingerprint.fold(device, id), place) }
        guard devices.count < SimulatorLimits.devicesCountedMax || devices[device] != nil else { return }
        let lastID = UInt32(truncatingIfNeeded: id)
        // One look into the dictionary: at full speed this is the dearest line of the fast mode.
        let (before, isRepeat) = update(&devices[device, default: DeviceCount()], lastID)
        if before == 0 { tallies[place].devices += 1 }
        if before == 1 { tallies[place].devicesWithMoreThanOne += 1 }
        if isRepeat && !isExact { tallies[place].duplicates += 1 }
    }

    private func update(_ count: inout DeviceCount, _ lastID: UInt32) -> (before: UInt32, isRepeat: Bool) {
        let before = count.accepted
        let isRepeat = before > 0 && count.lastID == lastID
        if count.accepted < .max { count.accepted += 1 }
        count.lastID = lastID
        return (before, isRepeat)
    }

    private mutating func countDuplicate(_ pair: UInt64, _ place: Int) {
        if pairs.contains(pair) {
            tallies[place].duplicates += 1
        } else if pairs.count < SimulatorLimits.pairsRememberedMax {
            pairs.insert(pair)
        }
    }

    /// Counts a refused request.
    mutating func refuse(_ reason: String, provider: PushProvider) {
        ProviderTally.count(reason, in: &tallies[provider.index].refused)
    }

    /// Counts a request that a fault left without an answer, by the kind of fault.
    mutating func disturb(_ kind: String, provider: PushProvider) {
        ProviderTally.count(kind, in: &tallies[provider.index].disturbed)
    }

    /// The answer of `GET /inbox/summary`.
    func json(mode: SimulatorMode) -> String {
        let networks = PushProvider.allCases.map { provider in
            (provider.rawValue, JSONText.object(tallies[provider.index].members))
        }
        return JSONText.object(
            [("mode", JSONText.quoted(mode.rawValue))] + total.members + [("by_provider", JSONText.object(networks))])
    }
}

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
