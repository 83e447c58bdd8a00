internal import Synchronization

/// Bounds the bulk pages that are in flight in this process, and so what may be repeated after a crash. A page that
/// stands still lends its place to others, so that a provider that does not answer slows nobody else; of those, too,
/// there are only so many.
final class PageBudget: Sendable {
    private struct State {
        var free: Int
        var lendable: Int
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// A page's place, given back once, however often it is asked to.
    final class Place: Sendable {
        private enum Standing { case held, lent, returned }
        private let budget: PageBudget
        private let standing = Mutex(Standing.held)

        fileprivate init(_ budget: PageBudget, isLent: Bool = false) {
            self.budget = budget
            if isLent { standing.withLock { $0 = .lent } }
        }

        /// Lets others have the place while the page stands still. Returns false when it was lent, or too many are.
        func lend() -> Bool {
            standing.withLock { standing in
                guard standing == .held, budget.lend() else { return false }
                standing = .lent
                return true
            }
        }

        func giveBack() {
            standing.withLock { standing in
                switch standing {
                case .held: budget.giveBack()
                case .lent: budget.endLoan()
                case .returned: break
                }
                standing = .returned
            }
        }
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - count: pages in flight.
    ///   - lendable: pages that stand still beside them.
    init(_ count: Int, lendable: Int) { state = Mutex(State(free: count, lendable: lendable)) }

    /// Takes a place, in order of arrival.
    /// - Parameter isStill: whether pages of its route stand still: then it takes none from those that move, as long as
    ///   there are others. Asked again after a wait: it may have come to a standstill meanwhile.
    func take(isStill: () -> Bool) async -> Place {
        if isStill(), let place = takeLent() { return place }
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
        guard isStill(), let place = takeLent() else { return Place(self) }
        giveBack()
        return place
    }

    /// Takes a place if one is free now.
    func takeIfFree(isStill: Bool) -> Place? {
        if isStill { return takeLent() }
        let isFree = state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
        return isFree ? Place(self) : nil
    }

    private func takeLent() -> Place? {
        let isFree = state.withLock { state in
            guard state.lendable > 0 else { return false }
            state.lendable -= 1
            return true
        }
        return isFree ? Place(self, isLent: true) : nil
    }

    private func giveBack() {
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
        if isLent { giveBack() }
        return isLent
    }

    private func endLoan() { state.withLock { $0.lendable += 1 } }
}
