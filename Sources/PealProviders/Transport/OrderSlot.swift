import PealCore

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

    /// The variant's template as the connection stands.
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
