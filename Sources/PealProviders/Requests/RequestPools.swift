import PealCore
import Synchronization

/// The request pools of one provider, one for each credential: hands orders to theirs, so that neither the queue nor
/// the connections of one app are another's.
final class RequestPools: Sendable {
    private struct State {
        var pools: [String: RequestPool] = [:]
        /// Pools whose credential went, until `close`.
        var drained: [RequestPool] = []
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Takes an order; its answers go to its flight.
    /// - Parameter make: makes the pool of the order's credential; nil when the credential cannot be used.
    func send(_ order: PageOrder, _ make: (PageOrder) -> RequestPool?) {
        guard order.variants.allSatisfy({ Int($0) < order.notifications.count }) else {
            return order.flight.answerRest(.unsent("NoVariant"))
        }
        let (pool, isClosed) = state.withLock { state in
            if !state.isClosed, state.pools[order.fingerprint] == nil {
                state.pools[order.fingerprint] = make(order)
            }
            return (state.pools[order.fingerprint], state.isClosed)
        }
        guard let pool else { return order.flight.answerRest(.unsent(isClosed ? "Draining" : "NoCredential")) }
        pool.submit(order)
    }

    /// Lets the pool of a credential finish and go.
    func drain(fingerprint: String) {
        let pool = state.withLock { state in
            state.drained.removeAll(where: \.isGone)
            guard let pool = state.pools.removeValue(forKey: fingerprint) else { return nil as RequestPool? }
            state.drained.append(pool)
            return pool
        }
        pool?.drain()
    }

    /// Ends every pool; returns when they are gone.
    func close() async {
        let pools = state.withLock { state in
            state.isClosed = true
            defer {
                state.pools = [:]
                state.drained = []
            }
            return Array(state.pools.values) + state.drained
        }
        await withTaskGroup { group in
            for pool in pools { group.addTask { await pool.close() } }
        }
    }
}
