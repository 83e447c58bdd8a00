internal import Logging
internal import PealCore
internal import Synchronization

/// Writes settlements: receives them from all workers, and hands those of many slices to the store as one write. While
/// one write is under way, the next one gathers.
final class Settler: Sendable {
    private struct Order {
        let settlements: [Settlement]
        let deadline: Duration
        let waiter: CheckedContinuation<[Settlement.Result], Never>
    }

    private struct State {
        var orders: [Order] = []
        var isClosed = false
    }

    private static let settlementsPerWriteMax = 256
    private static let patience: Duration = .seconds(20)

    private let store: any Store
    private let time: any TimeSource
    private let logger: Logger
    private let metrics: DeliveryMetrics
    private let state = Mutex(State())
    private let arrival = Signal()

    init(store: any Store, time: any TimeSource, logger: Logger, metrics: DeliveryMetrics) {
        self.store = store
        self.time = time
        self.logger = logger
        self.metrics = metrics
    }

    /// Returns when the settlements (of one slice, in order) are durable, or refused because the lease is lost. A store
    /// that fails for too long counts as a refusal: the lease runs out, and the devices are sent to again.
    func settle(_ settlements: [Settlement]) async -> [Settlement.Result] {
        await withCheckedContinuation { waiter in
            let order = Order(settlements: settlements, deadline: time.uptime + Self.patience, waiter: waiter)
            let isOpen = state.withLock { state in
                guard !state.isClosed else { return false }
                state.orders.append(order)
                return true
            }
            if isOpen { arrival.set() } else { waiter.resume(returning: Self.refusal(of: order)) }
        }
    }

    /// Runs until closed and empty.
    func run() async {
        while true {
            let (orders, isClosed) = takeOrders()
            if !orders.isEmpty {
                await write(orders)
            } else if isClosed {
                return
            } else {
                await arrival.wait()
            }
        }
    }

    /// Refuses what comes later.
    func close() {
        state.withLock { $0.isClosed = true }
        arrival.set()
    }

    private func takeOrders() -> ([Order], isClosed: Bool) {
        state.withLock { state in
            var count = 0
            let end = state.orders.firstIndex { order in
                count += order.settlements.count
                return count > Self.settlementsPerWriteMax
            }
            let taken = Array(state.orders.prefix(max(1, end ?? state.orders.count)))
            state.orders.removeFirst(taken.count)
            return (taken, state.isClosed)
        }
    }

    private func write(_ orders: [Order]) async {
        let settlements = orders.flatMap(\.settlements)
        let now = time.now
        do {
            let results = try await store.write(.settle) { try $0.settle(settlements, now: now) }
            count(results)
            var start = 0
            for order in orders {
                let end = min(start + order.settlements.count, results.count)
                order.waiter.resume(returning: Array(results[start..<end]))
                start = end
            }
        } catch {
            logger.error("settlements could not be written", metadata: ["error": "\(error)"])
            await putBack(orders)
        }
    }

    /// Keeps the orders that may still be written, in front of the others.
    private func putBack(_ orders: [Order]) async {
        let isClosed = state.withLock { $0.isClosed }
        let now = time.uptime
        let kept = orders.filter { !isClosed && now < $0.deadline }
        for order in orders where isClosed || now >= order.deadline {
            order.waiter.resume(returning: Self.refusal(of: order))
        }
        guard !kept.isEmpty else { return }
        state.withLock { $0.orders.insert(contentsOf: kept, at: 0) }
        try? await time.sleep(for: .milliseconds(250))
    }

    private func count(_ results: [Settlement.Result]) {
        metrics.change { snapshot in
            for result in results {
                if result.isApplied { snapshot.settles += 1 } else { snapshot.settlesRefused += 1 }
            }
        }
    }

    private static func refusal(of order: Order) -> [Settlement.Result] {
        order.settlements.map { _ in Settlement.Result(isApplied: false) }
    }
}
