/// Counts requests: in total, by network, by reason and by device. It keeps no notifications, so it can count for days.
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

    /// Counts a notification to `device`, both given as fingerprints. With `isExact` every duplicate is recognized;
    /// otherwise only a repetition of the device's last notification.
    mutating func accept(device: UInt64, id: UInt64, provider: PushProvider, isExact: Bool) {
        let index = provider.index
        tallies[index].accepted += 1
        if isExact { countDuplicate(Fingerprint.fold(device, id), index) }
        guard devices.count < SimulatorLimits.devicesCountedMax || devices[device] != nil else { return }
        let lastID = UInt32(truncatingIfNeeded: id)
        // A single dictionary access: this is the most expensive line of fast mode.
        let (before, isRepeat) = update(&devices[device, default: DeviceCount()], lastID)
        if before == 0 { tallies[index].devices += 1 }
        if before == 1 { tallies[index].devicesWithMoreThanOne += 1 }
        if isRepeat && !isExact { tallies[index].duplicates += 1 }
    }

    private func update(_ count: inout DeviceCount, _ lastID: UInt32) -> (before: UInt32, isRepeat: Bool) {
        let before = count.accepted
        let isRepeat = before > 0 && count.lastID == lastID
        if count.accepted < .max { count.accepted += 1 }
        count.lastID = lastID
        return (before, isRepeat)
    }

    private mutating func countDuplicate(_ pair: UInt64, _ index: Int) {
        if pairs.contains(pair) {
            tallies[index].duplicates += 1
        } else if pairs.count < SimulatorLimits.pairsRememberedMax {
            pairs.insert(pair)
        }
    }

    /// Counts a refused request.
    mutating func refuse(_ reason: String, provider: PushProvider) {
        ProviderTally.count(reason, in: &tallies[provider.index].refused)
    }

    /// Counts a warning about an accepted request.
    mutating func warn(_ warning: String, provider: PushProvider) {
        ProviderTally.count(warning, in: &tallies[provider.index].warnings)
    }

    /// Counts a request that a fault left unanswered, by kind of fault.
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
    var warnings: [String: Int] = [:]

    /// Requests that were answered, or affected by a fault.
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
        warnings.merge(other.warnings, uniquingKeysWith: +)
    }

    /// The counters as members of a JSON object.
    var members: [(String, String)] {
        [
            ("received", String(received)), ("accepted", String(accepted)), ("devices", String(devices)),
            ("duplicates", String(duplicates)), ("devices_with_more_than_one", String(devicesWithMoreThanOne)),
            ("refused", JSONText.counts(refused)), ("disturbed", JSONText.counts(disturbed)),
            ("warnings", JSONText.counts(warnings)),
        ]
    }
}

/// The latest notifications in fast mode, in storage that is allocated once: keeping one allocates nothing.
struct RecentRing {
    private struct Slot {
        var at: Int64 = 0
        var provider = PushProvider(index: 0)
        var environment = PushEnvironment.production
        var deviceBytes = 0
        var idBytes = 0
        var payloadBytes = 0
    }

    private static let deviceRoom = SimulatorLimits.recentDeviceBytesMax
    private static let idRoom = 64
    private static let room = deviceRoom + idRoom + SimulatorLimits.recentPayloadBytesMax

    private var slots: [Slot] = []
    private var storage: [UInt8] = []
    private var written = 0

    /// Keeps a notification, which replaces the oldest. Parts that are too long are truncated.
    mutating func keep(
        at: Int64, provider: PushProvider, environment: PushEnvironment, device: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer
    ) {
        if slots.isEmpty {
            slots = Array(repeating: Slot(), count: SimulatorLimits.recentItemsMax)
            storage = Array(repeating: 0, count: SimulatorLimits.recentItemsMax * Self.room)
        }
        let index = written % SimulatorLimits.recentItemsMax
        written += 1
        let start = index * Self.room
        slots[index].at = at
        slots[index].provider = provider
        slots[index].environment = environment
        slots[index].deviceBytes = copy(device, to: start, room: Self.deviceRoom)
        slots[index].idBytes = copy(id, to: start + Self.deviceRoom, room: Self.idRoom)
        slots[index].payloadBytes = copy(
            payload, to: start + Self.deviceRoom + Self.idRoom, room: SimulatorLimits.recentPayloadBytesMax)
    }

    /// Keeps an item.
    mutating func keep(_ item: InboxItem) {
        var (device, id) = (item.device, item.id)
        device.withUTF8 { device in
            id.withUTF8 { id in
                item.payload.withUnsafeBytes { payload in
                    keep(
                        at: item.at, provider: item.provider, environment: item.environment,
                        device: UnsafeRawBufferPointer(device), id: UnsafeRawBufferPointer(id), payload: payload)
                }
            }
        }
    }

    private mutating func copy(_ bytes: UnsafeRawBufferPointer, to start: Int, room: Int) -> Int {
        let count = min(bytes.count, room)
        storage.withUnsafeMutableBytes { target in
            target[start..<(start + count)].copyBytes(from: bytes.prefix(count))
        }
        return count
    }

    /// The kept items, oldest first.
    func items() -> [InboxItem] {
        let first = max(0, written - SimulatorLimits.recentItemsMax)
        return (first..<written).map { number in
            let index = number % SimulatorLimits.recentItemsMax
            let slot = slots[index]
            let start = index * Self.room
            let id = start + Self.deviceRoom
            let payload = id + Self.idRoom
            let device = String(decoding: storage[start..<(start + slot.deviceBytes)], as: UTF8.self)
            return InboxItem(
                sequence: number + 1, at: slot.at, provider: slot.provider, environment: slot.environment,
                device: slot.provider.network.ignoresDeviceCase ? device.lowercased() : device,
                id: String(decoding: storage[id..<(id + slot.idBytes)], as: UTF8.self), headersJSON: "{}",
                payload: slot.provider.network.payload(
                    ofBody: Array(storage[payload..<(payload + slot.payloadBytes)])))
        }
    }
}
