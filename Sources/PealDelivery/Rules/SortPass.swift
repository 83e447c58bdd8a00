internal import PealCore

/// Decides for every device of a key range, or of a list under a rate, when it may be sent to, and replaces the slice
/// with lists of keys, one for each instant. A list keeps its devices, so that a device that changes its time zone
/// meanwhile is neither lost nor sent to twice. The pass reads only the slice and sends nothing.
struct SortPass: Sendable {
    private static let devicesPerRead = 4096

    let context: DeliveryContext
    let slice: Slice
    let candidates: KeySet
    let job: DeliveryJob
    let life: PlatformLife

    /// - Returns: whether the slice was replaced, or lost; false if all of its devices may be sent to now.
    func run() async throws -> Bool {
        var (keys, holds): ([DeviceKey], [PageRuling.Hold?]) = ([], [])
        var (cursor, isDone) = (slice.cursor, false)
        let now = context.time.now
        while !isDone {
            let (slice, candidates, after) = (slice, candidates, cursor)
            let page = try await context.store.read {
                try $0.page(
                    of: slice, candidates: candidates, after: after, limit: Self.devicesPerRead, now: now,
                    withPeople: true)
            }
            let rulings = try await context.gate.rule(on: page, of: job, in: slice.id, isSorting: true, at: now)
            var ofPage: [PageRuling.Hold?] = Array(repeating: nil, count: page.count)
            for ruling in rulings {
                if case .hold(let hold) = ruling.decision {
                    ofPage[ruling.index] = PageRuling.Hold(until: hold.turn(life, now: now), reason: hold.reason)
                }
            }
            keys += page.keys
            holds += ofPage
            (cursor, isDone) = (page.through, page.isLast)
        }
        guard holds.contains(where: { $0 != nil }) else { return false }
        let results = await context.settler.settle(settlements(keys, holds, now: now))
        if results.contains(where: { !$0.isApplied }) { context.leases.remove(slice.lease) }
        context.due.set()
        return true
    }

    /// The log rows of the waiting devices, each with the lists of all keys up to its last one.
    private func settlements(_ keys: [DeviceKey], _ holds: [PageRuling.Hold?], now: Timestamp) -> [Settlement] {
        let waiting = keys.indices.filter { holds[$0] != nil }
        let reasons = HoldReason.allCases
        let log = DeliveryLog(
            keys: waiting.map { keys[$0] },
            endings: reasons.map { DeliveryLog.Ending(.moved, reason: $0.rawValue, attempt: self.slice.attempt) },
            endingOf: waiting.map { index in
                UInt16(reasons.firstIndex { $0 == holds[index]?.reason } ?? 0)
            }, locales: [nil], localeOf: Array(repeating: 0, count: waiting.count))
        var settlements: [Settlement] = []
        var (slice, start) = (self.slice, 0)
        let rows = log.rows(sentAt: now)
        for (number, (range, row)) in rows.enumerated() {
            let isLast = number == rows.count - 1
            let end = isLast ? keys.count : waiting[range.upperBound - 1] + 1
            let through = isLast ? max(slice.keyTo, slice.cursor) : keys[end - 1]
            slice.counts.pending = keys.count - end
            var settlement = Settlement(
                of: slice, by: context.owner, to: through, logRow: row,
                next: isLast ? .done : .keep(leaseUntil: context.leaseEnd))
            settlement.deferrals = deferrals(start..<end, keys, holds, now: now)
            settlements.append(settlement)
            (slice.cursor, start) = (through, end)
        }
        return settlements
    }

    private func deferrals(
        _ range: Range<Int>, _ keys: [DeviceKey], _ holds: [PageRuling.Hold?], now: Timestamp
    ) -> [Settlement.Deferral] {
        var lists: [Timestamp: [DeviceKey]] = [:]
        for index in range { lists[holds[index]?.until ?? now, default: []].append(keys[index]) }
        return lists.sorted { $0.key < $1.key }.flatMap { readyAt, keys in
            stride(from: 0, to: keys.count, by: Limits.listSliceKeysMax).map { start in
                Settlement.Deferral(
                    part: context.randomness.positiveNumber(),
                    keys: Array(keys[start..<min(keys.count, start + Limits.listSliceKeysMax)]),
                    attempt: slice.attempt, readyAt: readyAt, isDoubtful: slice.doubt > 0,
                    ruledAt: readyAt > now ? now : nil)
            }
        }
    }
}
