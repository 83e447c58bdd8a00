internal import Logging
internal import PealCore

/// Sends one slice: at most two pages in flight, settled in order. Confined to one task.
struct SliceRun: Sendable {
    /// Why no further page begins.
    enum Halt: Sendable, Hashable {
        /// The message was paused or cancelled, or the process stops.
        case interrupted
        /// The credential changed: the slice is opened anew.
        case outdated
        /// The route is closed until then.
        case closed(until: Timestamp)
        case expired
        case lostLease
        /// The store could not be read.
        case unreadable
    }

    let context: DeliveryContext
    /// As it stands in the store.
    var slice: Slice
    let candidates: KeySet
    let work: MessageWork
    let options: MessageOptions
    let life: PlatformLife
    let access: Access
    let key: AccessCache.Key
    let accessVersion: Int
    let provider: any Provider
    let variants: Variants
    let control: SendControl
    let route: ActiveRoute
    var halt: Halt?
    /// Devices that have no row in the log yet, as far as the audience was read.
    var unsettled: Int
    var locales: [String?] = []
    /// Whether the slice is no longer ours to settle.
    var isOver = false

    init(
        context: DeliveryContext, slice: Slice, opening: SliceOpening, access: Access, key: AccessCache.Key,
        provider: any Provider, control: SendControl
    ) {
        self.context = context
        self.slice = slice
        candidates = opening.candidates
        work = opening.work
        options = opening.work.options(on: slice.id.route)
        life = opening.work.life(on: slice.id.route)
        self.access = access
        self.key = key
        accessVersion = opening.accessVersion
        self.provider = provider
        variants = opening.work.variants(
            route: slice.id.route, access: access, provider: provider, now: context.time.now)
        self.control = control
        route = ActiveRoute(app: slice.id.app, route: slice.id.route)
        unsettled = opening.candidates.count
    }

    var isBulk: Bool { slice.lane == .bulk }

    /// Returns when the slice is done, given back or lost.
    mutating func send() async {
        var flights: [SentPage] = []
        var readThrough = slice.cursor
        var hasReadAll = false
        while !isOver {
            while halt == nil, !hasReadAll, flights.count < Limits.pagesInFlightPerSliceMax {
                guard let page = await begin(after: readThrough, isFirst: flights.isEmpty) else { break }
                flights.append(page)
                readThrough = page.through
                hasReadAll = page.isLast
                if page.isProbe { break }
            }
            guard !flights.isEmpty else { break }
            await finish(&flights)
        }
        for page in flights { page.budgetPlace?.giveBack() }
        if !isOver { await leave() }
    }

    /// Awaits the first page, and with it the others where trouble ended it early, and settles what is known.
    private mutating func finish(_ flights: inout [SentPage]) async {
        let head = flights.removeFirst()
        var group = [await answers(to: head, mayLeaveStragglers: isBulk && !context.latecomers.isFull)]
        if group[0].trouble != nil {
            let wasStopped = control.isStopped
            control.stop()
            halt = halt ?? (wasStopped ? .interrupted : .closed(until: context.time.now + .seconds(1)))
            for page in flights { group.append(await answers(to: page, mayLeaveStragglers: false)) }
            flights = []
            await heal(&group)
            await conclude(group, isLast: true, isOwnStop: wasStopped)
        } else {
            await heal(&group)
            await conclude(group, isLast: flights.isEmpty, isOwnStop: false)
        }
        for fates in group { fates.page.budgetPlace?.giveBack() }
    }

    /// Ends the lease of a slice that no page in flight ends.
    private mutating func leave() async {
        switch halt {
        case .lostLease: break
        case .expired:
            var rest = SliceRest(context: context, slice: slice, candidates: candidates, left: unsettled)
            await rest.settle(.expired, reason: Reason.expired)
        case .interrupted, .outdated, .closed, .unreadable, nil:
            slice.counts.pending = unsettled
            await settle([
                Settlement(
                    slice: slice.id, owner: context.owner, term: slice.term, cursorBefore: slice.cursor,
                    cursorAfter: slice.cursor, counts: slice.counts, logRow: nil, next: released)
            ])
        }
    }

    var released: Settlement.Next {
        switch halt {
        case .closed(let until): .release(readyAt: until)
        case .unreadable: .release(readyAt: context.time.now + .seconds(5))
        default: .release(readyAt: nil)
        }
    }

    /// Writes settlements of this slice and takes over what they changed.
    /// - Returns: The results; empty when the lease was lost.
    @discardableResult
    mutating func settle(_ settlements: [Settlement]) async -> [Settlement.Result] {
        let askedAt = context.time.uptime
        let results = await context.settler.settle(settlements)
        guard let last = settlements.last, results.allSatisfy(\.isApplied) else {
            context.logger.warning("a lease was lost", metadata: ["message": "\(slice.id.message)"])
            control.stop()
            halt = .lostLease
            isOver = true
            return []
        }
        slice.cursor = last.cursorAfter
        slice.counts = last.counts
        slice.pageCount += settlements.count { $0.logRow != nil }
        if case .keep = last.next {
            context.leases.renew(slice.id, term: slice.term, askedAt: askedAt)
        } else {
            isOver = true
            context.ready.set()
        }
        return results
    }
}

extension SliceRun {
    /// Settles pages whose answers are there.
    /// - Parameters:
    ///   - isLast: Whether no other page of the slice is in flight.
    ///   - isOwnStop: Whether the pages were stopped by us.
    mutating func conclude(_ group: [PageFates], isLast: Bool, isOwnStop: Bool) async {
        let isProbe = group.contains { $0.page.isProbe }
        let report = await context.report(
            group, on: route, key: key, version: accessVersion, isProbe: isProbe, isOwnStop: isOwnStop)
        if let until = report.readyAt, halt == nil { halt = .closed(until: until) }
        if case .closed = halt, let until = report.readyAt { halt = .closed(until: until) }
        let now = context.time.now
        let readyAt = isOwnStop ? now : report.readyAt ?? now + .seconds(1)
        let conclusion = Conclusion(
            group, locales: locales,
            terms: Conclusion.Terms(
                attempt: slice.attempt, life: life, now: now, readyAt: readyAt,
                suspiciousUntil: report.trustsSuspicious ? nil : max(readyAt, now + .seconds(1)),
                stragglersLeasedUntil: context.leaseEnd, keepsTail: true,
                holdsAddresses: slice.id.holdsAddresses),
            chance: context.randomness.next())
        let left = max(0, unsettled - conclusion.log.count)
        let earlier = slice.counts
        let askedAt = context.time.uptime
        let next = next(conclusion, group, isLast: isLast)
        var settlements = conclusion.settlements(
            of: slice, owner: context.owner, pending: next == .done ? 0 : left, sentAt: group[0].page.sentAt,
            next: next, keep: .keep(leaseUntil: context.leaseEnd),
            part: context.randomness.positiveNumber)
        if group.contains(where: { $0.page.order.map { $0.flight.snapshot.begun > 0 } ?? false }) {
            settlements[0].triedAt = group[0].page.sentAt
        }
        let results = await settle(settlements)
        guard !results.isEmpty else { return }
        unsettled = left
        context.count(conclusion, since: earlier, settlements)
        if let slice = results.last?.leasedSlices.first {
            follow(slice, group[0].page, conclusion.stragglers, askedAt: askedAt)
        }
    }

    private func next(_ conclusion: Conclusion, _ group: [PageFates], isLast: Bool) -> Settlement.Next {
        if conclusion.isWhole, group.last?.page.isLast == true { return .done }
        if isLast, let halt, halt != .expired { return released }
        return .keep(leaseUntil: context.leaseEnd)
    }

    /// Leaves stragglers to the service that awaits them.
    private func follow(_ list: Slice, _ page: SentPage, _ places: [Int], askedAt: Duration) {
        context.leases.add(list, askedAt: askedAt)
        context.latecomers.put(
            Latecomer(
                slice: list, page: page, places: places, locales: locales, life: life,
                lostAnswer: options.lostAnswer, key: key, accessVersion: accessVersion,
                until: askedAt + .seconds(Limits.requestTimeoutSeconds + 2)))
    }
}
