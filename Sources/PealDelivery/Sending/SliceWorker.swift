internal import Logging
internal import PealCore

/// Works on one leased slice: receives it from the dispatcher or the direct lane, and hands its devices to a provider
/// page by page, or settles them without sending if the message's state requires it.
struct SliceWorker: Sendable {
    let context: DeliveryContext

    /// Returns when the slice, whose lease is on the board, is done, released or lost.
    func work(_ slice: Slice) async {
        defer { context.leases.remove(slice.lease) }
        do {
            // Before the state is read, so that no interruption is missed in between.
            let control = context.messages.addControl(slice.id.message)
            defer { context.messages.removeControl(control, of: slice.id.message) }
            guard !control.isStopped else { return await release(slice, readyAt: nil) }
            guard let opening = try await context.open(slice) else { return }
            try await work(slice, opening, control)
        } catch {
            context.logFailure(
                "a slice could not be read", error,
                ["message": "\(slice.id.message)", "key_range": "\(slice.id.rangeStart)"])
            // If the slice's message has ended, a released slice would be leased again at once, so its lease must
            // expire first. The same applies if the message cannot be read either, because it may have ended.
            if !PealError.isOutage(error), await hasEnded(slice.id) { return }
            await release(slice, readyAt: context.time.now + .seconds(5))
        }
    }

    /// Whether the message has ended or expired, or cannot be read either.
    private func hasEnded(_ slice: Slice.ID) async -> Bool {
        let message = try? await context.store.read { try $0.message(app: slice.app, id: slice.message) }
        return message.map { $0.state.isFinal || $0.expiresAt <= context.time.now } ?? true
    }

    private func work(_ slice: Slice, _ opening: SliceOpening, _ control: SendControl) async throws {
        switch opening.course {
        case .release(let readyAt):
            await release(slice, readyAt: readyAt)
        case .settleRest(let outcome, let reason):
            var rest = SliceRest(
                context: context, slice: slice, candidates: opening.candidates, left: opening.candidates.count,
                isTest: opening.work.job.isTest)
            await rest.settle(outcome, reason: reason)
        case .send(let terms):
            let isRated = slice.lane == .bulk && !slice.isProbe
            let rates = isRated ? try await context.gate.rates(of: opening.work.job, in: slice.id) : GateRates()
            let limits = RateBoard.keys(of: slice.id, rates)
            guard context.rates.enter(limits) else {
                let spread = Int64(context.randomness.next() % 4000)
                return await release(slice, readyAt: context.time.now + .milliseconds(2000 + spread))
            }
            defer { context.rates.leave(limits) }
            guard try await !replaceWithLists(slice, opening, terms.life, isRated: rates.isLimited) else { return }
            var run = SliceRun(context: context, slice: slice, opening: opening, terms: terms, control: control)
            await run.run()
        }
    }

    /// Replaces a key range with lists if some of its devices must wait. Under a rate, it also replaces a list, because
    /// devices that wait again, such as after a change of the rules, must not use up the rate.
    /// - Returns: whether the slice was replaced, or lost.
    private func replaceWithLists(
        _ slice: Slice, _ opening: SliceOpening, _ life: PlatformLife, isRated: Bool
    ) async throws -> Bool {
        // A probe needs answers: its page goes through the gate alone.
        guard slice.keys == nil || isRated, !slice.id.holdsAddresses, slice.lane == .bulk, !slice.isProbe,
            try await context.gate.needs(of: opening.work.job, in: slice.id).sorting
        else { return false }
        return try await SortPass(
            context: context, slice: slice, candidates: opening.candidates, job: opening.work.job, life: life
        ).run()
    }

    /// Ends a lease under which nothing was done.
    func release(_ slice: Slice, readyAt: Timestamp?) async {
        _ = await context.settler.settle([
            Settlement(of: slice, by: context.owner, next: .release(readyAt: readyAt))
        ])
    }
}

/// What a worker finds when it opens a slice, and what it must do with it.
struct SliceOpening: Sendable {
    /// The consequence of the message's state, its lifetime and the credential.
    enum Course: Sendable {
        case send(SendTerms)
        /// All remaining devices of the slice end without being sent to.
        case settleRest(Outcome, reason: String)
        /// The store holds the slice, or the slice becomes ready later.
        case release(readyAt: Timestamp?)
    }

    let work: MessageWork
    let candidates: KeySet
    let course: Course
}

/// The route, credential and lifetime with which the pages of a slice are sent, and by which their answers are judged.
struct SendTerms: Sendable {
    let route: ActiveRoute
    let provider: any Provider
    let access: RouteAccess
    let slot: CredentialSlot
    /// `AccessCache.version` of the credential.
    let accessVersion: Int
    let life: PlatformLife
    let lostAnswer: MessageOptions.LostAnswer
}

extension DeliveryContext {
    /// How old a message's state may be when a slice is opened or, with several servers, a page is sent. Changes by
    /// this process are known at once.
    var stateLife: Duration { isOnlyProcess ? MessageCache.life : .seconds(1) }

    /// Reads what the slice needs, in one read, unless it is already known.
    /// - Returns: nil when its message is gone.
    func open(_ slice: Slice) async throws -> SliceOpening? {
        let slot = credentialSlot(slice)
        let uptime = time.uptime
        let interruptions = messages.interruptions
        var version = slot.map { access.version(of: $0) } ?? 0
        let known = messages.work(slice.id.message, notBefore: uptime - stateLife)
        let knownAccess = slot.flatMap { access.find($0, now: uptime) }
        if let known, isStillPlainList(slice, known), slot == nil || knownAccess != nil {
            return SliceOpening(
                work: known, candidates: KeySet(listOf: slice),
                course: course(slice, known, knownAccess?.access, slot: slot, version: version))
        }
        let found = try await store.read { [now = time.now] reader in
            let job = try known?.job ?? reader.job(app: slice.id.app, id: slice.id.message)
            var access = knownAccess?.access
            if let slot, knownAccess == nil {
                access = try reader.credential(at: slot).map { RouteAccess($0.credential, $0.record) }
            }
            return (job: job, access: access, candidates: try reader.candidates(of: slice, now: now))
        }
        guard let job = found.job else { return nil }
        if let slot, knownAccess == nil { version = keep(found.access, at: slot, version: version, now: uptime) }
        let work = known ?? messages.keep(job, readAt: uptime, readAfter: interruptions)
        return SliceOpening(
            work: work, candidates: found.candidates,
            course: course(slice, work, found.access, slot: slot, version: version))
    }

    /// Whether the slice's keys are still its audience: the message was just accepted, or its devices cannot leave the
    /// audience.
    private func isStillPlainList(_ slice: Slice, _ known: MessageWork) -> Bool {
        let isSame = known.job.isLastingList || time.uptime - known.readAt < .seconds(1)
        return isSame && known.job.isPlainList && !slice.id.holdsAddresses && slice.attempt == 0
    }

    /// nil if the platform no longer has a push network, or this server does not support it.
    private func credentialSlot(_ slice: Slice) -> CredentialSlot? {
        guard let slot = CredentialSlot(of: slice.id.activeRoute), providers[slot.provider] != nil else { return nil }
        return slot
    }

    private func course(
        _ slice: Slice, _ work: MessageWork, _ access: RouteAccess?, slot: CredentialSlot?, version: Int
    ) -> SliceOpening.Course {
        switch work.job.message.state {
        case .cancelled: return .settleRest(.suppressed, reason: Reason.cancelled)
        case .expired: return .settleRest(.expired, reason: Reason.expired)
        case .failed: return .settleRest(.suppressed, reason: Reason.messageFailed)
        case .paused, .scheduled: return .release(readyAt: nil)
        case .planning, .sending, .sent: break
        }
        guard let slot, let provider = providers[slot.provider] else {
            return .settleRest(.suppressed, reason: Reason.noProvider)
        }
        if work.job.content.absentPlatforms.contains(slice.id.route.platform) {
            return .settleRest(.suppressed, reason: Reason.noContent)
        }
        let life = work.life(on: slice.id.route)
        if life.isOver(at: time.now) { return .settleRest(.expired, reason: Reason.expired) }
        guard let access else { return .settleRest(.suppressed, reason: Reason.noCredential) }
        return .send(
            SendTerms(
                route: slice.id.activeRoute, provider: provider, access: access, slot: slot, accessVersion: version,
                life: life, lostAnswer: work.options(on: slice.id.route).lostAnswer))
    }
}

/// Settles all remaining devices of a slice without sending. It needs only the set of keys and reads no addresses.
struct SliceRest: Sendable {
    private static let devicesPerRow = 4096
    private static let rowsPerWrite = 8

    let context: DeliveryContext
    var slice: Slice
    let candidates: KeySet
    /// How many devices are left.
    var left: Int
    /// Whether the message is a test, which statistics do not count.
    let isTest: Bool

    /// Settles all of them as `outcome`, with `reason` in the log.
    mutating func settle(_ outcome: Outcome, reason: String) async {
        let ending = DeliveryLog.Ending(outcome, reason: reason, attempt: slice.attempt)
        var isDone = false
        while !isDone {
            guard context.leases.end(of: slice.lease) != nil else { return }
            let earlier = slice.counts
            var settlements: [Settlement] = []
            for _ in 0..<Self.rowsPerWrite where !isDone {
                let keys = candidates.keys(after: slice.cursor, limit: Self.devicesPerRow)
                isDone = keys.count < Self.devicesPerRow
                settlements += rows(keys, ending, isLast: isDone)
            }
            let askedAt = context.time.uptime
            let results = await context.settler.settle(settlements)
            guard results.allSatisfy({ $0.isApplied && !$0.isQuarantined }) else {
                return context.leases.remove(slice.lease)
            }
            context.leases.renew(slice.lease, askedAt: askedAt)
            context.count(slice.counts, since: earlier, app: slice.id.app, slice.id.route.provider)
        }
    }

    private mutating func rows(_ keys: [DeviceKey], _ ending: DeliveryLog.Ending, isLast: Bool) -> [Settlement] {
        let zeros = Array(repeating: UInt16(0), count: keys.count)
        let log = DeliveryLog(keys: keys, endings: [ending], endingOf: zeros, locales: [nil], localeOf: zeros)
        let through = isLast ? max(slice.keyTo, slice.cursor) : keys.last ?? slice.cursor
        var settlements: [Settlement] = []
        for (range, row) in log.rows(sentAt: context.time.now) {
            var settlement = step(
                to: range.upperBound == keys.count ? through : row.lastKey, adding: log.counts(range), row)
            if slice.id.isMoment { settlement.alerts = range.map(log.entry) }
            settlements.append(settlement)
        }
        if settlements.isEmpty { settlements.append(step(to: through, adding: OutcomeCounts(), nil)) }
        if isLast {
            settlements[settlements.count - 1].next = .done
            settlements[settlements.count - 1].counts.pending = 0
        }
        return settlements
    }

    private mutating func step(
        to key: DeviceKey, adding counts: OutcomeCounts, _ row: Settlement.LogRow?
    ) -> Settlement {
        left = max(0, left - counts.settled)
        slice.counts.add(counts)
        slice.counts.pending = left
        var settlement = Settlement(
            of: slice, by: context.owner, to: key, logRow: row, next: .keep(leaseUntil: context.leaseEnd))
        slice.cursor = key
        if !isTest, !slice.id.isMoment { settlement.added = counts }
        return settlement
    }
}
