internal import PealCore

/// Awaits the answers of stragglers and settles their list slices, so that one slow stream holds no page.
struct LatecomerService: Sendable {
    let context: DeliveryContext

    /// Runs until the queue is closed and every straggler is settled or given up.
    func run() async {
        await withDiscardingTaskGroup { group in
            while true {
                for latecomer in context.latecomers.take() {
                    group.addTask {
                        await finish(latecomer)
                        context.leases.remove(latecomer.slice)
                        context.latecomers.finish()
                    }
                }
                if context.latecomers.isOver { return }
                await context.latecomers.arrival.wait()
            }
        }
    }

    /// Everybody else in the page has an answer, so the flight is complete when the stragglers have theirs.
    private func finish(_ latecomer: Latecomer) async {
        guard let flight = latecomer.page.order?.flight else { return }
        while true {
            let now = context.time.uptime
            let isOver = now >= latecomer.until || context.stop.isDrained(at: now)
            let snapshot = flight.snapshot
            if isOver || snapshot.isComplete { return await settle(latecomer, snapshot) }
            await context.time.race(atMost: min(.seconds(1), latecomer.until - now)) { await flight.wait() }
        }
    }

    private func settle(_ latecomer: Latecomer, _ snapshot: PageFlight.Snapshot) async {
        let whole = PageFates(latecomer.page, snapshot, lostAnswer: latecomer.lostAnswer, isFinal: true)
        var fates = PageFates(whole, places: latecomer.places)
        let slice = latecomer.slice
        await postponeDoubted(&fates, of: slice)
        let route = ActiveRoute(app: slice.id.app, route: slice.id.route)
        let report = await context.report(
            [fates], on: route, key: latecomer.key, version: latecomer.accessVersion, isProbe: false,
            isOwnStop: context.stop.isOn)
        let now = context.time.now
        let readyAt = report.readyAt ?? now + .seconds(1)
        let conclusion = Conclusion(
            [fates], locales: latecomer.locales,
            terms: Conclusion.Terms(
                attempt: slice.attempt, lifetime: latecomer.lifetime, now: now, readyAt: readyAt,
                suspiciousUntil: report.trustsSuspicious ? nil : readyAt, stragglersLeasedUntil: now,
                keepsTail: false, holdsAddresses: slice.id.holdsAddresses),
            chance: context.randomness.next())
        let settlements = conclusion.settlements(
            of: slice, owner: context.owner, pending: 0, sentAt: latecomer.page.sentAt, next: .done,
            keep: .keep(leaseUntil: context.leaseEnd), part: context.randomness.positiveNumber)
        let results = await context.settler.settle(settlements)
        if results.allSatisfy(\.isApplied) { context.count(conclusion, since: slice.counts, settlements) }
    }

    /// Who may belong to the other environment is tried there by the next attempt.
    private func postponeDoubted(_ fates: inout PageFates, of slice: Slice) async {
        guard let name = slice.id.route.provider, let provider = context.providers[name],
            let other = slice.id.route.otherEnvironment, !slice.id.holdsAddresses
        else { return }
        let doubted = fates.doubted(by: provider)
        guard !doubted.isEmpty, (try? await context.healingAccess(app: slice.id.app, other)) != nil else { return }
        fates.postpone(doubted)
    }
}
