internal import PealCore

extension StoreSession {
    func job(app: AppKey, id: MessageID) throws -> DeliveryJob? {
        guard let message = try message(app: app, id: id) else { return nil }
        return try connection.first(
            "SELECT content, options FROM message_content WHERE app = $1 AND message = $2", [.int(app), .id(id)]
        ) { row in
            DeliveryJob(
                message: message, content: try ContentCoding.decode(row.bytes(0)),
                options: try OptionsCoding.decode(row.bytes(1)))
        }
    }

    func page(
        of slice: Slice, candidates: KeySet, after cursor: DeviceKey, limit: Int, now: Timestamp
    ) throws -> DevicePage {
        let keys = candidates.keys(after: cursor, limit: limit)
        var page = DevicePage(through: slice.keyTo, isLast: true, readAt: now, capacity: keys.count)
        guard let first = keys.first, let last = keys.last else { return page }
        if keys.count == limit, !candidates.keys(after: last, limit: 1).isEmpty {
            page.through = last
            page.isLast = false
        }
        let place: [SQLValue] = [.int(slice.id.app), .route(slice.id.route)]
        if slice.id.holdsAddresses {
            try readAddresses(slice.id, first...last, candidates, into: &page)
        } else if Int64(keys.count) * Self.densityInverse >= last - first + 1 {
            let route = slice.id.route.rawValue
            try connection.query(HotSQL.pageScan, [.int(slice.id.app), .int(first), .int(last)]) { row in
                guard candidates.contains(row.int(0)), row.int(4) == DeviceRow.stateActive, row.int(5) == route else {
                    return
                }
                Self.append(row, to: &page)
            }
        } else {
            try connection.query(HotSQL.pagePoint, each: keys.map { place + [.int($0)] }) {
                Self.append($0, to: &page)
            }
        }
        return page
    }

    /// From one wanted device in three on, reading the whole range is cheaper than looking each one up.
    private static let densityInverse: Int64 = 3

    private static func append(_ row: any SQLRow, to page: inout DevicePage) {
        row.withBytes(1) { address in
            page.append(
                key: row.int(0), address: address, revision: row.int(2),
                locale: Int32(truncatingIfNeeded: row.int(3)))
        }
    }

    private func readAddresses(
        _ id: Slice.ID, _ range: ClosedRange<DeviceKey>, _ candidates: KeySet, into page: inout DevicePage
    ) throws {
        try connection.query(
            HotSQL.pageAddresses,
            [.int(id.app), .id(id.message), .route(id.route), .int(range.lowerBound), .int(range.upperBound)]
        ) { row in
            guard candidates.contains(row.int(0)) else { return }
            row.withBytes(1) { page.append(key: row.int(0), address: $0, revision: 0, locale: 0) }
        }
    }

    func addressNumber(app: AppKey, message: MessageID, address: Address) throws -> DeviceKey? {
        try connection.int(
            "SELECT n FROM message_address WHERE app = $1 AND message = $2 AND route = $3 AND address_key = $4",
            [.int(app), .id(message), .route(address.route), .bytes(DeviceRow.addressKey(of: address))])
    }

    func logRows(
        app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool
    ) throws -> [StoredLogRow] {
        let place: [SQLValue] = [.int(app), .id(message), .route(route)]
        let window =
            inAddresses
            ? Slice.ID.addressWindow
            : try connection.int(
                """
                SELECT MAX(window_no) FROM delivery_page
                WHERE app = $1 AND message = $2 AND route = $3 AND window_no <= $4 AND window_no >= 0
                """, place + [.int(key)]) ?? Slice.ID.momentWindow
        return try connection.all(
            """
            SELECT part, page, first_key, last_key, n, sent_at, took, data FROM delivery_page
            WHERE app = $1 AND message = $2 AND route = $3 AND window_no = $4 AND first_key <= $5 AND last_key >= $5
            ORDER BY sent_at, part, page
            """, place + [.int(window), .int(key)]
        ) { row in
            StoredLogRow(
                slice: .init(app: app, message: message, route: route, window: window, part: row.int(0)),
                page: Int(row.int(1)),
                row: .init(
                    firstKey: row.int(2), lastKey: row.int(3), deviceCount: Int(row.int(4)), sentAt: row.time(5),
                    tookMilliseconds: row.int(6), data: row.bytes(7)))
        }
    }
}
