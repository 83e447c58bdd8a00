internal import Logging
internal import PealCore
internal import Synchronization

/// Leases ready slices, by lane and rank within each route and in turn among the routes, as long as workers are free, and
/// starts a worker for each. A closed route's slices are leased too: their worker parks them, or ends them where the
/// message was cancelled or has expired.
struct Dispatcher: Sendable {
    /// What one route may hold of the workers while it is not the only one, so that a slow one leaves room.
    private static let slicesPerRouteMax = Limits.slicesActiveMax * 3 / 4

    private final class Load: Sendable {
        let byRoute = Mutex<[ActiveRoute: Int]>([:])

        var total: Int { byRoute.withLock { $0.values.reduce(0, +) } }

        func add(_ route: ActiveRoute, _ count: Int) {
            byRoute.withLock {
                let sum = ($0[route] ?? 0) + count
                $0[route] = sum > 0 ? sum : nil
            }
        }
    }

    let context: DeliveryContext
    private let load = Load()

    init(context: DeliveryContext) { self.context = context }

    /// Runs until the process stops and every worker has ended.
    func run() async {
        await withDiscardingTaskGroup { workers in
            var turn = 0
            repeat {
                while !context.stop.isOn {
                    let askedAt = context.time.uptime
                    let slices = await lease(turn: turn)
                    turn &+= 1
                    for slice in slices { start(slice, askedAt, in: &workers) }
                    if slices.isEmpty { break }
                }
            } while await context.pause(context.ready, atMost: context.options.pollInterval)
        }
    }

    private func start(_ slice: Slice, _ askedAt: Duration, in workers: inout DiscardingTaskGroup) {
        let route = ActiveRoute(app: slice.id.app, route: slice.id.route)
        load.add(route, 1)
        workers.addTask {
            await SliceWorker(context: context).work(slice, askedAt: askedAt)
            load.add(route, -1)
            context.ready.set()
        }
    }

    private func lease(turn: Int) async -> [Slice] {
        let free = Limits.slicesActiveMax - load.total
        guard free > 0 else { return [] }
        do {
            let routes = try await context.store.read { try $0.readyRoutes() }
            let shares = shares(of: routes, free: free, turn: turn)
            guard !shares.isEmpty else { return [] }
            let (owner, until, now) = (context.owner, context.leaseEnd, context.time.now)
            return try await context.store.write(.settle) { writer in
                try shares.flatMap {
                    try writer.lease($0.route, limit: $0.count, owner: owner, until: until, now: now)
                }
            }
        } catch {
            context.logger.error("slices could not be leased", metadata: ["error": "\(error)"])
            return []
        }
    }

    /// Splits free workers among routes, beginning with another one each turn.
    private func shares(of routes: [ActiveRoute], free: Int, turn: Int) -> [(route: ActiveRoute, count: Int)] {
        guard !routes.isEmpty else { return [] }
        let start = abs(turn % routes.count)
        let order = routes[start...] + routes[..<start]
        let held = load.byRoute.withLock { $0 }
        var left = free
        var shares: [(route: ActiveRoute, count: Int)] = []
        for (place, route) in order.enumerated() where left > 0 {
            let fair = max(1, left / (order.count - place))
            let count = min(fair, Self.slicesPerRouteMax - (held[route] ?? 0), left)
            guard count > 0 else { continue }
            shares.append((route, count))
            left -= count
        }
        return shares
    }
}
