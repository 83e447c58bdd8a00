import PealCore

/// A page order in a pool, with what connections read of it for each device at hand.
final class OpenOrder: Sendable {
    let order: PageOrder
    let keys: [DeviceKey]
    let addressEnds: [Int32]
    let addresses: [UInt8]
    let variants: [UInt16]
    /// The largest body of the order.
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

    /// Why no further request of the order may begin; nil while one may.
    func refusal(at uptime: Duration) -> Answer? {
        if order.control.isStopped { return .unsent("Stopped") }
        return uptime > order.deadline ? .unsent("Deadline") : nil
    }
}

extension Answer {
    static func unsent(_ reason: String) -> Answer { Answer(.unsent, reason: reason) }
    static func lost(_ reason: String) -> Answer { Answer(.lost, reason: reason) }
}

/// An order on one connection: the templates of its variants, and the answers that came in this read.
final class OrderSlot {
    let open: OpenOrder
    let isInAddresses: Bool
    /// Requests begun here and not yet answered.
    var outstanding = 0
    var accepted: [Int32] = []
    var others: [(index: Int, answer: Answer)] = []
    /// Whether answers came in this read.
    var isTouched = false
    private var templates: [RequestTemplate?]

    init(_ open: OpenOrder) {
        self.open = open
        isInAddresses = open.order.slice.holdsAddresses
        templates = Array(repeating: nil, count: open.order.notifications.count)
    }

    /// The variant's template in the connection's present state.
    @inline(__always)
    func template(
        _ variant: Int, _ encoder: inout HeaderEncoder, _ authorization: Authorization?
    ) -> RequestTemplate {
        if let template = templates[variant], encoder.isCurrent(template, authorization) { return template }
        let template = encoder.template(open.order.notifications[variant], authorization)
        templates[variant] = template
        return template
    }

    /// Notes a run of acceptances.
    func accept(_ tickets: ArraySlice<StreamTicket>) {
        outstanding -= tickets.count
        accepted.append(contentsOf: tickets.lazy.map(\.index))
    }

    /// Hands the answers on.
    func deliver() {
        isTouched = false
        guard !accepted.isEmpty || !others.isEmpty else { return }
        open.order.flight.answer(accepted: accepted, others: others)
        accepted.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
    }
}

/// The orders that a connection works for, by number, so that a stream can name its own without a reference.
struct OrderSlots {
    private var slots: [OrderSlot?] = []
    private var free: [Int32] = []
    private var latest: Int32?

    /// The number of `open`: its present one when it was the last asked for, else a new one.
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

    /// Lets an order go when nothing of it is open here.
    mutating func release(_ number: Int32) {
        guard let slot = self[number], slot.outstanding == 0 else { return }
        slots[Int(number)] = nil
        free.append(number)
        if latest == number { latest = nil }
    }
}
