internal import PealCore
internal import Synchronization

/// What the dispatcher's workers are busy with. A worker whose page stands still counts for its own route only: its
/// provider does not answer, and others must not wait for that.
final class DispatchLoad: Sendable {
    private struct State {
        var byRoute: [ActiveRoute: Int] = [:]
        var byMessage: [MessageID: Int] = [:]
        var still: [ActiveRoute: Set<Slice.ID>] = [:]
        var total = 0

        var stillCount: Int { still.values.reduce(0) { $0 + $1.count } }
    }

    private let state = Mutex(State())

    /// Workers that are not at a standstill.
    var total: Int { state.withLock { $0.total - min($0.stillCount, Limits.slicesStillMax) } }
    var byRoute: [ActiveRoute: Int] { state.withLock { $0.byRoute } }

    func isBusy(with message: MessageID) -> Bool { state.withLock { $0.byMessage[message] != nil } }

    /// Whether a worker of the route is at a standstill: more of them would fare alike.
    func isStill(_ route: ActiveRoute) -> Bool { state.withLock { $0.still[route] != nil } }

    func begin(_ slice: Slice.ID) { change(slice, by: 1) }

    func end(_ slice: Slice.ID) {
        move(slice)
        change(slice, by: -1)
    }

    /// Nothing came for the slice's page for a while.
    func stand(_ slice: Slice.ID) {
        state.withLock { state in
            guard state.byMessage[slice.message] != nil else { return }
            _ = state.still[Self.route(slice), default: []].insert(slice)
        }
    }

    /// Something came again.
    func move(_ slice: Slice.ID) {
        let route = Self.route(slice)
        state.withLock { state in
            state.still[route]?.remove(slice)
            if state.still[route]?.isEmpty == true { state.still[route] = nil }
        }
    }

    private static func route(_ slice: Slice.ID) -> ActiveRoute { ActiveRoute(app: slice.app, route: slice.route) }

    private func change(_ slice: Slice.ID, by step: Int) {
        let route = Self.route(slice)
        state.withLock { state in
            state.total += step
            let onRoute = (state.byRoute[route] ?? 0) + step
            state.byRoute[route] = onRoute > 0 ? onRoute : nil
            let ofMessage = (state.byMessage[slice.message] ?? 0) + step
            state.byMessage[slice.message] = ofMessage > 0 ? ofMessage : nil
        }
    }
}
