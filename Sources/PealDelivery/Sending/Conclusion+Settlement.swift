internal import PealCore

extension Conclusion {
    /// The settlements that write this conclusion, in order: more than one where the log needs several rows.
    /// - Parameters:
    ///   - slice: As it stands in the store; its counts and cursor are carried on.
    ///   - pending: Devices of the slice that nothing is known of yet.
    ///   - keep: What becomes of the slice between two rows.
    func settlements(
        of slice: Slice, owner: String, pending: Int, sentAt: Timestamp, next: Settlement.Next,
        keep: Settlement.Next, part: () -> Int64
    ) -> [Settlement] {
        var counts = slice.counts
        var cursor = slice.cursor
        var settlements: [Settlement] = []
        let rows = log.rows()
        for (range, data) in rows {
            counts.add(log.counts(range))
            counts.pending = pending + log.count - range.upperBound
            let row = Settlement.LogRow(
                firstKey: log.keys[range.lowerBound], lastKey: log.keys[range.upperBound - 1],
                deviceCount: range.count, sentAt: sentAt, tookMilliseconds: max(0, (concludedAt - sentAt).milliseconds),
                data: data)
            let after = range.upperBound == log.count ? cursorAfter ?? cursor : row.lastKey
            settlements.append(
                Settlement(
                    slice: slice.id, owner: owner, term: slice.term, cursorBefore: cursor, cursorAfter: after,
                    counts: counts, logRow: row, next: keep))
            cursor = after
        }
        if settlements.isEmpty {
            counts.pending = pending
            settlements = [
                Settlement(
                    slice: slice.id, owner: owner, term: slice.term, cursorBefore: cursor,
                    cursorAfter: cursorAfter ?? cursor, counts: counts, logRow: nil, next: next)
            ]
        }
        let last = settlements.count - 1
        settlements[last].next = next
        settlements[last].retirements = retirements
        settlements[last].moves = moves
        settlements[last].deferrals = deferrals.map { deferral in
            var deferral = deferral
            deferral.part = part()
            return deferral
        }
        return settlements
    }

}
