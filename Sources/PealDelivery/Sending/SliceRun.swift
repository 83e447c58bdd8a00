internal import Logging
internal import PealCore

/// Sends one slice: carries out the actions of its `SliceLife`, and reports the events. Confined to one task.
struct SliceRun: Sendable {
    let context: DeliveryContext
    /// The slice as stored.
    var slice: Slice
    /// The devices of the slice, as of `audience`.
    var candidates: KeySet
    var audience: AudienceAge
    /// When the message's state was last read.
    var stateReadAt: Duration
    let work: MessageWork
    let terms: SendTerms
    let control: SendControl
    var life: SliceLife
    /// The pages of `SliceLife.flights`.
    var pages: [SentPage] = []
    /// Devices without a row in the log, as far as the audience was read.
    var unsettled: Int
    /// Whether it has only one device, which never waits for others.
    let isSingle: Bool
    /// Whether it awaits the stragglers of a page that was settled without them.
    var isFollowing = false
    /// The answered pages that are being concluded, and their consequences.
    private var group: [SentPage] = []
    private var conclusion: Conclusion?
    /// Whether Peal itself stopped the pages, or the message expired, so that unsent devices say nothing about the
    /// route.
    private var isOwnStop = false

    init(
        context: DeliveryContext, slice: Slice, opening: SliceOpening, terms: SendTerms, control: SendControl
    ) {
        self.context = context
        self.slice = slice
        candidates = opening.candidates
        audience = AudienceAge(readAt: context.time.uptime)
        work = opening.work
        stateReadAt = work.readAt
        self.terms = terms
        self.control = control
        unsettled = opening.candidates.count
        isSingle = unsettled <= 1
        life = SliceLife(
            after: slice.cursor,
            flightsMax: slice.lane == .bulk
                ? Limits.pagesInFlightPerSliceMax : Limits.directPagesInFlightPerSliceMax)
    }

    var isBulk: Bool { slice.lane == .bulk }

    /// Returns when the slice is done, released or lost.
    mutating func run() async {
        var action = life.after(.leased)
        while let event = await perform(action) { action = life.after(event) }
        for page in pages { page.slot?.release() }
    }

    /// - Returns: nil at the end.
    private mutating func perform(_ action: SliceLife.Action) async -> SliceLife.Event? {
        switch action {
        case .begin(let key, let isFirst): return await begin(after: key, isFirst: isFirst)
        case .await: return await answered()
        case .gather: return await gathered()
        case .conclude: return await conclude()
        case .settle(let next): return await settle(next)
        case .settleRest:
            var rest = SliceRest(
                context: context, slice: slice, candidates: candidates, left: unsettled,
                isTest: work.job.isTest)
            await rest.settle(.expired, reason: Reason.expired)
            return nil
        case .end: return nil
        }
    }

    /// Awaits the first page. Complete pages behind a small one are settled with it.
    private mutating func answered() async -> SliceLife.Event {
        group = [await answers(to: 0, mayLeaveStragglers: !context.stragglers.isFull)]
        isOwnStop = false
        if group[0].problem == nil, !isBulk {
            for var page in pages.dropFirst() {
                guard let answers = page.order?.flight.answers, answers.isComplete else { break }
                page.take(answers, isFinal: true)
                guard page.problem == nil else { break }
                group.append(page)
            }
        }
        guard group[0].problem != nil else { return .answered(group.count, halt: nil) }
        let (now, wasStopped) = (context.time.now, control.isStopped)
        let isOver = terms.life.isOver(at: now)
        isOwnStop = wasStopped || isOver
        let closed = SliceLife.Halt.closed(until: now + .seconds(1))
        return .answered(1, halt: wasStopped ? .interrupted : isOver ? .expired : closed)
    }

    private mutating func gathered() async -> SliceLife.Event {
        control.stop()
        for index in pages.indices.dropFirst() {
            group.append(await answers(to: index, mayLeaveStragglers: false))
        }
        return .answered(pages.count, halt: life.halt)
    }

    private mutating func conclude() async -> SliceLife.Event {
        group = await healed(group)
        let effect = await context.report(
            group, under: terms, isProbe: group.contains(where: \.isProbe), isRepeated: slice.attempt > 0,
            isOwnStop: isOwnStop)
        let chance = context.randomness.next()
        let now = context.time.now
        let readyAt = isOwnStop ? now : effect.readyAt ?? now + .seconds(1)
        let conclusion = Conclusion(
            group,
            terms: Conclusion.Terms(
                attempt: slice.attempt, life: terms.life, lostAnswer: terms.lostAnswer, now: now, readyAt: readyAt,
                suspicion: suspicion(effect.suspiciousAddresses, readyAt: readyAt, now: now, chance: chance),
                stragglersLeasedUntil: context.leaseEnd, holdsAddresses: slice.id.holdsAddresses,
                doubt: slice.doubt),
            chance: chance)
        self.conclusion = conclusion
        return .concluded(isWhole: conclusion.isWhole, closed: effect.readyAt)
    }

    /// When devices with suspicious addresses are tried again; nil if the addresses are retired.
    private func suspicion(
        _ addresses: RouteBreaker.SuspiciousAddresses, readyAt: Timestamp, now: Timestamp, chance: UInt64
    ) -> Conclusion.Suspicion? {
        let (attempt, soon) = (slice.attempt + 1, max(readyAt, now + .seconds(1)))
        switch addresses {
        case .retire: return nil
        case .retryUncounted: return Conclusion.Suspicion(until: soon, attempt: slice.attempt)
        case .retryOnOpenRoute: return Conclusion.Suspicion(until: soon, attempt: attempt)
        case .retryLater:
            let delay = BackOff.delay(.doubt, attempt: attempt, chance: chance)
            return Conclusion.Suspicion(until: now + delay, attempt: attempt)
        }
    }

    /// Writes what was concluded; without a conclusion, only ends the lease. It returns when the write is durable,
    /// however long the store refuses writes, or when another process has the lease.
    private mutating func settle(_ next: SliceLife.Next) async -> SliceLife.Event {
        let conclusion = conclusion
        defer { finishGroup() }
        await uncount(group.flatMap(\.untried))
        let left = max(0, unsettled - (conclusion?.log.count ?? 0))
        let settlements = settlements(of: conclusion, left: left, next)
        let (earlier, askedAt) = (slice.counts, context.time.uptime)
        let judgedAt = context.time.now
        let results = await context.settler.settle(settlements)
        guard let last = settlements.last, results.allSatisfy(\.isApplied) else {
            context.logger.warning("a lease was lost", metadata: ["message": "\(slice.id.message)"])
            control.stop()
            return .refused
        }
        advance(by: settlements, last, left: left)
        if let conclusion {
            // Otherwise the devices are sent to again, and counted at that time.
            if results.allSatisfy(\.keepsAnswers) { context.count(conclusion, since: earlier, settlements) }
            trace(group, judgedAt: judgedAt, isQuarantined: results.contains(where: \.isQuarantined))
        }
        if let list = results.last?.leasedSlices.first, let conclusion {
            follow(list, conclusion.stragglers, askedAt: askedAt)
        }
        if results.contains(where: \.isQuarantined) {
            control.stop()
            await quarantineRest()
            return .refused
        }
        if results.last?.messageState != nil { context.messages.drop(slice.id.message) }
        if next == .keep {
            context.leases.renew(slice.lease, askedAt: askedAt)
        } else {
            context.ready.set()
        }
        return .settled
    }

    /// Takes over what the store has of the slice now.
    private mutating func advance(by settlements: [Settlement], _ last: Settlement, left: Int) {
        slice.cursor = last.cursorAfter
        slice.counts = last.counts
        slice.doubt = last.doubt
        if settlements.contains(where: { !$0.deferrals.isEmpty }) { slice.isOnly = false }
        slice.pageCount += settlements.count { $0.logRow != nil }
        unsettled = left
    }

    /// A message counts for a device's frequency cap before it is sent. If it was not sent, the count is removed while
    /// the lease holds: afterwards, another worker may send it.
    func uncount(_ keys: [DeviceKey]) async {
        guard slice.attempt == 0, slice.doubt == 0, let end = context.leases.end(of: slice.lease),
            context.time.uptime < end
        else { return }
        do {
            try await context.gate.uncount(keys, of: work.job, in: slice.id)
        } catch {
            context.logger.error(
                "devices that were not sent to still count for a frequency cap",
                metadata: ["message": "\(slice.id.message)", "error": "\(error)"])
        }
    }

    /// Awaits the pages that are in flight although their slice was quarantined, and adds their answers to it:
    /// otherwise a resumed slice would send to their devices again.
    private mutating func quarantineRest() async {
        finishGroup()
        guard !pages.isEmpty else { return }
        for index in pages.indices { group.append(await answers(to: index, mayLeaveStragglers: false)) }
        isOwnStop = true
        _ = await conclude()
        guard let conclusion else { return }
        let left = max(0, unsettled - conclusion.log.count)
        let rest = settlements(of: conclusion, left: left, .keep)
        guard await context.settler.addToQuarantine(rest) else { return }
        context.count(conclusion, since: slice.counts, rest)
    }

    /// Releases what the settled pages held.
    private mutating func finishGroup() {
        for _ in group { pages.removeFirst().slot?.release() }
        group = []
        conclusion = nil
    }

    private func settlements(
        of conclusion: Conclusion?, left: Int, _ next: SliceLife.Next
    ) -> [Settlement] {
        let keep = Settlement.Next.keep(leaseUntil: context.leaseEnd)
        let then: Settlement.Next =
            switch next {
            case .keep: keep
            case .done: .done
            case .release: .release(readyAt: readyAt)
            }
        guard let conclusion else {
            var counts = slice.counts
            counts.pending = unsettled
            return [Settlement(of: slice, by: context.owner, counts: counts, next: then)]
        }
        var settlements = conclusion.settlements(
            of: slice, owner: context.owner, pending: next == .done ? 0 : left, sentAt: group[0].sentAt,
            next: then, keep: keep, part: context.randomness.positiveNumber)
        if group.contains(where: { $0.order?.flight.answers.isTried ?? false }) {
            settlements[0].triedAt = group[0].sentAt
        }
        if work.job.isTest {
            for index in settlements.indices { settlements[index].added = nil }
        }
        return settlements
    }

    private var readyAt: Timestamp? {
        switch life.halt {
        case .closed(let until): until
        case .unreadable: context.time.now + .seconds(5)
        case .interrupted, .outdated, .expired, .lostLease, nil: nil
        }
    }

    /// Passes the stragglers, which are the devices of `list`, to the service that awaits them.
    private func follow(_ list: Slice, _ indices: [Int], askedAt: Duration) {
        let page = pages[0].part(indices)
        var run = self
        run.slice = list
        run.candidates = KeySet(listOf: list)
        run.pages = [page]
        run.group = []
        run.conclusion = nil
        run.unsettled = indices.count
        run.isFollowing = true
        run.pages[0].openSince = context.time.uptime
        if isBulk, !isFollowing {
            run.pages[0].awaitedUntil = askedAt + Self.answerTime
            run.pages[0].lag = context.time.lag
        }
        run.life = SliceLife(
            following: SliceLife.Page(through: page.through, isLast: true, isProbe: false))
        context.leases.add(list.lease, askedAt: askedAt)
        context.stragglers.put(run)
    }
}

/// When the devices of a slice were read. A slice that is sent slowly, because of a rate or a slow network, reads them
/// again from time to time: devices that have left the audience must not get the message.
struct AudienceAge: Sendable {
    private static let life = Duration.seconds(1)
    /// Reading takes at most one part in this many of the elapsed time.
    private static let costInverse = 20

    /// On `TimeSource.uptime`.
    let readAt: Duration
    /// How long the read took.
    var took = Duration.zero

    func isOver(at uptime: Duration) -> Bool { uptime - readAt >= max(Self.life, took * Self.costInverse) }
}

/// The trace of a message.
extension SliceRun {
    /// Records the pages that were settled together.
    private func trace(_ group: [SentPage], judgedAt: Timestamp, isQuarantined: Bool) {
        guard let traces = context.traces, traces.records(slice.id.message), let first = group.first else {
            return
        }
        let (message, now, route) = (slice.id.message, context.time.now, slice.id.route)
        let devices = group.reduce(0) { $0 + $1.keys.count }
        let page = UInt64(bitPattern: context.randomness.positiveNumber())
        func id() -> UInt64 { UInt64(bitPattern: context.randomness.positiveNumber()) }
        traces.record([
            TraceSpan(
                .page, of: message, id: page, parent: TraceSpan.root(of: message), start: first.readAt,
                duration: now - first.readAt,
                attributes: [
                    "peal.devices": .integer(Int64(devices)), "peal.route": .string("\(route)"),
                    "peal.server": .string(context.owner), "peal.attempt": .integer(Int64(slice.attempt)),
                ], isFailed: isQuarantined),
            TraceSpan(
                .provider, of: message, id: id(), parent: page, start: first.sentAt, duration: judgedAt - first.sentAt,
                attributes: ["peal.provider": .string(route.provider?.rawValue ?? "none")]),
            TraceSpan(.settle, of: message, id: id(), parent: page, start: judgedAt, duration: now - judgedAt),
        ])
    }
}
