import PealCore
import Testing

@testable import PealProviders

@Suite("What waits for single requests")
struct RequestQueueTests {
    /// Everything that `queue` hands out at `uptime`, as `order.index`.
    private func drain(
        _ queue: inout RequestQueue, _ orders: [PageOrder], uptime: Duration = .zero
    ) -> [String] {
        var refusals: [RefusedDevices] = []
        var out: [String] = []
        while let errand = queue.pull(uptime: uptime, refusals: &refusals) {
            let order = orders.firstIndex { $0 === errand.subject.order } ?? -1
            out.append("\(order).\(errand.subject.index)")
        }
        for refusal in refusals { refusal.deliver() }
        return out
    }

    private func order(_ count: Int, _ lane: Slice.Lane = .bulk) -> PageOrder {
        requestOrder((0..<count).map { "a/\($0)" }, lane: lane)
    }

    @Test("orders take turns, device by device, and direct ones go first")
    func turns() {
        let orders = [order(3), order(2), order(1, .direct)]
        var queue = RequestQueue()
        for order in orders { queue.append(order, origins: Array(repeating: "a", count: order.page.count)) }
        #expect(drain(&queue, orders) == ["2.0", "0.0", "1.0", "0.1", "1.1", "0.2"])
        #expect(queue.isEmpty && queue.inFlight == 6)
    }

    @Test("an origin has no more than its share on the wire, and gets its next as one comes back")
    func perOrigin() {
        let page = order(6)
        var queue = RequestQueue(.init(inFlightMax: 16, perOriginMax: 2))
        queue.append(page, origins: ["a", "a", "a", "b", "a", "b"])
        #expect(drain(&queue, [page]) == ["0.0", "0.3", "0.1", "0.5"])
        queue.complete(
            .init(subject: .init(order: page, index: 0), origin: "a"), hasReply: true, uptime: .zero)
        #expect(drain(&queue, [page]) == ["0.2"])
        #expect(!queue.isEmpty)
    }

    @Test("bulk orders leave an eighth of each limit to direct ones")
    func spared() {
        let orders = [order(30), order(30, .direct)]
        var queue = RequestQueue(.init(inFlightMax: 64, perOriginMax: 16))
        queue.append(orders[0], origins: Array(repeating: "a", count: 30))
        #expect(drain(&queue, orders).count == 14)
        queue.append(orders[1], origins: Array(repeating: "a", count: 30))
        #expect(drain(&queue, orders) == ["1.0", "1.1"])

        let many = [order(64), order(64, .direct)]
        queue = RequestQueue(.init(inFlightMax: 16, perOriginMax: 16))
        queue.append(many[0], origins: (0..<64).map { "\($0)" })
        #expect(drain(&queue, many).count == 14)
        queue.append(many[1], origins: (64..<128).map { "\($0)" })
        #expect(drain(&queue, many) == ["1.0", "1.1"])
    }

    @Test("however many origins are silent, some of the bound is left for the next", arguments: [1, 2, 3, 7])
    func silence(count: Int) {
        let silent = order(200 * count)
        let healthy = order(10)
        var queue = RequestQueue()
        queue.append(silent, origins: (0..<200 * count).map { "silent\($0 % count)" })
        _ = drain(&queue, [silent])
        queue.append(healthy, origins: Array(repeating: "healthy", count: 10))
        #expect(drain(&queue, [healthy]).count >= min(10, 112 / (count + 1) / 2))
    }

    @Test("untrusted hosts, however many, leave half of the bound to the others")
    func untrusted() {
        let orders = [order(100), order(100)]
        var queue = RequestQueue(.init(inFlightMax: 64, perOriginMax: 64))
        queue.append(orders[0], origins: (0..<100).map { "silent\($0)" }, isUntrusted: { $0 != "listed" })
        #expect(drain(&queue, orders).count == 28)
        queue.append(orders[1], origins: Array(repeating: "listed", count: 100), isUntrusted: { $0 != "listed" })
        #expect(drain(&queue, orders) == (0..<14).map { "1.\($0)" })
        queue.complete(
            .init(subject: .init(order: orders[0], index: 0), origin: "silent0", isUntrusted: true), hasReply: false,
            uptime: .zero)
        #expect(drain(&queue, orders) == ["0.28"])
    }

    @Test("untrusted hosts take turns with the others")
    func untrustedTurns() {
        let orders = [order(3), order(3)]
        var queue = RequestQueue()
        queue.append(orders[0], origins: ["u0", "u1", "u2"], isUntrusted: { _ in true })
        queue.append(orders[1], origins: ["a", "a", "a"])
        #expect(drain(&queue, orders) == ["1.0", "0.0", "1.1", "0.1", "1.2", "0.2"])
        #expect(queue.isEmpty)
    }

    @Test("after the deadline, only devices at trusted hosts say something about the route")
    func untrustedDeadline() {
        let page = order(2)
        var queue = RequestQueue()
        queue.append(page, origins: ["listed", "other"], isUntrusted: { $0 != "listed" })
        for refusal in queue.sweep(uptime: page.deadline + .seconds(1)) { refusal.deliver() }
        let answers = page.flight.answers.exceptions
        #expect(answers.mapValues(\.reason) == [0: "Deadline", 1: "Deadline"])
        #expect(answers.mapValues(\.isOfHostAlone) == [0: false, 1: true])
    }

    @Test("a held origin's devices are answered, until the hold is over")
    func holds() {
        let orders = [order(2), order(1), order(1)]
        var queue = RequestQueue()
        queue.hold("a", for: .seconds(10), uptime: .zero)
        queue.hold("a", for: .seconds(5), uptime: .zero)
        queue.append(orders[0], origins: ["a", "b"])
        #expect(drain(&queue, orders, uptime: .seconds(4)) == ["0.1"])
        let held = orders[0].flight.answers.answer(0)
        #expect(held == ProviderAnswer(.held(after: .seconds(6)), reason: "OriginHeld"))
        queue.append(orders[1], origins: ["a"])
        #expect(drain(&queue, orders, uptime: .seconds(10)) == ["1.0"])
    }

    @Test("remembers a bounded number of held origins")
    func heldMax() {
        var queue = RequestQueue()
        for number in 0...Limits.outboundOriginsHeldMax {
            queue.hold("\(number)", for: .seconds(10), uptime: .zero)
        }
        let page = order(2)
        queue.append(page, origins: ["0", "\(Limits.outboundOriginsHeldMax)"])
        #expect(drain(&queue, [page]) == ["0.1"])
        // A host that is held already may be held longer.
        queue.hold("0", for: .seconds(20), uptime: .zero)
        let longer = order(1)
        queue.append(longer, origins: ["0"])
        #expect(drain(&queue, [longer], uptime: .seconds(11)) == [])
        queue.hold("late", for: .seconds(10), uptime: .seconds(11))
        let next = order(1)
        queue.append(next, origins: ["late"])
        #expect(drain(&queue, [next], uptime: .seconds(12)) == [])
    }

    @Test("however many untrusted hosts ask for a pause, one of the others gets its own")
    func heldUntrusted() {
        var queue = RequestQueue()
        for number in 0...Limits.outboundOriginsHeldMax {
            queue.hold("\(number)", for: .seconds(10), isUntrusted: true, uptime: .zero)
        }
        queue.hold("listed", for: .seconds(10), uptime: .zero)
        let page = order(2)
        queue.append(page, origins: ["listed", "\(Limits.outboundOriginsHeldMax)"])
        #expect(drain(&queue, [page]) == ["0.1"])
    }

    @Test("a peer is alone in its silence while another answered just now")
    func alone() {
        var queue = RequestQueue()
        #expect(!queue.isAlone("a", uptime: .zero))
        let page = order(1)
        queue.append(page, origins: ["b"])
        _ = drain(&queue, [page])
        queue.complete(.init(subject: .init(order: page, index: 0), origin: "b"), hasReply: true, uptime: .seconds(1))
        #expect(queue.isAlone("a", uptime: .seconds(30)))
        #expect(!queue.isAlone("b", uptime: .seconds(30)))
        #expect(!queue.isAlone("a", uptime: .seconds(31)))
    }
}
