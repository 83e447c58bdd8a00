internal import PealCore

/// Ends everybody left in a slice without a send: from the set of keys alone, no address is read.
struct SliceRest: Sendable {
    private static let devicesPerRow = 4096
    private static let rowsPerWrite = 8

    let context: DeliveryContext
    var slice: Slice
    let candidates: KeySet
    /// How many there are.
    var left: Int

    /// Settles all of them as `outcome`; the log names `reason`.
    mutating func settle(_ outcome: Outcome, reason: String) async {
        let ending = DeliveryLog.Ending(outcome, reason: reason, attempt: slice.attempt)
        var isDone = false
        while !isDone {
            guard context.leases.end(of: slice) != nil else { return }
            let earlier = slice.counts
            var settlements: [Settlement] = []
            for _ in 0..<Self.rowsPerWrite where !isDone {
                let keys = candidates.keys(after: slice.cursor, limit: Self.devicesPerRow)
                isDone = keys.count < Self.devicesPerRow
                settlements += rows(keys, ending, isLast: isDone)
            }
            let askedAt = context.time.uptime
            let results = await context.settler.settle(settlements)
            guard results.allSatisfy(\.isApplied) else { return context.leases.lose(slice.id, term: slice.term) }
            context.leases.renew(slice.id, term: slice.term, askedAt: askedAt)
            context.count(slice.counts, since: earlier, slice.id.route.provider)
        }
    }

    private mutating func rows(_ keys: [DeviceKey], _ ending: DeliveryLog.Ending, isLast: Bool) -> [Settlement] {
        let zeros = Array(repeating: UInt16(0), count: keys.count)
        let log = DeliveryLog(keys: keys, endings: [ending], endingOf: zeros, locales: [nil], localeOf: zeros)
        let through = isLast ? max(slice.keyTo, slice.cursor) : keys.last ?? slice.cursor
        let now = context.time.now
        var settlements: [Settlement] = []
        for (range, data) in log.rows() {
            settlements.append(
                step(
                    to: range.upperBound == keys.count ? through : keys[range.upperBound - 1],
                    adding: log.counts(range),
                    Settlement.LogRow(
                        firstKey: keys[range.lowerBound], lastKey: keys[range.upperBound - 1],
                        deviceCount: range.count, sentAt: now, tookMilliseconds: 0, data: data)))
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
        let cursor = slice.cursor
        slice.cursor = key
        left = max(0, left - counts.settled)
        slice.counts.add(counts)
        slice.counts.pending = left
        return Settlement(
            slice: slice.id, owner: context.owner, term: slice.term, cursorBefore: cursor, cursorAfter: key,
            counts: slice.counts, logRow: row, next: .keep(leaseUntil: context.leaseEnd))
    }
}
