internal import Crypto
internal import PealCore

extension StoreSession {
    func device(app: AppKey, id: DeviceID) throws -> Device? {
        try deviceRow(app: app, id: id).map { try device($0, app: app) }
    }

    func deviceRow(app: AppKey, id: DeviceID) throws -> DeviceRow? {
        try connection.first(HotSQL.deviceByID, [.int(app), .id(id)], DeviceRow.init)
    }

    func deviceRow(app: AppKey, addressKey: [UInt8]) throws -> DeviceRow? {
        try connection.first(HotSQL.deviceByAddress, [.int(app), .bytes(addressKey)], DeviceRow.init)
    }

    /// A row with what lies beside it.
    func device(_ row: DeviceRow, app: AppKey) throws -> Device {
        let topics = try subscriptions(app: app, device: row.key)
        let ends = topics.compactMap { topic in topic.expiresAt.map { (topic.name, $0) } }
        return Device(
            id: row.id, key: row.key, address: row.address, userID: row.userID, topics: topics.map(\.name),
            locale: try word(row.locale), timeZone: try word(row.zone),
            detail: try DetailCoding.decode(try detail(app: app, device: row.key)),
            isInteractive: row.isInteractive, registeredAt: row.registeredAt, retirement: row.retirement,
            topicEnds: Dictionary(ends) { $1 })
    }

    func detail(app: AppKey, device: DeviceKey) throws -> [UInt8] {
        try connection.first(
            "SELECT detail FROM device_detail WHERE app = $1 AND seq = $2", [.int(app), .int(device)]
        ) { $0.bytes(0) } ?? []
    }

    /// What a device subscribed to.
    typealias Subscription = (number: Int64, name: String, expiresAt: Timestamp?)

    /// Topics of a device by name, retired or not; expired ones too.
    func subscriptions(app: AppKey, device: DeviceKey) throws -> [Subscription] {
        try connection.all(
            """
            SELECT topic.topic, topic.name, topic.expires_at FROM device_topic
            JOIN topic ON topic.app = device_topic.app AND topic.topic = device_topic.topic
            WHERE device_topic.app = $1 AND device_topic.seq = $2
            """, [.int(app), .int(device)]
        ) { (number: $0.int(0), name: $0.text(1), expiresAt: $0.timeIfPresent(2)) }.sorted { $0.name < $1.name }
    }

    /// A listing by topic shows active devices only: retired ones are no members.
    func devices(app: AppKey, _ filter: DeviceFilter, after cursor: DeviceKey, limit: Int) throws -> [Device] {
        guard let topic = filter.topic else {
            return try deviceRows(app: app, filter, after: cursor, limit: limit).map { try device($0, app: app) }
        }
        guard let number = try knownTopicNumber(app: app, name: topic) else { return [] }
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
        var conditions = "app = $1 AND seq > $2"
        var values: [SQLValue] = [.int(app), .int(cursor), .int(limit)]
        if let userID = filter.userID {
            values.append(.text(userID))
            conditions += " AND user_id = $\(values.count)"
        }
        if let address = filter.address {
            values.append(.bytes(DeviceRow.addressKey(of: address)))
            conditions += " AND address_key = $\(values.count)"
        }
        return try connection.all(
            "SELECT \(DeviceRow.columns) FROM device WHERE \(conditions) ORDER BY seq LIMIT $3", values,
            DeviceRow.init)
    }

    private static func matches(_ row: DeviceRow, _ filter: DeviceFilter) -> Bool {
        (filter.userID == nil || filter.userID == row.userID)
            && (filter.address.map { DeviceRow.addressKey(of: $0) == row.addressKey } ?? true)
    }

    /// Members lie by route; merged they are in order of key.
    private func members(app: AppKey, topic: Int64, after cursor: DeviceKey, limit: Int) throws -> [DeviceKey] {
        var keys: [DeviceKey] = []
        for route in Route.allCases {
            keys += try connection.all(
                """
                SELECT seq FROM topic_member WHERE app = $1 AND topic = $2 AND route = $3 AND seq > $4
                ORDER BY seq LIMIT $5
                """, [.int(app), .int(topic), .route(route), .int(cursor), .int(limit)]
            ) { $0.int(0) }
        }
        return Array(keys.sorted().prefix(limit))
    }

    private func deviceRows(app: AppKey, keys: [DeviceKey]) throws -> [DeviceRow] {
        var rows: [DeviceRow] = []
        try connection.query(
            "SELECT \(DeviceRow.columns) FROM device WHERE app = $1 AND seq = $2",
            each: keys.map { [.int(app), .int($0)] }
        ) { rows.append(try DeviceRow($0)) }
        return rows
    }

    func deviceCount(app: AppKey, route: Route?) throws -> Int {
        let mine = route == nil ? "" : " AND route = $2"
        return Int(
            try connection.int(
                "SELECT COUNT(*) FROM device WHERE app = $1\(mine) AND state = 1",
                [.int(app)] + (route.map { [.route($0)] } ?? [])) ?? 0)
    }
}

/// A row of `device`.
struct DeviceRow {
    var key: DeviceKey
    var id: DeviceID
    var address: Address
    var addressKey: [UInt8]
    var revision: Int64
    var userID: String?
    var locale: Int64
    var zone: Int64
    var isInteractive: Bool
    var registeredAt: Timestamp
    /// Since when it is in the stream of all devices of its route.
    var since: Timestamp
    var retirement: Device.Retirement?

    static let columns = """
        seq, id, route, state, address, address_key, address_rev, user_id, locale, zone, interactive, registered_at, \
        since, retired_at, retired_reason
        """

    static let stateActive: Int64 = 1
    private static let stateRetired: Int64 = 0

    init(_ row: any SQLRow) throws {
        key = row.int(0)
        id = try row.id(1)
        address = Address(route: try row.route(2), bytes: row.bytes(4))
        addressKey = row.bytes(5)
        revision = row.int(6)
        userID = row.textIfPresent(7)
        locale = row.int(8)
        zone = row.int(9)
        isInteractive = row.flag(10)
        registeredAt = row.time(11)
        since = row.time(12)
        if row.int(3) != Self.stateActive { retirement = .init(at: row.time(13), reason: row.text(14)) }
    }

    /// A device that registers for the first time.
    init(_ registration: DeviceRegistration, key: DeviceKey, addressKey: [UInt8], now: Timestamp) {
        self.key = key
        id = registration.id
        address = registration.address
        self.addressKey = addressKey
        revision = 1
        userID = registration.userID
        locale = 0
        zone = 0
        isInteractive = registration.isInteractive
        registeredAt = now
        since = now
    }

    var route: Route { address.route }

    /// In the order of `columns`.
    var values: [SQLValue] {
        [
            .int(key), .id(id), .route(route), .int(retirement == nil ? Self.stateActive : Self.stateRetired),
            .bytes(address.bytes), .bytes(addressKey), .int(revision), .text(userID), .int(locale), .int(zone),
            .flag(isInteractive), .time(registeredAt), .time(since), .time(retirement?.at), .text(retirement?.reason),
        ]
    }

    /// What tells addresses apart: the first 16 bytes of SHA-256 over the route and the address. Addresses are long and
    /// would fill an index.
    static func addressKey(of address: Address) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: [UInt8(truncatingIfNeeded: address.route.rawValue)])
        hash.update(data: address.identity)
        return Array(hash.finalize().prefix(16))
    }
}

/// What is known of a device beyond sending, as compact JSON. Nothing known = no bytes, and no row.
enum DetailCoding {
    static func encode(_ detail: DeviceDetail) -> [UInt8] {
        guard detail != DeviceDetail() else { return [] }
        let identifiers = detail.identifiers.sorted { $0.key < $1.key }.map { ($0.key, JSON.string($0.value)) }
        return JSON.compact([
            ("os", detail.osVersion.map(JSON.string)), ("app", detail.appVersion.map(JSON.string)),
            ("identifiers", identifiers.isEmpty ? nil : .object(.init(identifiers))),
            ("attributes", detail.attributes.isEmpty ? nil : .object(detail.attributes)),
            ("alias", detail.alias.map(JSON.string)), ("model", detail.model.map(JSON.string)),
            ("manufacturer", detail.manufacturer.map(JSON.string)), ("vendor_os", detail.vendorOS.map(JSON.string)),
            ("address", detail.addressAsSent.map(JSON.string)),
            ("disproved", detail.environmentDisproved.map { .string($0.rawValue) }),
        ]).bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> DeviceDetail {
        var detail = DeviceDetail()
        guard !bytes.isEmpty else { return detail }
        guard let json = try? JSONParser.parse(bytes, depthMax: ContentCoding.depthMax) else {
            throw PealError.damaged("a device's detail")
        }
        detail.osVersion = json["os"]?.stringValue
        detail.appVersion = json["app"]?.stringValue
        for (name, value) in json["identifiers"]?.objectValue?.pairs ?? JSON.Members().pairs {
            detail.identifiers[name] = value.stringValue
        }
        detail.attributes = json["attributes"]?.objectValue ?? .init()
        detail.alias = json["alias"]?.stringValue
        detail.model = json["model"]?.stringValue
        detail.manufacturer = json["manufacturer"]?.stringValue
        detail.vendorOS = json["vendor_os"]?.stringValue
        detail.addressAsSent = json["address"]?.stringValue
        detail.environmentDisproved = json["disproved"]?.stringValue.flatMap(Environment.init(rawValue:))
        return detail
    }
}
