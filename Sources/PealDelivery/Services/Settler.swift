internal import Logging
internal import PealCore
internal import Synchronization

/// Writes settlements: receives them from all workers, and hands those of many slices to the store as one write. While
/// one write is under way, the next one gathers.
///
/// What providers answered is never dropped while the process lives. A group that cannot be written is split, so that
/// one damaged settlement does not block others. A settlement that fails alone twice, although the store accepts other
/// writes, quarantines its slice. While the store fails, everything waits and is retried.
final class Settler: Sendable {
    private struct Order {
        let settlements: [Settlement]
        let waiter: CheckedContinuation<[Settlement.Result], Never>
        /// How often it failed alone for its own reason.
        var faults = 0
        /// Since when it has failed because the store was not available.
        var outageAt: Duration?
        /// Whether it is written alone, because a group with it failed.
        var isAlone = false
        var notBefore: Duration = .zero
    }

    private struct State {
        var orders: [Order] = []
        var isClosed = false
    }

    private enum Step {
        case write([Order])
        case wait(Duration?)
        case end
    }

    private static let settlementsPerWriteMax = 256
    private static let faultsMax = 2
    private static let retryInterval: Duration = .milliseconds(250)
    /// How long a slice that can neither be settled nor quarantined waits for the next attempt.
    private static let stuckInterval: Duration = .seconds(30)

    private let store: any Store
    private let time: any TimeSource
    private let logger: Logger
    private let outages: OutageLog
    private let metrics: DeliveryMetrics
    private let health: StoreHealth
    private let stop: StopSwitch
    private let state = Mutex(State())
    private let arrival = Signal()

    init(
        store: any Store, time: any TimeSource, logger: Logger, outages: OutageLog, metrics: DeliveryMetrics,
        health: StoreHealth, stop: StopSwitch
    ) {
        self.store = store
        self.time = time
        self.logger = logger
        self.outages = outages
        self.metrics = metrics
        self.health = health
        self.stop = stop
    }

    /// Returns when the settlements (of one slice, in order) are durable, refused because the lease is lost, or the
    /// slice is quarantined. It waits as long as the store fails; only the end of the process abandons them.
    func settle(_ settlements: [Settlement]) async -> [Settlement.Result] {
        await withCheckedContinuation { waiter in
            let order = Order(settlements: settlements, waiter: waiter)
            let isOpen = state.withLock { state in
                guard !state.isClosed else { return false }
                state.orders.append(order)
                return true
            }
            if isOpen { arrival.set() } else { Self.refuse(order) }
        }
    }

    /// Runs until closed and empty.
    func run() async {
        while true {
            switch step() {
            case .write(let orders): await write(orders)
            case .wait(let duration?): await arrival.wait(atMost: duration, on: time)
            case .wait(nil): await arrival.wait()
            case .end: return
            }
        }
    }

    /// Refuses later orders.
    func close() {
        state.withLock { $0.isClosed = true }
        arrival.set()
    }

    /// The orders that are due, as many as one write takes; an order that must be tried alone is written by itself.
    private func step() -> Step {
        let now = time.uptime
        return state.withLock { state in
            guard !state.orders.isEmpty else { return state.isClosed ? .end : .wait(nil) }
            var (count, taken, left) = (0, [Order](), [Order]())
            for order in state.orders {
                let fits = taken.isEmpty || count + order.settlements.count <= Self.settlementsPerWriteMax
                if order.notBefore <= now, fits {
                    count += order.settlements.count
                    taken.append(order)
                } else {
                    left.append(order)
                }
            }
            guard !taken.isEmpty else {
                return .wait(left.map(\.notBefore).min().map { max($0 - now, .milliseconds(1)) })
            }
            state.orders = left
            return .write(taken)
        }
    }

    private func write(_ orders: [Order]) async {
        let together = orders.filter { !$0.isAlone }
        let apart = together.count == 1 ? orders : orders.filter(\.isAlone)
        if together.count > 1 {
            do {
                let settlements = together.flatMap(\.settlements)
                try await resume(together, with: tried { [now = time.now] in try $0.settle(settlements, now: now) })
            } catch {
                await takeApart(together, error)
            }
        }
        await writeAlone(apart)
    }

    /// Orders that failed as a group are tried one by one, unless the store as a whole fails.
    private func takeApart(_ orders: [Order], _ error: any Error) async {
        note(error, orders.count)
        guard PealError.isOutage(error) else { return await writeAlone(orders) }
        // Other writes succeed meanwhile: then one of the group is at fault.
        let mustPart = orders.contains { $0.outageAt.map(health.hasWritten) ?? false }
        let now = time.uptime
        putBack(
            orders.map { order in
                var order = order
                order.outageAt = order.outageAt ?? now
                order.isAlone = mustPart
                return order
            }, after: Self.retryInterval)
    }

    private func writeAlone(_ orders: [Order]) async {
        await withDiscardingTaskGroup { group in
            for order in orders { group.addTask { await self.writeAlone(order) } }
        }
    }

    private func writeAlone(_ order: Order) async {
        var order = order
        do {
            let settlements = order.settlements
            try await resume([order], with: tried { [now = time.now] in try $0.settle(settlements, now: now) })
        } catch {
            note(error, 1)
            guard !PealError.isOutage(error) else { return putBack([order], after: Self.retryInterval) }
            order.faults += 1
            order.isAlone = true
            if order.faults >= Self.faultsMax {
                await quarantine(order, error)
            } else {
                putBack([order], after: Self.retryInterval)
            }
        }
    }

    /// Quarantines the slice. If not even its answers can be stored, only its state is.
    private func quarantine(_ order: Order, _ error: any Error) async {
        guard let settlement = Self.joined(order.settlements) else { return }
        logger.error(
            "a slice was quarantined: the results of its devices cannot be stored",
            metadata: [
                "message": "\(settlement.slice.message)", "key_range": "\(settlement.slice.rangeStart)",
                "error": "\(error)",
            ])
        let (reason, whole) = (String(PealError.message(of: error).prefix(Self.reasonCharactersMax)), settlement)
        for keepsAnswers in [true, false] {
            do {
                let result = try await tried { [now = time.now] in
                    try $0.quarantine(whole, reason: reason, keepsAnswers: keepsAnswers, now: now)
                }
                if result.isQuarantined { metrics.change { $0.slicesQuarantined += 1 } }
                return order.waiter.resume(returning: order.settlements.dropLast().map { _ in result } + [result])
            } catch {
                note(error, 1)
                if PealError.isOutage(error) { return putBack([order], after: Self.retryInterval) }
            }
        }
        putBack([order], after: Self.stuckInterval)
    }

    private static let reasonCharactersMax = 200

    /// Stores what is known about further devices of a slice that was just quarantined (in order). If that fails for
    /// its own reason, the devices are in doubt. Waits while the store fails.
    /// - Returns: whether the answers are stored.
    func addToQuarantine(_ settlements: [Settlement]) async -> Bool {
        guard let settlement = Self.joined(settlements) else { return false }
        var keepsAnswers = true
        while true {
            do {
                return try await tried { [now = time.now, keepsAnswers] in
                    try $0.addToQuarantine(settlement, keepsAnswers: keepsAnswers, now: now)
                }
            } catch {
                note(error, 1)
                if PealError.isOutage(error) {
                    guard !stop.isDrained(at: time.uptime) else { return false }
                    try? await time.sleep(for: Self.retryInterval)
                } else {
                    guard keepsAnswers else { return false }
                    keepsAnswers = false
                }
            }
        }
    }

    /// The settlements of one slice as a single one, whose log row is valid only in its number of devices.
    private static func joined(_ settlements: [Settlement]) -> Settlement? {
        guard var settlement = settlements.last, let first = settlements.first else { return nil }
        settlement.cursorBefore = first.cursorBefore
        settlement.logRow?.deviceCount = settlements.reduce(0) { $0 + ($1.logRow?.deviceCount ?? 0) }
        settlement.triedAt = first.triedAt
        settlement.deferrals = settlements.flatMap(\.deferrals)
        settlement.retirements = settlements.flatMap(\.retirements)
        settlement.moves = settlements.flatMap(\.moves)
        settlement.added = settlements.compactMap(\.added).reduce(nil) { (sum: OutcomeCounts?, added) in
            var sum = sum ?? OutcomeCounts()
            sum.add(added)
            return sum
        }
        return settlement
    }

    /// Runs a write and records whether the store accepts writes.
    private func tried<R: Sendable>(
        _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        let attempt = health.begin()
        do {
            let result = try await store.write(.settle, body)
            health.end(attempt, failure: nil)
            return result
        } catch {
            health.end(attempt, failure: PealError.isOutage(error) ? error : nil)
            throw error
        }
    }

    private func resume(_ orders: [Order], with results: [Settlement.Result]) {
        metrics.change { snapshot in
            for result in results {
                if result.isApplied { snapshot.settles += 1 } else { snapshot.settlesRefused += 1 }
            }
        }
        var start = 0
        for order in orders {
            let end = min(start + order.settlements.count, results.count)
            order.waiter.resume(returning: Array(results[start..<end]))
            start = end
        }
    }

    /// Keeps orders until they can be written. Only a stop that has waited long enough abandons them.
    private func putBack(_ orders: [Order], after delay: Duration) {
        let now = time.uptime
        guard !stop.isDrained(at: now) else { return orders.forEach(Self.refuse) }
        state.withLock { state in
            state.orders.insert(
                contentsOf: orders.map { order in
                    var order = order
                    order.notBefore = now + delay
                    return order
                }, at: 0)
        }
    }

    private func note(_ error: any Error, _ count: Int) {
        metrics.change { $0.settlesFailed += 1 }
        guard outages.isDue(error) else { return }
        logger.error("settlements could not be written", metadata: ["slices": "\(count)", "error": "\(error)"])
    }

    private static func refuse(_ order: Order) {
        order.waiter.resume(returning: order.settlements.map { _ in Settlement.Result(isApplied: false) })
    }
}
