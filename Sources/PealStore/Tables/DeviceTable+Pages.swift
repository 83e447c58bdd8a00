internal import PealCore

/// The statements that read the devices of a page.
extension DeviceTable {
    /// All devices in a range of keys. The reader checks state and route: if the statement named them, SQLite would use
    /// an index and look up each row from there.
    static func range(app: AppKey, _ range: ClosedRange<DeviceKey>, withPeople: Bool = false) -> SQL {
        """
        SELECT seq, address, address_rev, locale, \(name: withPeople ? "zone, user_id, " : "")state, route FROM device
        WHERE app = \(app) AND seq BETWEEN \(range.lowerBound) AND \(range.upperBound) ORDER BY seq
        """
    }

    static let point = Statement<(app: AppKey, route: Route, key: DeviceKey)>(
        """
        SELECT seq, address, address_rev, locale FROM device
        WHERE app = $1 AND seq = $2 AND state = \(State.active.rawValue) AND route = $3
        """
    ) { [.int($0.app), .int($0.key), .route($0.route)] }

    static let pointWithPerson = Statement<(app: AppKey, route: Route, key: DeviceKey)>(
        """
        SELECT seq, address, address_rev, locale, zone, user_id FROM device
        WHERE app = $1 AND seq = $2 AND state = \(State.active.rawValue) AND route = $3
        """
    ) { [.int($0.app), .int($0.key), .route($0.route)] }

    /// `message_address`: addresses that a message names and that no device has.
    static func addresses(of id: Slice.ID, _ range: ClosedRange<DeviceKey>) -> SQL {
        """
        SELECT n, address FROM message_address
        WHERE \(MessageTable.matching(id.app, id.message)) AND route = \(id.route)
            AND n BETWEEN \(range.lowerBound) AND \(range.upperBound)
        ORDER BY n
        """
    }
}

extension StoreSession {
    /// If at least one device in three is wanted, reading the whole range costs less than looking up each one.
    private static let densityInverse: Int64 = 3

    func page(
        of slice: Slice, candidates: KeySet, after cursor: DeviceKey, limit: Int, now: Timestamp, withPeople: Bool
    ) throws -> DevicePage {
        let keys = candidates.keys(after: cursor, limit: limit)
        var page = DevicePage(through: slice.keyTo, isLast: true, readAt: now, capacity: keys.count)
        guard let first = keys.first, let last = keys.last else { return page }
        // A deleted app has no candidates, but those of a list may be known without a read, and those of a large
        // audience were read long ago.
        if slice.keys != nil || keys.count > Limits.directDevicesMax, try !isLiving(slice.id.app) { return page }
        if keys.count == limit, !candidates.keys(after: last, limit: 1).isEmpty {
            page.through = last
            page.isLast = false
        }
        let id = slice.id
        if id.holdsAddresses {
            try connection.scan(DeviceTable.addresses(of: id, first...last)) { row in
                guard candidates.contains(row.int(0)) else { return }
                row.withBytes(1) { page.append(key: row.int(0), address: $0, revision: 0, locale: 0) }
            }
        } else if Int64(keys.count) * Self.densityInverse >= last - first + 1 {
            let (active, route) = (DeviceTable.State.active.rawValue, id.route.rawValue)
            let state = withPeople ? 6 : 4
            try connection.scan(DeviceTable.range(app: id.app, first...last, withPeople: withPeople)) { row in
                guard candidates.contains(row.int(0)), row.int(state) == active, row.int(state + 1) == route else {
                    return
                }
                Self.append(row, to: &page, withPerson: withPeople)
            }
        } else {
            let point = withPeople ? DeviceTable.pointWithPerson : DeviceTable.point
            try connection.scan(point, keys.map { (id.app, id.route, $0) }) {
                Self.append($0, to: &page, withPerson: withPeople)
            }
        }
        return page
    }

    private static func append(_ row: any SQLRow, to page: inout DevicePage, withPerson: Bool) {
        row.withBytes(1) { address in
            page.append(
                key: row.int(0), address: address, revision: row.int(2),
                locale: Int32(truncatingIfNeeded: row.int(3)))
        }
        guard withPerson else { return }
        page.append(
            DevicePage.Person(
                user: row.isNull(5) ? nil : row.text(5), zone: Int32(truncatingIfNeeded: row.int(4))))
    }

    func addressNumber(app: AppKey, message: MessageID, address: Address) throws -> DeviceKey? {
        try connection.value(
            """
            SELECT n FROM message_address WHERE \(MessageTable.matching(app, message)) AND route = \(address.route)
                AND address_key = \(DeviceTable.addressKey(of: address))
            """)
    }
}
