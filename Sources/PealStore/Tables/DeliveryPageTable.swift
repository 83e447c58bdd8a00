internal import PealCore

/// `delivery_page`: the delivery log, one row a page; `SliceTable.insertPage` writes it.
enum DeliveryPageTable {
    fileprivate static let columns: Columns =
        "route, window_no, part, page, first_key, last_key, n, sent_at, took, data"

    fileprivate static func row(_ row: inout RowReader, app: AppKey, message: MessageID) throws -> StoredLogRow {
        StoredLogRow(
            slice: .init(
                app: app, message: message, route: try row.next(), rangeStart: try row.next(), part: try row.next()),
            page: try row.next(),
            row: .init(
                firstKey: try row.next(), lastKey: try row.next(), deviceCount: try row.next(), sentAt: try row.next(),
                tookMilliseconds: try row.next(), data: try row.next()))
    }
}

extension StoreSession {
    func logRows(
        app: AppKey, message: MessageID, route: Route, key: DeviceKey, inAddresses: Bool
    ) throws -> [StoredLogRow] {
        let onRoute: SQL = "\(MessageTable.matching(app, message)) AND route = \(route)"
        let rangeStart: Int64 =
            inAddresses
            ? Slice.ID.addressRange
            : try connection.value(
                "SELECT MAX(window_no) FROM delivery_page WHERE \(onRoute) AND window_no <= \(key) AND window_no >= 0")
                ?? Slice.ID.momentRange
        return try connection.all(
            """
            SELECT \(DeliveryPageTable.columns) FROM delivery_page
            WHERE \(onRoute) AND window_no = \(rangeStart) AND first_key <= \(key) AND last_key >= \(key)
            ORDER BY sent_at, part, page
            """
        ) { row in try DeliveryPageTable.row(&row, app: app, message: message) }
    }

    func logRows(app: AppKey, message: MessageID, limit: Int) throws -> [StoredLogRow] {
        try connection.all(
            """
            SELECT \(DeliveryPageTable.columns) FROM delivery_page
            WHERE \(MessageTable.matching(app, message)) ORDER BY route, window_no, part, page LIMIT \(limit)
            """
        ) { row in try DeliveryPageTable.row(&row, app: app, message: message) }
    }
}
