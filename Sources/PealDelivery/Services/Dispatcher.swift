internal import Logging
internal import PealCore

/// Leases ready slices, by lane and rank within each route and in turn among the routes, as long as workers are free,
/// and starts a worker for each. A closed route's slices are leased too: their worker parks them, or ends them where
/// the message was cancelled or has expired.
struct Dispatcher: Sendable {
    /// What one route may hold of the workers, so that a slow one leaves room.
    private static let slicesPerRouteMax = Limits.slicesActiveMax * 3 / 4
    private static let expressInterval: Duration = .milliseconds(500)

    private struct Share {
        let route: ActiveRoute
        let count: Int
    }

    /// The round so far: which route is first, and when busy routes were last looked at.
    private struct Round {
        var turn = 0
        var expressAt: Duration?
    }

    let context: DeliveryContext
    private var load: DispatchLoad { context.load }

    init(context: DeliveryContext) { self.context = context }

    /// Runs until the process stops and every worker has ended.
    func run() async {
        await withDiscardingTaskGroup { workers in
            var round = Round()
            repeat {
                while !context.stop.isOn {
                    let askedAt = context.time.uptime
                    let slices = await lease(&round)
                    for slice in slices { start(slice, askedAt, in: &workers) }
                    if slices.isEmpty { break }
                }
            } while await context.pause(context.ready, atMost: context.options.pollInterval)
        }
    }

    private func start(_ slice: Slice, _ askedAt: Duration, in workers: inout DiscardingTaskGroup) {
        load.begin(slice.id)
        workers.addTask {
            await SliceWorker(context: context).work(slice, askedAt: askedAt)
            load.end(slice.id)
            context.ready.set()
        }
    }

    private func lease(_ round: inout Round) async -> [Slice] {
        do {
            let routes = try await context.store.read { try $0.readyRoutes() }
            guard !routes.isEmpty else { return [] }
            round.turn &+= 1
            let start = abs(round.turn % routes.count)
            let shares = shares(of: Array(routes[start...] + routes[..<start]))
            let leased = try await lease(shares)
            return leased.isEmpty ? try await express(routes, &round) : leased
        } catch {
            context.logger.error("slices could not be leased", metadata: ["error": "\(error)"])
            return []
        }
    }

    private func lease(_ shares: [Share]) async throws -> [Slice] {
        guard !shares.isEmpty else { return [] }
        let (owner, until, now) = (context.owner, context.leaseEnd, context.time.now)
        return try await context.store.write(.settle) { writer in
            try shares.flatMap { try writer.lease($0.route, limit: $0.count, owner: owner, until: until, now: now) }
        }
    }

    /// Now and then looks past busy workers: what is first in a route's order is worked on beside them, unless it is
    /// only one more slice of a message that is under way. Half the places beside are for small messages alone.
    private func express(_ routes: [ActiveRoute], _ round: inout Round) async throws -> [Slice] {
        let now = context.time.uptime
        guard load.total < Limits.slicesActiveMax + Limits.slicesExpressMax,
            round.expressAt.map({ now - $0 >= Self.expressInterval }) ?? true
        else { return [] }
        round.expressAt = now
        let slices = try await lease(routes.prefix(Limits.slicesExpressMax).map { Share(route: $0, count: 1) })
        let hasRoomForBulk = load.total < Limits.slicesActiveMax + Limits.slicesExpressMax / 2
        let wanted = slices.filter { $0.lane == .direct || hasRoomForBulk && !load.isBusy(with: $0.id.message) }
        for slice in slices where !wanted.contains(slice) {
            await SliceWorker(context: context).giveBack(slice, readyAt: nil)
        }
        // Where one was worth it there may be more.
        if !wanted.isEmpty { round.expressAt = nil }
        return wanted
    }

    /// Splits free workers among routes.
    private func shares(of routes: [ActiveRoute]) -> [Share] {
        let held = load.byRoute
        var left = Limits.slicesActiveMax - load.total
        var shares: [Share] = []
        for (place, route) in routes.enumerated() where left > 0 {
            let fair = max(1, left / (routes.count - place))
            let room = load.isStill(route) ? 0 : Self.slicesPerRouteMax - (held[route] ?? 0)
            let count = min(fair, room, left)
            guard count > 0 else { continue }
            shares.append(Share(route: route, count: count))
            left -= count
        }
        return shares
    }
}
