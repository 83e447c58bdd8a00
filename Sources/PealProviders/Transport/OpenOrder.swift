import PealCore

/// A page order in a pool, with the columns that connections read for each device.
final class OpenOrder: Sendable {
    let order: PageOrder
    let keys: [DeviceKey]
    let addressEnds: [Int32]
    let addresses: [UInt8]
    let variants: [UInt16]
    /// The size of the order's largest body, in bytes.
    let bodyBytesMax: Int

    init(_ order: PageOrder) {
        self.order = order
        keys = order.page.keys
        addressEnds = order.page.addressEnds
        addresses = order.page.arena
        variants = order.variants
        let hasGap = order.notifications.contains { $0.body.gap != .none }
        let addressBytes = hasGap ? Self.addressBytesMax(order.page) : 0
        bodyBytesMax = order.notifications.map { $0.body.byteCount(address: addressBytes) }.max() ?? 0
    }

    private static func addressBytesMax(_ page: DevicePage) -> Int {
        var (longest, start) = (0, Int32(0))
        for end in page.addressEnds {
            longest = max(longest, Int(end - start))
            start = end
        }
        return longest
    }

    var count: Int { keys.count }

    /// Why no further request of the order may begin; nil if one may.
    func refusal(at uptime: Duration) -> ProviderAnswer? {
        if order.control.isStopped { return .unsent("Stopped") }
        return uptime > order.deadline ? .unsent("Deadline") : nil
    }
}

/// Devices of an order that get an answer without a request.
struct RefusedDevices: Sendable {
    let order: PageOrder
    let indices: [Int32]
    let answer: ProviderAnswer

    /// Hands the answer to the order's flight. Do not call it under a pool's lock.
    func deliver() {
        order.flight.answer(accepted: [], others: indices.map { (index: Int($0), answer: answer) })
    }
}

extension ProviderAnswer {
    static func unsent(_ reason: String) -> ProviderAnswer { ProviderAnswer(.unsent, reason: reason) }
    static func lost(_ reason: String) -> ProviderAnswer { ProviderAnswer(.lost, reason: reason) }
}

/// An order on one connection: its variants' templates, and the answers that arrived in this read.
final class OrderSlot {
    let open: OpenOrder
    let isInAddresses: Bool
    /// Requests begun on this connection and not yet answered.
    var outstanding = 0
    var accepted: [Int32] = []
    var others: [(index: Int, answer: ProviderAnswer)] = []
    /// Whether answers arrived in this read.
    var isTouched = false
    private var templates: [RequestTemplate?]

    init(_ open: OpenOrder) {
        self.open = open
        isInAddresses = open.order.slice.holdsAddresses
        templates = Array(repeating: nil, count: open.order.notifications.count)
    }

    /// The variant's template for the connection's current header table and authorization.
    @inline(__always)
    func template(
        _ variant: Int, _ encoder: inout HeaderEncoder, _ authorization: Authorization?
    ) -> RequestTemplate {
        if let template = templates[variant], encoder.isCurrent(template, authorization) { return template }
        let template = encoder.template(open.order.notifications[variant], authorization)
        templates[variant] = template
        return template
    }

    /// Whether the notification of the device at `index` has a topic that its author chose.
    func hasOwnTopic(_ index: Int) -> Bool { open.order.notifications[Int(open.variants[index])].hasOwnTopic }

    /// Records a run of acceptances.
    func accept(_ tickets: ArraySlice<StreamTicket>) {
        outstanding -= tickets.count
        accepted.append(contentsOf: tickets.lazy.map(\.index))
    }

    /// Hands the answers to the order's flight.
    func deliver() {
        isTouched = false
        guard !accepted.isEmpty || !others.isEmpty else { return }
        open.order.flight.answer(accepted: accepted, others: others)
        accepted.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
    }
}

/// The orders on one connection, by number, so that a stream can name its order without a reference.
struct OrderSlots {
    private var slots: [OrderSlot?] = []
    private var free: [Int32] = []
    private var latest: Int32?

    /// The number of `open`: its current one if it was the last requested, otherwise a new one.
    mutating func number(for open: OpenOrder) -> Int32 {
        if let latest, let slot = self[latest], slot.open === open { return latest }
        let number: Int32
        if let reused = free.popLast() {
            number = reused
            slots[Int(number)] = OrderSlot(open)
        } else {
            number = Int32(slots.count)
            slots.append(OrderSlot(open))
        }
        latest = number
        return number
    }

    subscript(number: Int32) -> OrderSlot? {
        slots.indices.contains(Int(number)) ? slots[Int(number)] : nil
    }

    /// Drops an order that has no open requests on this connection.
    mutating func release(_ number: Int32) {
        guard let slot = self[number], slot.outstanding == 0 else { return }
        slots[Int(number)] = nil
        free.append(number)
        if latest == number { latest = nil }
    }
}
