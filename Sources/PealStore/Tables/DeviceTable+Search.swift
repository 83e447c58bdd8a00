internal import PealCore

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
            if let id = DeviceID(part) { return try device(id, app: app, search, page, now: now) }
            return try devices(app: app, search.routes, topic: topic, containing: PartOfText(part), page)
        }
        var (keys, total, offset): ([DeviceKey], Int, Int) = ([], 0, page.offset)
        for route in search.routes {
            let count = try memberCount(app: app, route, topic: topic)
            total += count
            if keys.count < page.size, offset < count {
                keys += try connection.all(
                    topic == nil ? SearchSQL.routePage : SearchSQL.topicPage,
                    [.int(app), .route(route), .int(page.size - keys.count), .int(offset)] + Self.value(topic)
                ) { $0.int(0) }
            }
            offset = max(0, offset - count)
        }
        return ResultPage(items: try devices(app: app, keys: keys), total: total)
    }

    func deviceCount(app: AppKey, topic: String, routes: [Route], now: Timestamp) throws -> Int {
        guard let number = try livingTopicNumber(app: app, name: topic, now: now) else { return 0 }
        return try routes.reduce(0) { try $0 + memberCount(app: app, $1, topic: number) }
    }

    private static func value(_ topic: Int64?) -> [SQLValue] { topic.map { [.int($0)] } ?? [] }

    /// Of the route, or of the topic on it.
    private func memberCount(app: AppKey, _ route: Route, topic: Int64?) throws -> Int {
        guard let topic else { return try deviceCount(app: app, route: route) }
        return Int(try connection.int(SearchSQL.topicCount, [.int(app), .int(topic), .route(route)]) ?? 0)
    }

    private func devices(app: AppKey, keys: [DeviceKey]) throws -> [Device] {
        var rows: [DeviceRow] = []
        try connection.query(SearchSQL.deviceByKey, each: keys.map { [.int(app), .int($0)] }) {
            rows.append(try DeviceRow($0))
        }
        return try rows.map { try device($0, app: app) }
    }

    /// Who is asked for by a whole id is shown whether active or not.
    private func device(
        _ id: DeviceID, app: AppKey, _ search: DeviceSearch, _ page: PageNumber, now: Timestamp
    ) throws -> ResultPage<Device> {
        guard let device = try device(app: app, id: id), search.routes.contains(device.address.route),
            search.topic.map({ device.topics(at: now).contains($0) }) ?? true
        else { return ResultPage() }
        return ResultPage(items: page.offset == 0 && page.size > 0 ? [device] : [], total: 1)
    }

    private static let rowsPerRead = 1000

    private func devices(
        app: AppKey, _ routes: [Route], topic: Int64?, containing part: PartOfText, _ page: PageNumber
    ) throws -> ResultPage<Device> {
        var result = ResultPage<Device>()
        var room = Limits.searchedRowsMax
        for route in routes {
            var cursor: DeviceKey = 0
            while room > 0 {
                let keys = try connection.all(
                    topic == nil ? SearchSQL.routeAfter : SearchSQL.topicAfter,
                    [.int(app), .route(route), .int(cursor), .int(min(room, Self.rowsPerRead))] + Self.value(topic)
                ) { $0.int(0) }
                guard let last = keys.last else { break }
                (cursor, room) = (last, room - keys.count)
                var rows: [DeviceRow] = []
                try connection.query(SearchSQL.deviceByKey, each: keys.map { [.int(app), .int($0)] }) {
                    rows.append(try DeviceRow($0))
                }
                for row in rows where try matches(row, part, app: app) {
                    let place = result.total - page.offset
                    if (0..<page.size).contains(place) { result.items.append(try device(row, app: app)) }
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
        return try DetailCoding.decode(try detail(app: app, device: row.key)).alias.map(part.isIn) ?? false
    }

    func userIDs(app: AppKey, containing part: String?, limit: Int) throws -> [String] {
        guard let part = part.map(PartOfText.init) else {
            return try connection.all(SearchSQL.users, [.int(app), .int(limit)]) { $0.text(0) }
        }
        var found: [String] = []
        try connection.query(SearchSQL.users, [.int(app), .int(Limits.searchedRowsMax)]) { row in
            let userID = row.text(0)
            if found.count < limit, part.isIn(userID) { found.append(userID) }
        }
        return found
    }
}

/// A part that texts are searched for, without regard to letter case. It runs here and not in SQL, whose engines
/// disagree about what is alike.
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
