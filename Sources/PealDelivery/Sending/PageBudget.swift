internal import PealCore
internal import Synchronization

/// Limits what is in flight in this process, and therefore what may be repeated after a crash: bulk pages by their
/// slots, or the devices of small messages. A stalled page lends its slot to others, so that a provider that does not
/// answer does not delay other providers. Stalled pages are limited too.
final class PageBudget: Sendable {
    private struct State {
        var free: Int
        var lendable: Int
        var waiters: [(weight: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Adds slots, and gives them to waiters in order of arrival.
        mutating func add(_ weight: Int) -> [CheckedContinuation<Void, Never>] {
            free += weight
            var served: [CheckedContinuation<Void, Never>] = []
            while let first = waiters.first, first.weight <= free {
                free -= first.weight
                served.append(first.continuation)
                waiters.removeFirst()
            }
            return served
        }
    }

    /// A page's slot. It is released once, however often `release` is called.
    final class Slot: Sendable {
        private enum State { case held, lent, released }
        private let budget: PageBudget
        private let weight: Int
        private let state = Mutex(State.held)

        fileprivate init(_ budget: PageBudget, _ weight: Int, isLent: Bool = false) {
            self.budget = budget
            self.weight = weight
            if isLent { state.withLock { $0 = .lent } }
        }

        /// Lends the slot to others while the page is stalled. Returns false if it is already lent, or too many are.
        func lend() -> Bool {
            state.withLock { state in
                guard state == .held, budget.lend(weight) else { return false }
                state = .lent
                return true
            }
        }

        func release() {
            state.withLock { state in
                switch state {
                case .held: budget.release(weight)
                case .lent: budget.endLoan(weight)
                case .released: break
                }
                state = .released
            }
        }
    }

    /// The slots of a bulk page: one for each `Limits.pageDevicesPerSlot` devices, so that the budget limits devices.
    static func slots(for devices: Int) -> Int {
        (devices + Limits.pageDevicesPerSlot - 1) / Limits.pageDevicesPerSlot
    }

    /// The most devices of one bulk page.
    let pageDevicesMax: Int
    private let state: Mutex<State>

    /// - Parameters:
    ///   - count: The maximum in flight.
    ///   - lendable: The maximum stalled in addition to that.
    init(_ count: Int, lendable: Int) {
        pageDevicesMax = min(Limits.pageDevicesMax, count * Limits.pageDevicesPerSlot)
        state = Mutex(State(free: count, lendable: lendable))
    }

    /// Takes a slot, in order of arrival.
    /// - Parameter isStalled: Whether pages of its route are stalled: then it takes a slot of a stalled page, as long
    ///   as there are any. Asked again after a wait, because the route may have stalled in the meantime.
    func take(_ weight: Int = 1, isStalled: () -> Bool) async -> Slot {
        if isStalled(), let slot = takeLent(weight) { return slot }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.waiters.isEmpty, state.free >= weight {
                    state.free -= weight
                    return true
                }
                state.waiters.append((weight, continuation))
                return false
            }
            if isFree { continuation.resume() }
        }
        guard isStalled(), let slot = takeLent(weight) else { return Slot(self, weight) }
        release(weight)
        return slot
    }

    /// Takes a slot if one is free now.
    func takeIfFree(_ weight: Int = 1, isStalled: Bool) -> Slot? {
        if isStalled { return takeLent(weight) }
        let isFree = state.withLock { state in
            guard state.waiters.isEmpty, state.free >= weight else { return false }
            state.free -= weight
            return true
        }
        return isFree ? Slot(self, weight) : nil
    }

    private func takeLent(_ weight: Int) -> Slot? {
        borrow(weight) ? Slot(self, weight, isLent: true) : nil
    }

    private func borrow(_ weight: Int) -> Bool {
        state.withLock { state in
            guard state.lendable >= weight else { return false }
            state.lendable -= weight
            return true
        }
    }

    private func release(_ weight: Int) {
        for waiter in state.withLock({ $0.add(weight) }) { waiter.resume() }
    }

    private func lend(_ weight: Int) -> Bool {
        guard borrow(weight) else { return false }
        release(weight)
        return true
    }

    private func endLoan(_ weight: Int) { state.withLock { $0.lendable += weight } }
}
