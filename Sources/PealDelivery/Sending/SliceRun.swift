internal import Logging
internal import PealCore

/// Sends one slice with at most two pages in flight, which are settled in order. Confined to one task.
struct SliceRun: Sendable {
    /// Why no further page begins.
    enum Halt: Sendable, Hashable {
        /// The message was paused or cancelled, or the process stops.
        case interrupted
        /// The credential changed: the slice must be opened again.
        case outdated
        /// The route is closed until then.
        case closed(until: Timestamp)
        case expired
        case lostLease
        /// The store could not be read.
        case unreadable
    }

    let context: DeliveryContext
    /// As it is stored.
    var slice: Slice
    let candidates: KeySet
    let work: MessageWork
    let access: RouteAccess
    let terms: SendTerms
    let provider: any Provider
    let variants: Variants
    let control: SendControl
    var halt: Halt?
    /// Devices without a row in the log, as far as the audience was read.
    var unsettled: Int
    var locales: [String?] = []
    /// Whether the slice is no longer ours.
    var isOver = false

    init(
        context: DeliveryContext, slice: Slice, opening: SliceOpening, access: RouteAccess, terms: SendTerms,
        provider: any Provider, control: SendControl
    ) {
        self.context = context
        self.slice = slice
        candidates = opening.candidates
        work = opening.work
        self.access = access
        self.terms = terms
        self.provider = provider
        variants = opening.work.variants(
            route: slice.id.route, access: access, provider: provider, now: context.time.now)
        self.control = control
        unsettled = opening.candidates.count
    }

    var isBulk: Bool { slice.lane == .bulk }

    /// Returns when the slice is done, released or lost.
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
        for page in flights { page.slot?.release() }
        if !isOver { await leave() }
    }

    /// Awaits the first page, and the others with it where trouble ended it early, and settles what is known.
    private mutating func finish(_ flights: inout [SentPage]) async {
        let head = flights.removeFirst()
        var group = [await answers(to: head, mayLeaveStragglers: isBulk && !context.stragglers.isFull)]
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
        for fates in group { fates.page.slot?.release() }
    }

    /// Ends the lease of a slice without a page in flight.
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
        case .interrupted, .outdated, .expired, .lostLease, nil: .release(readyAt: nil)
        }
    }

    /// Writes settlements of this slice and takes over what they changed.
    /// - Returns: The results; none when the lease was lost.
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
    /// Settles answered pages.
    /// - Parameters:
    ///   - isLast: Whether no other page of the slice is in flight.
    ///   - isOwnStop: Whether we stopped the pages ourselves.
    mutating func conclude(_ group: [PageFates], isLast: Bool, isOwnStop: Bool) async {
        let (conclusion, closedUntil) = await context.conclude(
            group, of: slice, under: terms, locales: locales, isProbe: group.contains { $0.page.isProbe },
            isOwnStop: isOwnStop, keepsTail: true)
        if let closedUntil {
            switch halt {
            case nil, .closed: halt = .closed(until: closedUntil)
            case .interrupted, .outdated, .expired, .lostLease, .unreadable: break
            }
        }
        let left = max(0, unsettled - conclusion.log.count)
        let earlier = slice.counts
        let askedAt = context.time.uptime
        let next = next(conclusion, group, isLast: isLast)
        var settlements = context.settlements(
            of: conclusion, slice, pending: next == .done ? 0 : left, sentAt: group[0].page.sentAt, next: next)
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

    /// Leaves stragglers, which are the devices of `list`, to the service that awaits them.
    private func follow(_ list: Slice, _ page: SentPage, _ indices: [Int], askedAt: Duration) {
        context.leases.add(list, askedAt: askedAt)
        context.stragglers.put(
            Stragglers(
                slice: list, page: page, indices: indices, locales: locales, terms: terms,
                until: askedAt + .seconds(Limits.requestTimeoutSeconds + 2)))
    }
}
