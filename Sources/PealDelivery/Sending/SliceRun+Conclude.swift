internal import PealCore

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
                attempt: slice.attempt, lifetime: lifetime, now: now, readyAt: readyAt,
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
                slice: list, page: page, places: places, locales: locales, lifetime: lifetime,
                lostAnswer: options.lostAnswer, key: key, accessVersion: accessVersion,
                until: askedAt + .seconds(Limits.requestTimeoutSeconds + 2)))
    }
}
