internal import Synchronization

/// Combines the receipts of many requests into few writes: receipts that arrive during a write are written together by
/// the next one. After a large message, many phones report at the same time, and each write occupies a slot in the
/// store's queue.
package final class ReceiptGatherer: Sendable {
    typealias Body = @Sendable (any StoreWriting) throws -> Int

    /// Why a waiting request is resumed.
    private enum Turn {
        case done(Result<Int, any Error>)
        /// It must write the next group, which begins with its own receipts.
        case lead
    }

    private struct Order {
        let body: Body
        let waiter: CheckedContinuation<Turn, Never>
    }

    private struct State {
        var orders: [Order] = []
        var isWriting = false
    }

    private static let ordersPerWrite = 256
    private let store: any Store
    private let state = Mutex(State())

    package init(store: any Store) { self.store = store }

    /// Runs `body` in a write with those of other requests.
    /// - Throws: what `body` throws; `rate_limited` when too many wait; `unavailable` when the store failed.
    func write(_ body: @escaping Body) async throws -> Int {
        let isFull = state.withLock { $0.orders.count >= Limits.writerItemsWaitingMax }
        guard !isFull else {
            throw PealError(.rateLimited, "too many receipts are waiting", retryAfterSeconds: 1)
        }
        let turn = await withCheckedContinuation { waiter in
            let leads = state.withLock { state in
                guard state.isWriting else {
                    state.isWriting = true
                    return true
                }
                state.orders.append(Order(body: body, waiter: waiter))
                return false
            }
            if leads { waiter.resume(returning: .lead) }
        }
        switch turn {
        case .done(let result): return try result.get()
        case .lead: return try await lead(body).get()
        }
    }

    /// Writes `body` and all waiting ones, then lets the first of those that arrived meanwhile lead.
    private func lead(_ body: @escaping Body) async -> Result<Int, any Error> {
        let others = state.withLock { state in
            let taken = Array(state.orders.prefix(Self.ordersPerWrite - 1))
            state.orders.removeFirst(taken.count)
            return taken
        }
        let results = await write([body] + others.map(\.body))
        for (order, result) in zip(others, results.dropFirst()) { order.waiter.resume(returning: .done(result)) }
        let next = state.withLock { state -> Order? in
            guard state.orders.isEmpty else { return state.orders.removeFirst() }
            state.isWriting = false
            return nil
        }
        next?.waiter.resume(returning: .lead)
        return results[0]
    }

    /// Writes all bodies in one transaction; if that fails, each separately, so that a failing one does not undo the
    /// others.
    private func write(_ bodies: [Body]) async -> [Result<Int, any Error>] {
        if bodies.count > 1, let counts = try? await store.write(.rest, { store in try bodies.map { try $0(store) } }) {
            return counts.map { .success($0) }
        }
        var results: [Result<Int, any Error>] = []
        for body in bodies {
            do { results.append(.success(try await store.write(.rest, body))) } catch {
                results.append(.failure(error))
            }
        }
        return results
    }
}
