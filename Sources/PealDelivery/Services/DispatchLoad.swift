internal import PealCore
internal import Synchronization

/// What the dispatcher's workers are busy with.
final class DispatchLoad: Sendable {
    private struct State {
        var byRoute: [ActiveRoute: Int] = [:]
        var byMessage: [MessageID: Int] = [:]
        var total = 0
    }

    private let state = Mutex(State())

    var total: Int { state.withLock { $0.total } }
    var byRoute: [ActiveRoute: Int] { state.withLock { $0.byRoute } }

    func isBusy(with message: MessageID) -> Bool { state.withLock { $0.byMessage[message] != nil } }

    func begin(_ slice: Slice.ID) { change(slice, by: 1) }
    func end(_ slice: Slice.ID) { change(slice, by: -1) }

    private func change(_ slice: Slice.ID, by step: Int) {
        let route = ActiveRoute(app: slice.app, route: slice.route)
        state.withLock { state in
            state.total += step
            let onRoute = (state.byRoute[route] ?? 0) + step
            state.byRoute[route] = onRoute > 0 ? onRoute : nil
            let ofMessage = (state.byMessage[slice.message] ?? 0) + step
            state.byMessage[slice.message] = ofMessage > 0 ? ofMessage : nil
        }
    }
}
