internal import Logging
internal import PealCore

extension SliceRun {
    /// The remaining time that a lease needs for a page; otherwise it is extended first.
    private static let pageSeconds: Int64 = 5
    /// How long a page may go without an answer until it counts as stalled.
    private static let stalledAfter: Duration = .seconds(1)
    /// How long the answer to a request that has begun may take, until its connection has given it up.
    static var answerTime: Duration { .seconds(Limits.requestTimeoutSeconds + 2) }
    private static var afterDeadline: Duration { .seconds(Limits.requestTimeoutSeconds + 5) }

    /// How often answered devices are settled without the rest.
    private var settleInterval: Duration {
        .milliseconds(isBulk ? Limits.stragglerMilliseconds : Limits.directSettleMilliseconds)
    }

    /// Reads, renders and sends the next page.
    mutating func begin(after key: DeviceKey, isFirst: Bool) async -> SliceLife.Event {
        await context.health.untilWriting(context.stop)
        if let reason = reasonToHalt() { return .halted(reason) }
        let usual = isBulk ? context.budget.pageDevicesMax : Limits.directPageDevicesMax
        let limit: Int
        switch await allowed(usual, isFirst: isFirst) {
        case .now(let count): limit = count
        case .halted(let reason): return .halted(reason)
        case .crowded: return .crowded
        }
        // A single device needs no slot, because it never waits for others.
        guard isBulk || !isSingle else { return await enter(after: key, limit: limit, nil) }
        let budget = isBulk ? context.budget : context.directBudget
        let (load, direct, route, isBulk) = (context.load, context.direct, terms.route, isBulk)
        func isStalled() -> Bool { load.isStalled(route) || !isBulk && direct.isStalled(route) }
        let devices = min(limit, max(1, unsettled))
        let weight = isBulk ? PageBudget.slots(for: devices) : devices
        // Waits for a slot only while the slice holds none.
        let slot =
            isFirst
            ? await budget.take(weight) { isStalled() }
            : budget.takeIfFree(weight, isStalled: isStalled())
        guard let slot else { return .crowded }
        // The message may have ended while it waited for the slot.
        if let reason = reasonToHalt() {
            slot.release()
            return .halted(reason)
        }
        return await enter(after: key, limit: limit, slot)
    }

    private mutating func enter(
        after key: DeviceKey, limit: Int, _ slot: PageBudget.Slot?
    ) async -> SliceLife.Event {
        let message = slice.id.message
        let isLeasedForProbe = slice.isProbe
        slice.isProbe = false
        let (gate, probeMax) = context.routes.change(terms.route) {
            ($0.enter(message, isLeasedForProbe: isLeasedForProbe, now: context.time.uptime), $0.probeDevicesMax)
        }
        if case .closed = gate {
            slot?.release()
            return .halted(.closed(until: await context.park(on: terms.route)))
        }
        let isProbe = gate == .probe
        let attempt = await send(after: key, limit: isProbe ? min(limit, probeMax) : limit, isProbe)
        if !attempt.hasOrder {
            slot?.release()
            if isProbe { context.routes.change(terms.route) { $0.abandonProbe(of: message) } }
        }
        switch attempt {
        case .halted(let reason): return .halted(reason)
        case .sent(var page):
            if page.order != nil { page.slot = slot }
            pages.append(page)
            return .began(SliceLife.Page(through: page.through, isLast: page.isLast, isProbe: page.isProbe))
        }
    }

    private enum Allowance {
        case now(Int)
        case halted(SliceLife.Halt)
        case crowded
    }

    /// How many devices the rates of the message and the app allow now.
    private func allowed(_ usual: Int, isFirst: Bool) async -> Allowance {
        let (app, message, wanted) = (slice.id.app, slice.id.message, max(1, min(usual, unsettled)))
        while true {
            if let reason = reasonToHalt() { return .halted(reason) }
            do {
                let rates = try await context.gate.rates(of: work.job, in: slice.id)
                guard rates.isLimited else { return .now(usual) }
                let now = context.time.now
                let grant = try await context.store.write(.settle) {
                    try $0.takeRate(app: app, message: message, ofApp: rates.ofApp, wanted: wanted, now: now)
                }
                if grant.count > 0 { return .now(min(usual, grant.count)) }
                // Answers of other pages are settled meanwhile.
                guard isFirst else { return .crowded }
                let key = grant.isOfApp ? RateBoard.Key.app(app) : .message(message)
                let turn = context.rates.turn(
                    key, after: grant.readyAt - now, takes: grant.takes, now: context.time.uptime)
                guard turn.isNear else { return .halted(.closed(until: context.time.now + turn.delay)) }
                try await context.time.sleep(for: turn.delay)
            } catch {
                return .halted(.unreadable)
            }
        }
    }

    private func reasonToHalt() -> SliceLife.Halt? {
        if context.stop.isOn || control.isStopped { return .interrupted }
        if terms.life.isOver(at: context.time.now) { return .expired }
        if isOutdated { return .outdated }
        return context.leases.end(of: slice.lease) == nil ? .lostLease : nil
    }

    /// Whether the credential changed since the slice was opened.
    private var isOutdated: Bool { context.access.version(of: terms.slot) != terms.accessVersion }

    private enum SendAttempt {
        case sent(SentPage)
        case halted(SliceLife.Halt)

        /// Whether a request is made for any device.
        var hasOrder: Bool { if case .sent(let page) = self { page.order != nil } else { false } }
    }

    private mutating func send(after key: DeviceKey, limit: Int, _ isProbe: Bool) async -> SendAttempt {
        do {
            guard try await !isChangedElsewhere() else { return .halted(.interrupted) }
            try await readAudienceIfOld(after: key)
            guard let deadline = try await deadline() else { return .halted(.lostLease) }
            let (slice, candidates, now, gate) = (slice, candidates, context.time.now, context.gate)
            let needs = try await gate.needs(of: work.job, in: slice.id)
            let page: DevicePage
            if let planned = plannedPage(after: key, limit: limit), !needs.people {
                page = planned
            } else {
                page = try await context.store.read(isBulk ? .delivery : .brief) {
                    try $0.page(
                        of: slice, candidates: candidates, after: key, limit: limit, now: now, withPeople: needs.people)
                }
            }
            let rulings = try await gate.rule(on: page, of: work.job, in: slice.id, isSorting: false, at: now)
            if needs.sorting, !isProbe, try await mustSortAgain(page, rulings) { return .halted(.outdated) }
            // For each page: a rendering that contains the remaining lifetime is soon outdated.
            let variants = work.variants(
                route: slice.id.route, access: terms.access, provider: terms.provider, now: context.time.now)
            let choice = try await variants.choose(for: page, store: context.store)
            // Check again: a page under the replaced credential would reopen connections that have just been drained.
            guard !isOutdated else { return .halted(.outdated) }
            return .sent(
                submit(
                    page, choice, rulings: rulings, as: slice.id, access: terms.access, deadline: deadline,
                    isProbe: isProbe))
        } catch {
            context.logger.error(
                "a page could not be read", metadata: ["message": "\(slice.id.message)", "error": "\(error)"])
            return .halted(.unreadable)
        }
    }

    /// Whether the slice, which has a rate, must be sorted again, because it has become too early for devices of `page`,
    /// such as when quiet hours begin: page by page, all such devices would use up the rate. A frequency cap may hold
    /// back some on every page, so they are not worth sorting each time.
    private func mustSortAgain(_ page: DevicePage, _ rulings: [PageRuling]) async throws -> Bool {
        let isEarly = rulings.contains {
            if case .hold(let hold) = $0.decision { hold.reason != .frequencyCap } else { false }
        }
        guard isEarly, isBulk, !slice.id.holdsAddresses,
            try await context.gate.rates(of: work.job, in: slice.id).isLimited
        else { return false }
        let ruled = Set(rulings.map(\.index))
        await uncount(page.keys.indices.filter { !ruled.contains($0) }.map { page.keys[$0] })
        return true
    }

    /// For how long the devices of a message are used as they were when it was accepted.
    private static let plannedPageLife = Duration.milliseconds(250)

    /// The devices as they were when the message was accepted, if that was just now and all are still candidates.
    private func plannedPage(after key: DeviceKey, limit: Int) -> DevicePage? {
        guard slice.attempt == 0, let page = work.job.pages[slice.id], page.count <= limit,
            (.zero..<Self.plannedPageLife).contains(context.time.now - page.readAt),
            candidates.keys(after: key, limit: page.count + 1) == page.keys
        else { return nil }
        return page
    }

    /// Devices up to `key` stay: their pages are in flight, and each of them needs an outcome.
    private mutating func readAudienceIfOld(after key: DeviceKey) async throws {
        let begun = context.time.uptime
        guard audience.isOver(at: begun), !slice.id.holdsAddresses else { return }
        var rest = slice
        rest.cursor = key
        let left = try await context.store.read(.delivery) { [rest, now = context.time.now] in
            try $0.candidates(of: rest, now: now)
        }
        unsettled -= candidates.count(after: key) - left.count(after: key)
        candidates.replaceKeys(after: key, with: left)
        audience = AudienceAge(readAt: begun, took: context.time.uptime - begun)
    }

    /// Whether another server paused or ended the message, or changed its rate. It announces that, but the announcement
    /// is lost if it dies immediately afterwards, or if a pooler does not forward it. Then every slice of the message
    /// is stopped here.
    private mutating func isChangedElsewhere() async throws -> Bool {
        let begun = context.time.uptime
        guard !context.isOnlyProcess, begun - stateReadAt >= context.stateLife else { return false }
        let (app, message) = (slice.id.app, slice.id.message)
        let (state, rate) = try await context.store.read(.delivery) {
            (try $0.message(app: app, id: message)?.state, try $0.rate(app: app, message: message))
        }
        stateReadAt = begun
        switch state {
        case .planning, .sending, .sent:
            guard rate != work.job.options.ratePerSecond else { return false }
        case .scheduled, .paused, .cancelled, .expired, .failed: break
        case nil: return false
        }
        context.messages.interrupt(message)
        return true
    }

    /// Until when requests may begin, because the lease must outlast the answer to the last one. nil when the lease is
    /// lost.
    func deadline() async throws -> Duration? {
        let now = context.time.uptime
        guard let end = context.leases.end(of: slice.lease) else { return nil }
        if end - Self.afterDeadline - now >= .seconds(Self.pageSeconds) { return end - Self.afterDeadline }
        let (owner, lease, until) = (context.owner, slice.lease, context.leaseEnd)
        let held = try await context.store.write(.settle) {
            try $0.extendLeases([lease], owner: owner, until: until)
        }
        guard !held.isEmpty else {
            context.leases.remove(slice.lease)
            return nil
        }
        context.leases.renew(slice.lease, askedAt: now)
        return now + .seconds(Limits.leaseSeconds) - Self.afterDeadline
    }

    /// Gives a page to the provider, without the devices that the gate ruled on or whose variant cannot be rendered. If
    /// the message expires while the page waits for free connections, its other requests do not begin.
    /// - Parameter id: The slice's, or the one it would have on another route.
    func submit(
        _ page: DevicePage, _ choice: Variants.Choice, rulings: [PageRuling] = [], as id: Slice.ID,
        access: RouteAccess, deadline: Duration, isProbe: Bool = false
    ) -> SentPage {
        var sent = SentPage(page, choice, rulings, now: context.time.now)
        let sendable = sent.sendableIndices
        let devices = sendable.map(page.part(at:)) ?? page
        guard devices.count > 0 else { return sent }
        let order = PageOrder(
            slice: id, credential: access.credential, fingerprint: access.fingerprint, page: devices,
            notifications: choice.variants.map(\.notification),
            variants: sendable.map { $0.map { choice.ofDevice[$0] } } ?? choice.ofDevice, lane: slice.lane,
            deadline: min(deadline, context.time.uptime + (terms.life.end - context.time.now)), control: control)
        sent.order = order
        sent.isProbe = isProbe
        sent.awaitedUntil = deadline + Self.afterDeadline
        sent.openSince = context.time.uptime
        sent.lag = context.time.lag
        terms.provider.send(order)
        context.metrics.change { $0.pages += 1 }
        return sent
    }

    /// Awaits a page's answers. If most have arrived and a few have not, it does not wait for those. A small page stops
    /// waiting once answers have arrived for any page in flight: they are settled every 200 ms.
    func answers(to index: Int, mayLeaveStragglers: Bool) async -> SentPage {
        var page = pages[index]
        guard let order = page.order else { return page }
        let interval = settleInterval
        var (seen, quietSince, hasStalled) = (-1, context.time.uptime, false)
        var begun = order.flight.answers.begun
        while true {
            let answers = order.flight.answers
            let now = context.time.uptime
            if answers.begun != begun {
                // A straggler was refused unread and has begun again.
                begun = answers.begun
                page.awaitedUntil = max(page.awaitedUntil, now + Self.answerTime)
            }
            // Time in which this process could not read answers does not count.
            let isOver = now >= page.awaitedUntil + (context.time.lag - page.lag)
            if page.isComplete(answers) || isOver || context.stop.isDrained(at: now) {
                page.take(answers, isFinal: true)
                return page
            }
            if answers.changeCount != seen {
                (seen, quietSince, hasStalled) = (answers.changeCount, now, false)
                if !isFollowing, answers.isAnswered.contains(true) { recordAnswer() }
            }
            let quiet = now - quietSince
            if !hasStalled, quiet >= Self.stalledAfter, !isFollowing {
                hasStalled = true
                recordStall()
            }
            if mayLeaveStragglers, now - page.openSince >= interval, mayLeave(page, answers, quiet) {
                page.take(answers, isFinal: false)
                return page
            }
            let flight = order.flight
            await context.time.race(atMost: interval) { await flight.wait() }
        }
    }

    /// Whether the answered devices should be settled without the rest. A probe needs an answer: while a slow provider
    /// answered none in time, its route would stay closed.
    private func mayLeave(_ page: SentPage, _ answers: PageFlight.Answers, _ quiet: Duration) -> Bool {
        if page.isProbe, !page.isAnswered(answers) { return false }
        guard isBulk, !isFollowing else {
            return pages.contains { page in page.order.map { page.isAnswered($0.flight.answers) } ?? false }
        }
        return Self.hasOnlyStragglers(answers, quiet: quiet)
    }

    /// Stalled pages must not block others.
    private func recordStall() {
        // First, so that a run on the same route that waits for a slot sees it.
        context.load.stall(slice.id)
        context.direct.stall(slice.id)
        for page in pages where page.order.map({ !$0.flight.answers.isAnswered.contains(true) }) ?? false {
            if page.slot?.lend() == true { context.metrics.change { $0.pagesLent += 1 } }
        }
        context.ready.set()
    }

    private func recordAnswer() {
        context.load.resume(slice.id)
        context.direct.resume(slice.id)
    }

    /// Whether every request has begun and no answer has arrived for a while. If the whole page is slow, that while is
    /// longer.
    private static func hasOnlyStragglers(_ answers: PageFlight.Answers, quiet: Duration) -> Bool {
        guard quiet >= .milliseconds(Limits.stragglerMilliseconds) else { return false }
        let unsent = answers.exceptions.values.count { $0.result == .unsent }
        guard answers.tried + unsent >= answers.isAnswered.count else { return false }
        let missing = answers.isAnswered.count { !$0 }
        return missing * 2 < answers.isAnswered.count || quiet >= .seconds(2)
    }
}
