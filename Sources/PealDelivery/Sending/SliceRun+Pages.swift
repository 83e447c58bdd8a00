internal import Logging
internal import PealCore

extension SliceRun {
    /// How much time the lease must leave a page; otherwise it is extended first.
    private static let pageSeconds: Int64 = 5
    /// After how many looks at a page without a change, half a second apart, it counts as stalled.
    private static let looksUntilStalled = 2
    private static var afterDeadline: Duration { .seconds(Limits.requestTimeoutSeconds + 5) }

    /// Reads, renders and sends the next page.
    /// - Returns: nil when none begins now: `halt` says why, or no slot is free beside the page in flight.
    mutating func begin(after key: DeviceKey, isFirst: Bool) async -> SentPage? {
        if let reason = reasonToHalt() {
            halt = reason
            return nil
        }
        guard isBulk else { return await enter(after: key) }
        // Waits for a slot only while the slice holds none.
        let (load, route) = (context.load, terms.route)
        let slot =
            isFirst
            ? await context.budget.take { load.isStalled(route) }
            : context.budget.takeIfFree(isStalled: load.isStalled(route))
        guard let slot else { return nil }
        var page = await enter(after: key)
        if page?.order == nil { slot.release() } else { page?.slot = slot }
        return page
    }

    private mutating func enter(after key: DeviceKey) async -> SentPage? {
        let message = slice.id.message
        let gate = context.routes.change(terms.route) { $0.enter(message, now: context.time.uptime) }
        if case .closed = gate {
            halt = .closed(until: await context.park(on: terms.route))
            return nil
        }
        let page = await send(after: key, isProbe: gate == .probe)
        if page?.order == nil, gate == .probe { context.routes.change(terms.route) { $0.abandonProbe(of: message) } }
        return page
    }

    private func reasonToHalt() -> Halt? {
        if context.stop.isOn || control.isStopped { return .interrupted }
        if terms.life.isOver(at: context.time.now) { return .expired }
        if isOutdated { return .outdated }
        return context.leases.end(of: slice) == nil ? .lostLease : nil
    }

    /// Whether the credential changed since the slice was opened.
    private var isOutdated: Bool { context.access.version(of: terms.key) != terms.accessVersion }

    private mutating func send(after key: DeviceKey, isProbe: Bool) async -> SentPage? {
        do {
            guard let deadline = try await deadline() else {
                halt = .lostLease
                return nil
            }
            let (slice, candidates, now) = (slice, candidates, context.time.now)
            let limit = isProbe ? Limits.probeDevicesMax : Limits.pageDevicesMax
            let page = try await context.store.read {
                try $0.page(of: slice, candidates: candidates, after: key, limit: limit, now: now)
            }
            let choice = try await variants.choose(for: page, store: context.store)
            locales = choice.variants.map(\.locale)
            // Once more: a page under the replaced credential would reopen connections that have just been drained.
            guard !isOutdated else {
                halt = .outdated
                return nil
            }
            return hand(page, choice, as: slice.id, access, deadline: deadline, isProbe: isProbe)
        } catch {
            context.logger.error(
                "a page could not be read", metadata: ["message": "\(slice.id.message)", "error": "\(error)"])
            halt = .unreadable
            return nil
        }
    }

    /// Until when requests may begin, because the lease must outlast the answer to the last one. nil when the lease is
    /// lost.
    func deadline() async throws -> Duration? {
        let now = context.time.uptime
        guard let end = context.leases.end(of: slice) else { return nil }
        if end - Self.afterDeadline - now >= .seconds(Self.pageSeconds) { return end - Self.afterDeadline }
        let (owner, lease, until) = (context.owner, (id: slice.id, term: slice.term), context.leaseEnd)
        let held = try await context.store.write(.settle) {
            try $0.extendLeases([lease], owner: owner, until: until)
        }
        guard !held.isEmpty else {
            context.leases.lose(slice.id, term: slice.term)
            return nil
        }
        context.leases.renew(slice.id, term: slice.term, askedAt: now)
        return now + .seconds(Limits.leaseSeconds) - Self.afterDeadline
    }

    /// Gives a page to the provider.
    /// - Parameter id: The slice's, or the one it would have on another route.
    func hand(
        _ page: DevicePage, _ choice: Variants.Choice, as id: Slice.ID, _ access: RouteAccess, deadline: Duration,
        isProbe: Bool
    ) -> SentPage {
        let parts = SentPage.split(page, choice)
        var order: PageOrder?
        if parts.page.count > 0 {
            let made = PageOrder(
                slice: id, credential: access.credential, fingerprint: access.fingerprint, page: parts.page,
                notifications: choice.variants.map(\.notification), variants: parts.variants, lane: slice.lane,
                deadline: deadline, control: control)
            provider.send(made)
            context.metrics.change { $0.pages += 1 }
            order = made
        }
        return SentPage(
            keys: page.keys, revisions: page.revisions, variantOf: choice.ofDevice, order: order,
            positions: parts.positions, failures: parts.failures, through: page.through, isLast: page.isLast,
            readAt: page.readAt, sentAt: context.time.now, isProbe: isProbe && order != nil)
    }

    /// Awaits a page's answers. Where most are there and a few do not come, it does not wait for those.
    func answers(to page: SentPage, mayLeaveStragglers: Bool) async -> PageFates {
        guard let order = page.order else { return fates(page, nil, isFinal: true) }
        let end = order.deadline + Self.afterDeadline
        var seen = -1
        var quietLooks = 0
        while true {
            let snapshot = order.flight.snapshot
            let now = context.time.uptime
            if snapshot.isComplete || now >= end || context.stop.isDrained(at: now) {
                return fates(page, snapshot, isFinal: true)
            }
            quietLooks = snapshot.changeCount == seen ? quietLooks + 1 : 0
            seen = snapshot.changeCount
            if quietLooks == 0, snapshot.isAnswered.contains(true) { context.load.resume(slice.id) }
            if quietLooks == Self.looksUntilStalled { noteStall(of: page) }
            if mayLeaveStragglers, Self.hasOnlyStragglers(snapshot, quietLooks: quietLooks) {
                return fates(page, snapshot, isFinal: false)
            }
            let flight = order.flight
            await context.time.race(atMost: .milliseconds(Limits.stragglerMilliseconds)) { await flight.wait() }
        }
    }

    /// A stalled page must not keep others from being sent.
    private func noteStall(of page: SentPage) {
        // First, so that a run of the same route that waits for a slot sees it.
        context.load.stall(slice.id)
        if page.slot?.lend() == true { context.metrics.change { $0.pagesLent += 1 } }
        context.ready.set()
    }

    /// Every request has begun and no answer came for a while, which is longer where the whole page is slow.
    private static func hasOnlyStragglers(_ snapshot: PageFlight.Snapshot, quietLooks: Int) -> Bool {
        guard quietLooks > 0 else { return false }
        let unsent = snapshot.exceptions.values.count { $0.result == .unsent }
        guard snapshot.begun + unsent >= snapshot.isAnswered.count else { return false }
        let missing = snapshot.isAnswered.count { !$0 }
        return missing * 2 < snapshot.isAnswered.count || quietLooks >= 4
    }

    private func fates(_ page: SentPage, _ snapshot: PageFlight.Snapshot?, isFinal: Bool) -> PageFates {
        PageFates(page, snapshot, lostAnswer: terms.lostAnswer, isFinal: isFinal)
    }
}

/// A page in flight: its devices, and the order that a provider works on.
struct SentPage: Sendable {
    let keys: [DeviceKey]
    let revisions: [Int64]
    /// Number of the variant that each device gets.
    let variantOf: [UInt16]
    /// nil when nobody in the page can be sent to.
    let order: PageOrder?
    /// The index in `keys` of each device of the order; nil = the same.
    let positions: [Int]?
    /// Devices that could not be rendered for, with the reason.
    let failures: [Int: String]
    let through: DeviceKey
    let isLast: Bool
    let readAt: Timestamp
    let sentAt: Timestamp
    let isProbe: Bool
    /// nil for small messages, which need none.
    var slot: PageBudget.Slot?

    /// The index in the order of the device at `index` in `keys`.
    func orderIndex(of index: Int) -> Int { positions?.firstIndex(of: index) ?? index }

    /// The index in `keys` of the device at `index` in the order.
    func position(of index: Int) -> Int { positions?[index] ?? index }

    /// Parts a page into devices that can be sent to and those whose rendering failed.
    static func split(
        _ page: DevicePage, _ choice: Variants.Choice
    ) -> (page: DevicePage, variants: [UInt16], positions: [Int]?, failures: [Int: String]) {
        guard !choice.failures.isEmpty else { return (page, choice.ofDevice, nil, [:]) }
        var kept = DevicePage(through: page.through, isLast: page.isLast, readAt: page.readAt, capacity: page.count)
        var positions: [Int] = []
        var failures: [Int: String] = [:]
        page.arena.withUnsafeBytes { arena in
            for (index, variant) in choice.ofDevice.enumerated() {
                if let failure = choice.variants[Int(variant)].failure {
                    failures[index] = failure
                } else {
                    positions.append(index)
                    kept.append(
                        key: page.keys[index],
                        address: UnsafeRawBufferPointer(rebasing: arena[page.addressRange(index)]),
                        revision: page.revisions[index], locale: page.locales[index])
                }
            }
        }
        return (kept, positions.map { choice.ofDevice[$0] }, positions, failures)
    }
}
