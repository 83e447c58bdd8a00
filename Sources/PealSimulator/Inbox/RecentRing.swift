/// The latest notifications of the fast mode, in storage that is taken once: keeping one allocates nothing.
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

    /// Keeps a notification in the place of the oldest. Parts too long for their room are cut off.
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

    /// Keeps a notification that somebody has taken apart already.
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

    /// What is kept, oldest first.
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
