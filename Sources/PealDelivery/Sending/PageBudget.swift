internal import Synchronization

/// Bounds the bulk pages that are in flight in this process, and so what may be repeated after a crash. A stalled page
/// lends its slot to others, so that a provider that does not answer slows nobody else. Stalled pages are bounded too.
final class PageBudget: Sendable {
    private struct State {
        var free: Int
        var lendable: Int
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// A page's slot. It is released once, however often `release` is called.
    final class Slot: Sendable {
        private enum State { case held, lent, released }
        private let budget: PageBudget
        private let state = Mutex(State.held)

        fileprivate init(_ budget: PageBudget, isLent: Bool = false) {
            self.budget = budget
            if isLent { state.withLock { $0 = .lent } }
        }

        /// Lets others have the slot while the page is stalled. Returns false when it is lent already, or too many are.
        func lend() -> Bool {
            state.withLock { state in
                guard state == .held, budget.lend() else { return false }
                state = .lent
                return true
            }
        }

        func release() {
            state.withLock { state in
                switch state {
                case .held: budget.release()
                case .lent: budget.endLoan()
                case .released: break
                }
                state = .released
            }
        }
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - count: Pages in flight.
    ///   - lendable: Stalled pages beside them.
    init(_ count: Int, lendable: Int) { state = Mutex(State(free: count, lendable: lendable)) }

    /// Takes a slot, in order of arrival.
    /// - Parameter isStalled: Whether pages of its route are stalled: then it takes a slot of a stalled page, as long
    ///   as
    ///   there are any. Asked again after a wait, because the route may have stalled meanwhile.
    func take(isStalled: () -> Bool) async -> Slot {
        if isStalled(), let slot = takeLent() { return slot }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                state.waiters.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        guard isStalled(), let slot = takeLent() else { return Slot(self) }
        release()
        return slot
    }

    /// Takes a slot if one is free now.
    func takeIfFree(isStalled: Bool) -> Slot? {
        if isStalled { return takeLent() }
        let isFree = state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
        return isFree ? Slot(self) : nil
    }

    private func takeLent() -> Slot? {
        let isFree = state.withLock { state in
            guard state.lendable > 0 else { return false }
            state.lendable -= 1
            return true
        }
        return isFree ? Slot(self, isLent: true) : nil
    }

    private func release() {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
            state.free += 1
            return nil
        }?.resume()
    }

    private func lend() -> Bool {
        let isLent = state.withLock { state in
            guard state.lendable > 0 else { return false }
            state.lendable -= 1
            return true
        }
        if isLent { release() }
        return isLent
    }

    private func endLoan() { state.withLock { $0.lendable += 1 } }
}
