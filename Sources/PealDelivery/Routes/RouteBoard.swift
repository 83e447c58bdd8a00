internal import PealCore
internal import Synchronization

/// The breakers of all routes that this process uses. A route that never had trouble and a new one are the same.
final class RouteBoard: Sendable {
    private let breakers = Mutex<[ActiveRoute: RouteBreaker]>([:])

    /// Runs `body` on the route's breaker.
    func change<Result>(_ route: ActiveRoute, _ body: (inout RouteBreaker) -> Result) -> Result {
        breakers.withLock { body(&$0[route, default: RouteBreaker(hasManyHosts: route.route.hasManyHosts)]) }
    }

    func reset(_ route: ActiveRoute) {
        breakers.withLock { $0[route] = nil }
    }
}
