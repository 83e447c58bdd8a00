internal import PealCore

extension DeviceTable {
    /// A page of the keys of a route's active devices.
    static func page(app: AppKey, _ route: Route, limit: Int, offset: Int) -> SQL {
        """
        SELECT seq FROM device WHERE app = \(app) AND route = \(route) AND state = \(code: State.active)
        ORDER BY seq LIMIT \(limit) OFFSET \(offset)
        """
    }

    static func keys(app: AppKey, _ route: Route, after cursor: DeviceKey, limit: Int) -> SQL {
        """
        SELECT seq FROM device WHERE app = \(app) AND route = \(route) AND state = \(code: State.active)
            AND seq > \(cursor)
        ORDER BY seq LIMIT \(limit)
        """
    }

    static func users(app: AppKey, limit: Int) -> SQL {
        """
        SELECT DISTINCT user_id FROM device
        WHERE app = \(app) AND user_id IS NOT NULL AND state = \(code: State.active) ORDER BY user_id LIMIT \(limit)
        """
    }
}

/// Listing devices by key.
extension StoreSession {
    /// A listing by topic shows only active devices: retired ones are not members.
    func devices(app: AppKey, _ filter: DeviceFilter, after cursor: DeviceKey, limit: Int) throws -> [Device] {
        guard let topic = filter.topic else {
            return try deviceRows(app: app, filter, after: cursor, limit: limit).map { try device($0, app: app) }
        }
        guard let number = try livingTopicNumber(app: app, name: topic, now: filter.instant) else { return [] }
        var found: [Device] = []
        var cursor = cursor
        while found.count < limit {
            let members = try members(app: app, topic: number, after: cursor, limit: limit)
            guard let last = members.last else { break }
            cursor = last
            let rows = try deviceRows(app: app, keys: members).filter { Self.matches($0, filter) }
            found += try rows.prefix(limit - found.count).map { try device($0, app: app) }
        }
        return found
    }

    private func deviceRows(
        app: AppKey, _ filter: DeviceFilter, after cursor: DeviceKey, limit: Int
    ) throws -> [DeviceRow] {
        let user: SQL = filter.userID.map { " AND user_id = \($0)" } ?? ""
        let address: SQL = filter.address.map { " AND address_key = \(DeviceTable.addressKey(of: $0))" } ?? ""
        return try connection.all(
            """
            SELECT \(DeviceTable.columns) FROM device WHERE app = \(app) AND seq > \(cursor)\(user)\(address)
            ORDER BY seq LIMIT \(limit)
            """, DeviceRow.init)
    }

    private static func matches(_ row: DeviceRow, _ filter: DeviceFilter) -> Bool {
        (filter.userID == nil || filter.userID.map(ExactText.init) == row.userID.map(ExactText.init))
            && (filter.address.map { DeviceTable.addressKey(of: $0) == row.addressKey } ?? true)
    }
}

/// Searching devices, a page at a time.
extension StoreSession {
    func devices(
        app: AppKey, _ search: DeviceSearch, _ page: PageNumber, now: Timestamp
    ) throws -> ResultPage<Device> {
        var topic: Int64?
        if let name = search.topic {
            topic = try livingTopicNumber(app: app, name: name, now: now)
            if topic == nil { return ResultPage() }
        }
        if let part = search.containing {
            // The text of an id may also be in a user id or an alias.
            let named = try DeviceID(part).flatMap { try device($0, app: app, search, now: now) }
            return try devices(app: app, search.routes, topic: topic, containing: PartOfText(part), named, page)
        }
        var (keys, total, offset): ([DeviceKey], Int, Int) = ([], 0, page.offset)
        for route in search.routes {
            let count = try memberCount(app: app, route, topic: topic)
            total += count
            if keys.count < page.size, offset < count {
                let limit = page.size - keys.count
                let next: SQL =
                    topic.map { SubscriptionTable.page(app: app, $0, route, limit: limit, offset: offset) }
                    ?? DeviceTable.page(app: app, route, limit: limit, offset: offset)
                keys += try connection.values(next)
            }
            offset = max(0, offset - count)
        }
        return ResultPage(items: try deviceRows(app: app, keys: keys).map { try device($0, app: app) }, total: total)
    }

    func deviceCount(app: AppKey, topic: String, routes: [Route], now: Timestamp) throws -> Int {
        guard let number = try livingTopicNumber(app: app, name: topic, now: now) else { return 0 }
        return try routes.reduce(0) { try $0 + memberCount(app: app, $1, topic: number) }
    }

    /// Of the route, or of the topic on this route.
    private func memberCount(app: AppKey, _ route: Route, topic: Int64?) throws -> Int {
        guard let topic else { return try deviceCount(app: app, route: route) }
        return try connection.count(SubscriptionTable.count(app: app, topic: topic, route: route))
    }

    /// A device searched by its full id is shown whether active or not.
    private func device(
        _ id: DeviceID, app: AppKey, _ search: DeviceSearch, now: Timestamp
    ) throws -> Device? {
        guard let device = try device(app: app, id: id), search.routes.contains(device.address.route),
            search.topic.map({ device.topics(at: now).contains($0) }) ?? true
        else { return nil }
        return device
    }

    private static let rowsPerRead = 1000

    /// - Parameter named: the device that has the text as its id, which comes first.
    private func devices(
        app: AppKey, _ routes: [Route], topic: Int64?, containing part: PartOfText, _ named: Device?, _ page: PageNumber
    ) throws -> ResultPage<Device> {
        var result = ResultPage<Device>()
        if let named {
            if page.offset == 0, page.size > 0 { result.items.append(named) }
            result.total = 1
        }
        var room = Limits.searchedRowsMax
        for route in routes {
            var cursor: DeviceKey = 0
            while room > 0 {
                let limit = min(room, Self.rowsPerRead)
                let next: SQL =
                    topic.map { SubscriptionTable.keys(app: app, $0, route, after: cursor, limit: limit) }
                    ?? DeviceTable.keys(app: app, route, after: cursor, limit: limit)
                let keys: [DeviceKey] = try connection.values(next)
                guard let last = keys.last else { break }
                (cursor, room) = (last, room - keys.count)
                for row in try deviceRows(app: app, keys: keys)
                where try row.key != named?.key && matches(row, part, app: app) {
                    let index = result.total - page.offset
                    if (0..<page.size).contains(index) { result.items.append(try device(row, app: app)) }
                    result.total += 1
                }
            }
        }
        return result
    }

    private func matches(_ row: DeviceRow, _ part: PartOfText, app: AppKey) throws -> Bool {
        let address = row.address.json
        if part.isIn(address.stringValue ?? address["endpoint"]?.stringValue ?? "") { return true }
        if part.isIn(row.id.description) || row.userID.map(part.isIn) == true { return true }
        return try readDetail(app: app, device: row.key).alias.map(part.isIn) ?? false
    }

    func userIDs(app: AppKey, containing part: String?, limit: Int) throws -> [String] {
        guard let part = part.map(PartOfText.init) else {
            return try connection.values(DeviceTable.users(app: app, limit: limit))
        }
        var found: [String] = []
        try connection.scan(DeviceTable.users(app: app, limit: Limits.searchedRowsMax)) { row in
            let userID = row.text(0)
            if found.count < limit, part.isIn(userID) { found.append(userID) }
        }
        return found
    }
}

/// A case-insensitive substring search. It runs here rather than in SQL, because the engines compare letter case
/// differently.
struct PartOfText {
    private let part: [UInt8]

    init(_ part: String) { self.part = Array(part.lowercased().utf8) }

    func isIn(_ text: String) -> Bool {
        let bytes = Array(text.lowercased().utf8)
        guard part.count <= bytes.count, let first = part.first else { return part.isEmpty }
        return (0...(bytes.count - part.count)).contains { start in
            bytes[start] == first && bytes[start..<(start + part.count)].elementsEqual(part)
        }
    }
}
