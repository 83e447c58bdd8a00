internal import PealCore
internal import Synchronization

/// The breakers of all routes that this process uses, and the routes whose state is not stored yet. The breaker of a
/// route without problems equals a new one.
final class RouteBoard: Sendable {
    private struct State {
        var breakers: [ActiveRoute: RouteBreaker] = [:]
        /// Routes whose gate differs from the stored one.
        var unsaved: Set<ActiveRoute> = []
        var resets: Set<ActiveRoute> = []
        /// Routes that are closed here, but whose gates the current read of all gates has not found yet.
        var missing: Set<ActiveRoute> = []
        /// The number of the last change that was read or written.
        var change: Int64 = 0
        /// The number of breakers above which open routes are forgotten.
        var breakersMax: Int

        /// Forgets routes without problems, which start again as new ones: the routes of deleted apps would stay
        /// forever.
        mutating func makeRoom() {
            guard breakers.count >= breakersMax else { return }
            breakers = breakers.filter { !$0.value.isLikeNew || unsaved.contains($0.key) }
            breakersMax = max(breakersMax, breakers.count * 2)
        }
    }

    private let state: Mutex<State>

    /// - Parameter breakersMax: how many routes are remembered, unless more of them have problems.
    init(breakersMax: Int = 10_000) { state = Mutex(State(breakersMax: breakersMax)) }

    /// How many routes are remembered, for tests.
    var breakerCount: Int { state.withLock(\.breakers.count) }

    /// Runs `body` on the route's breaker.
    @discardableResult
    func change<Result>(_ route: ActiveRoute, _ body: (inout RouteBreaker) -> Result) -> Result {
        state.withLock { state in
            if state.breakers[route] == nil { state.makeRoom() }
            var breaker = state.breakers[route] ?? RouteBreaker(hasManyHosts: route.route.hasManyHosts)
            let before = breaker.memory
            let result = body(&breaker)
            state.breakers[route] = breaker
            if breaker.memory != before { state.unsaved.insert(route) }
            return result
        }
    }

    /// Opens a route whose credential changed. The scheduler opens it in the store.
    func reset(_ route: ActiveRoute) {
        state.withLock { state in
            state.breakers[route] = nil
            state.unsaved.remove(route)
            state.resets.insert(route)
        }
    }

    /// Drops what this process knows about a route, because the store has a newer state.
    func forget(_ route: ActiveRoute) {
        state.withLock { state in
            state.breakers[route] = nil
            state.unsaved.remove(route)
        }
    }

    /// The routes that were reset since the last call.
    func takeResets() -> Set<ActiveRoute> {
        state.withLock { state in
            defer { state.resets = [] }
            return state.resets
        }
    }

    /// Restores resets that could not be written.
    func putBack(_ resets: Set<ActiveRoute>) { state.withLock { $0.resets.formUnion(resets) } }

    /// The routes whose gates must be written, and what to write. They count as saved; `markUnsaved` takes that back.
    func takeUnsaved(_ only: ActiveRoute? = nil) -> [(route: ActiveRoute, memory: RouteBreaker.Memory)] {
        state.withLock { state in
            let routes = only.map { state.unsaved.contains($0) ? [$0] : [] } ?? Array(state.unsaved)
            state.unsaved.subtract(routes)
            return routes.map { ($0, state.breakers[$0]?.memory ?? .init()) }
        }
    }

    func markUnsaved(_ routes: [ActiveRoute]) { state.withLock { $0.unsaved.formUnion(routes) } }

    func isSaved(_ route: ActiveRoute) -> Bool { state.withLock { !$0.unsaved.contains(route) } }

    /// Marks closed routes as unsaved, so that the ends of their pauses are stored by the wall clock, which was set.
    func clockWasSet(uptime: Duration) {
        state.withLock { state in
            for route in state.breakers.filter({ $1.closedUntil != nil }).keys {
                state.breakers[route]?.clockWasSet(now: uptime)
                state.unsaved.insert(route)
            }
        }
    }

    var lastChange: Int64 { state.withLock { $0.change } }

    /// Makes the next read begin with the oldest change. Gates that it does not find are lost, and are written again:
    /// otherwise slices that wait for them would be leased over and over.
    func rereadAll() {
        state.withLock { state in
            state.change = 0
            state.missing = Set(state.breakers.filter { $1.closedUntil != nil }.keys)
        }
    }

    /// Applies gates that were read, in order of their changes. Newer state of this process stays.
    /// - Parameters:
    ///   - last: `lastChange` when they were read. The next read begins after them unless it has changed since.
    ///   - isComplete: Whether there are no more.
    ///   - now: The wall clock.
    ///   - uptime: The same instant on the clock of the breakers.
    func adopt(_ gates: [RouteGate], after last: Int64, isComplete: Bool, now: Timestamp, uptime: Duration) {
        state.withLock { state in
            let isNext = state.change == last
            if isNext {
                state.change = gates.map(\.change).max() ?? last
                state.missing.subtract(gates.map(\.route))
            }
            if isNext, isComplete {
                state.unsaved.formUnion(state.missing.filter { state.breakers[$0]?.closedUntil != nil })
                state.missing = []
            }
            for gate in gates {
                guard !state.unsaved.contains(gate.route), !state.resets.contains(gate.route) else { continue }
                var breaker = state.breakers[gate.route] ?? RouteBreaker(hasManyHosts: gate.route.route.hasManyHosts)
                breaker.adopt(.init(gate, now: now, uptime: uptime))
                state.breakers[gate.route] = breaker
                if gate.isAhead(of: now) { state.unsaved.insert(gate.route) }
            }
        }
    }
}

extension RouteBreaker.Memory {
    init(_ gate: RouteGate, now: Timestamp, uptime: Duration) {
        guard gate.state != .open else { return }
        until = gate.isAhead(of: now) ? uptime : uptime + (gate.closedUntil - now)
        isStop = gate.state == .stopped
        (level, backOffs) = (gate.level, gate.backOffs)
        (reason, suspect) = (gate.reason, gate.suspect)
    }

    /// The part that the store keeps.
    func gate(of route: ActiveRoute, fingerprint: String?, now: Timestamp, uptime: Duration) -> RouteGate {
        guard let until else { return RouteGate(route) }
        return RouteGate(
            route, isStop ? .stopped : .paused, closedUntil: now + (until - uptime), level: level, backOffs: backOffs,
            reason: reason, fingerprint: fingerprint, suspect: suspect, probed: suspect)
    }
}
