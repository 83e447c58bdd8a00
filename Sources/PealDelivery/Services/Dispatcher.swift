internal import Logging
internal import PealCore
internal import Synchronization

/// Leases ready slices while workers are free, and starts a worker for each. Routes take turns; within a route, lane
/// and rank decide. The store leases no ready slice of a closed route, except to probe it.
struct Dispatcher: Sendable {
    /// How many workers one route may occupy, so that a slow route leaves room for others.
    private static let slicesPerRouteMax = Limits.slicesActiveMax * 3 / 4
    private static let expressInterval: Duration = .milliseconds(500)
    private static let walksPerRound = 128
    /// How long nothing is leased on a route whose slices could not be leased.
    private static let damagedPause: Duration = .seconds(5)
    /// How many slices of such a route are examined.
    private static let examinedMax = 1000

    struct Share: Sendable, Hashable {
        let route: ActiveRoute
        let count: Int
    }

    /// Where the next round begins, and when busy routes were last examined.
    private struct Round {
        /// Where the next search through the routes continues.
        var resumeAfter: ActiveRoute?
        var expressAt: Duration?
        /// Until when routes are left out because their slices could not be leased.
        var damaged: [ActiveRoute: Duration] = [:]
        /// Since when leasing has failed because the store was not available.
        var outageAt: Duration?
    }

    let context: DeliveryContext
    let pollInterval: Duration
    private var load: DispatchLoad { context.load }

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
            } while await context.stop.pause(context.ready, atMost: pollInterval)
        }
    }

    private func start(_ slice: Slice, _ askedAt: Duration, in workers: inout DiscardingTaskGroup) {
        // A standby that became the primary may not know that this process has leased the slice already. The worker
        // that has the lease keeps it: another one would send everything a second time.
        guard context.leases.add(slice.lease, askedAt: askedAt) else { return }
        load.begin(slice.id)
        workers.addTask {
            await SliceWorker(context: context).work(slice)
            load.end(slice.id)
            context.ready.set()
        }
    }

    private func lease(_ round: inout Round) async -> [Slice] {
        do {
            let found = try await readyRoutes(&round)
            guard !found.isEmpty else {
                round.outageAt = nil
                return []
            }
            let now = context.time.uptime
            round.damaged = round.damaged.filter { $0.value > now }
            let routes = found.filter { round.damaged[$0] == nil }
            let shares = Self.shares(of: routes, load)
            round.resumeAfter = (shares.last?.route ?? found.first) ?? round.resumeAfter
            let leased = try await lease(shares, &round)
            guard leased.isEmpty else { return leased }
            return try await express(routes.filter { round.damaged[$0] == nil }, &round)
        } catch {
            context.logFailure("slices could not be leased", error)
            return []
        }
    }

    /// The next routes in turn with something to lease. It skips closed routes, a limited number in one read.
    private func readyRoutes(_ round: inout Round) async throws -> [ActiveRoute] {
        for _ in 0..<Self.walksPerRound {
            let (after, now) = (round.resumeAfter, context.time.now)
            let found = try await context.store.read {
                try $0.readyRoutes(after: after, stepsMax: Limits.routesPerWalk, now: now)
            }
            guard found.routes.isEmpty, let next = found.resumeAfter else { return found.routes }
            round.resumeAfter = next
        }
        return []
    }

    /// Leases in one write. If that fails although the store works, each route has a write of its own, so that a
    /// damaged row stops no other route.
    private func lease(_ shares: [Share], _ round: inout Round) async throws -> [Slice] {
        guard !shares.isEmpty else {
            round.outageAt = nil
            return []
        }
        do {
            let leased = try await leaseTogether(shares)
            round.outageAt = nil
            return leased
        } catch {
            // Other writes succeed meanwhile: then a part of the database cannot be read.
            let isPartial = context.health.isWriting && round.outageAt.map(context.health.hasWritten) ?? false
            guard isPartial || !PealError.isOutage(error) else {
                round.outageAt = round.outageAt ?? context.time.uptime
                throw error
            }
            return await leaseApart(shares, &round)
        }
    }

    private func leaseApart(_ shares: [Share], _ round: inout Round) async -> [Slice] {
        var leased: [Slice] = []
        for share in shares {
            do {
                leased += try await leaseTogether([share])
            } catch {
                // The store fails as a whole, so the routes are not at fault.
                if PealError.isOutage(error), !context.health.isWriting { break }
                guard await !quarantineUnreadable(on: share.route) else { continue }
                round.damaged[share.route] = context.time.uptime + Self.damagedPause
                let app = await context.store.shownID(of: share.route.app)
                context.logger.error(
                    "the slices of a route could not be leased",
                    metadata: ["app": "\(app)", "route": "\(share.route.route)", "error": "\(error)"])
            }
        }
        return leased
    }

    /// Quarantines what keeps the other slices of a route from being leased. Returns whether there was anything.
    private func quarantineUnreadable(on route: ActiveRoute) async -> Bool {
        let found = try? await context.store.write(.control) {
            try $0.quarantineUnreadable(on: route, limit: Self.examinedMax)
        }
        for slice in found ?? [] {
            context.metrics.change { $0.slicesQuarantined += 1 }
            context.logger.error(
                "a slice was quarantined: it cannot be read",
                metadata: [
                    "message": "\(slice.message)", "key_range": "\(slice.rangeStart)", "error": "\(slice.reason)",
                ])
        }
        guard found?.isEmpty == false else { return false }
        context.ready.set()
        return true
    }

    private func leaseTogether(_ shares: [Share]) async throws -> [Slice] {
        let (owner, until, now) = (context.owner, context.leaseEnd, context.time.now)
        return try await context.store.write(.settle) { writer in
            try shares.flatMap { try writer.lease($0.route, limit: $0.count, owner: owner, until: until, now: now) }
        }
    }

    /// From time to time starts extra workers in addition to the busy ones, for the first slice in a route's order,
    /// unless it belongs to a message that is already being sent. Half of the extra workers are reserved for small
    /// messages and probes.
    private func express(_ routes: [ActiveRoute], _ round: inout Round) async throws -> [Slice] {
        let now = context.time.uptime
        guard load.total < Limits.slicesActiveMax + Limits.slicesExpressMax,
            round.expressAt.map({ now - $0 >= Self.expressInterval }) ?? true
        else { return [] }
        round.expressAt = now
        let slices = try await lease(
            routes.prefix(Limits.slicesExpressMax).map { Share(route: $0, count: 1) }, &round)
        let wanted = slices.filter { Self.isExpress($0, load) }
        for slice in slices where !wanted.contains(slice) {
            // Added to the board before the write ends, so that it is not taken back in the meantime. If it is there
            // already, a worker has it.
            guard context.leases.add(slice.lease, askedAt: now) else { continue }
            await SliceWorker(context: context).release(slice, readyAt: nil)
            context.leases.remove(slice.lease)
        }
        // There may be more, so look again at once.
        if !wanted.isEmpty { round.expressAt = nil }
        return wanted
    }

    /// Whether an extra worker begins with the slice. A probe must not be released: its route would wait another half
    /// minute, over and over while all workers are busy with the same message on another route.
    static func isExpress(_ slice: Slice, _ load: DispatchLoad) -> Bool {
        if slice.lane == .direct || slice.isProbe { return true }
        let hasRoom = load.total < Limits.slicesActiveMax + Limits.slicesExpressMax / 2
        return hasRoom && !load.isBusy(with: slice.id.message)
    }

    /// Splits free workers among routes.
    static func shares(of routes: [ActiveRoute], _ load: DispatchLoad) -> [Share] {
        let held = load.byRoute
        var left = Limits.slicesActiveMax - load.total
        var shares: [Share] = []
        for (index, route) in routes.enumerated() where left > 0 {
            let fair = max(1, left / (routes.count - index))
            let room = load.isStalled(route) ? 0 : slicesPerRouteMax - (held[route] ?? 0)
            let count = min(fair, room)
            guard count > 0 else { continue }
            shares.append(Share(route: route, count: count))
            left -= count
        }
        return shares
    }
}

/// What the dispatcher's workers are busy with. A worker whose page is stalled counts only for its own route, so that
/// other routes do not wait for a provider that does not answer.
final class DispatchLoad: Sendable {
    private struct State {
        var byRoute: [ActiveRoute: Int] = [:]
        var byMessage: [MessageID: Int] = [:]
        var stalled = StalledSlices()
        var total = 0
    }

    private let state = Mutex(State())

    /// Workers whose page is not stalled.
    var total: Int { state.withLock { $0.total - min($0.stalled.count, Limits.slicesStalledMax) } }
    var byRoute: [ActiveRoute: Int] { state.withLock { $0.byRoute } }

    func isBusy(with message: MessageID) -> Bool { state.withLock { $0.byMessage[message] != nil } }

    /// Whether a worker of the route is stalled. Another one would stall too.
    func isStalled(_ route: ActiveRoute) -> Bool { state.withLock { $0.stalled.count(on: route) > 0 } }

    func begin(_ slice: Slice.ID) { change(slice, by: 1) }

    func end(_ slice: Slice.ID) {
        resume(slice)
        change(slice, by: -1)
    }

    /// The slice's page has had no answer for a while.
    func stall(_ slice: Slice.ID) {
        state.withLock { state in
            guard state.byMessage[slice.message] != nil else { return }
            state.stalled.insert(slice)
        }
    }

    /// An answer has arrived again.
    func resume(_ slice: Slice.ID) { state.withLock { _ = $0.stalled.remove(slice) } }

    private func change(_ slice: Slice.ID, by step: Int) {
        let route = slice.activeRoute
        state.withLock { state in
            state.total += step
            let onRoute = (state.byRoute[route] ?? 0) + step
            state.byRoute[route] = onRoute > 0 ? onRoute : nil
            let ofMessage = (state.byMessage[slice.message] ?? 0) + step
            state.byMessage[slice.message] = ofMessage > 0 ? ofMessage : nil
        }
    }
}

/// The slices whose page has had no answer for a while, by route.
struct StalledSlices: Sendable {
    private var byRoute: [ActiveRoute: Set<Slice.ID>] = [:]
    private(set) var count = 0

    func count(on route: ActiveRoute) -> Int { byRoute[route]?.count ?? 0 }

    mutating func insert(_ slice: Slice.ID) {
        if byRoute[slice.activeRoute, default: []].insert(slice).inserted { count += 1 }
    }

    /// Returns whether it was stalled.
    mutating func remove(_ slice: Slice.ID) -> Bool {
        let route = slice.activeRoute
        guard byRoute[route]?.remove(slice) != nil else { return false }
        count -= 1
        if byRoute[route]?.isEmpty == true { byRoute[route] = nil }
        return true
    }
}
