/// Counts what came: in total, by reason, and by device. It holds no notification, so it may count for days.
struct Ledger {
    private struct DeviceCount {
        var accepted: UInt32 = 0
        /// Half of the last notification's fingerprint.
        var lastID: UInt32 = 0
    }

    private var devices: [UInt64: DeviceCount] = [:]
    private var pairs: Set<UInt64> = []
    private(set) var accepted = 0
    private(set) var duplicates = 0
    private(set) var devicesWithMoreThanOne = 0
    private(set) var refused: [String: Int] = [:]
    private(set) var disturbed: [String: Int] = [:]

    /// Requests that were answered, or disturbed by a fault.
    var received: Int {
        accepted + refused.values.reduce(0, +) + disturbed.values.reduce(0, +)
    }

    /// Devices that were given something.
    var deviceCount: Int { devices.count }

    /// Counts a notification of `device` by the fingerprints of both. `isExact` remembers every pair; otherwise only
    /// the device's last notification can be recognised when it comes again.
    mutating func accept(device: UInt64, apnsID: UInt64, isExact: Bool) {
        accepted += 1
        if isExact { countDuplicate(Fingerprint.fold(device, apnsID)) }
        guard devices.count < SimulatorLimits.devicesCountedMax || devices[device] != nil else { return }
        let lastID = UInt32(truncatingIfNeeded: apnsID)
        var isRepeat = false
        var isSecond = false
        // One look into the dictionary: at full speed this is the dearest line of the fast mode.
        update(&devices[device, default: DeviceCount()], lastID, &isRepeat, &isSecond)
        if isSecond { devicesWithMoreThanOne += 1 }
        if isRepeat && !isExact { duplicates += 1 }
    }

    private func update(
        _ count: inout DeviceCount, _ lastID: UInt32, _ isRepeat: inout Bool, _ isSecond: inout Bool
    ) {
        isRepeat = count.accepted > 0 && count.lastID == lastID
        isSecond = count.accepted == 1
        if count.accepted < .max { count.accepted += 1 }
        count.lastID = lastID
    }

    private mutating func countDuplicate(_ pair: UInt64) {
        if pairs.contains(pair) {
            duplicates += 1
        } else if pairs.count < SimulatorLimits.pairsRememberedMax {
            pairs.insert(pair)
        }
    }

    /// Counts a refused request.
    mutating func refuse(_ reason: String) {
        Self.count(reason, in: &refused)
    }

    /// Counts a request that a fault left without an answer, by the kind of fault.
    mutating func disturb(_ kind: String) {
        Self.count(kind, in: &disturbed)
    }

    private static func count(_ name: String, in counts: inout [String: Int]) {
        let isKnown = counts[name] != nil || counts.count < SimulatorLimits.reasonsMax
        counts[isKnown ? name : "other", default: 0] += 1
    }

    /// The answer of `GET /inbox/summary`.
    func json(mode: SimulatorMode) -> String {
        JSONText.object([
            ("mode", JSONText.quoted(mode.rawValue)), ("received", String(received)),
            ("accepted", String(accepted)), ("devices", String(deviceCount)), ("duplicates", String(duplicates)),
            ("devices_with_more_than_one", String(devicesWithMoreThanOne)), ("refused", JSONText.counts(refused)),
            ("disturbed", JSONText.counts(disturbed)),
        ])
    }
}
