internal import Crypto
internal import PealCore

/// `device`: one row for each installation, in the order of the app's keys. `device_detail` has what sending does not
/// need.
enum DeviceTable {
    static let columns: Columns = """
        seq, id, route, state, address, address_key, address_rev, user_id, locale, zone, interactive, registered_at, \
        since, retired_at, retired_reason
        """

    static func detail(app: AppKey, device: DeviceKey) -> SQL {
        "SELECT detail FROM device_detail WHERE app = \(app) AND seq = \(device)"
    }

    /// What is read of a device that an audience names.
    private static let named = "seq, route, address, address_rev, locale"

    static let byID = Statement<(app: AppKey, id: DeviceID)>(
        "SELECT \(named) FROM device WHERE app = $1 AND id = $2 AND state = \(State.active.rawValue)"
    ) { [.int($0.app), .id($0.id)] }

    /// Only key and route, which are in an index.
    static let byUser = Statement<(app: AppKey, userID: String)>(
        "SELECT seq, route FROM device WHERE app = $1 AND user_id = $2 AND state = \(State.active.rawValue)"
    ) { [.int($0.app), .text($0.userID)] }

    /// Joined for the same reason as `devices(of:app:registeredBefore:limit:)`.
    static let byUserWithAddress = Statement<(app: AppKey, userID: String)>(
        """
        SELECT d.seq, d.route, d.address, d.address_rev, d.locale
        FROM device u JOIN device d ON d.app = u.app AND d.seq = u.seq
        WHERE u.app = $1 AND u.user_id = $2 AND u.state = \(State.active.rawValue)
        """
    ) { [.int($0.app), .text($0.userID)] }

    static let byIdentifier = Statement<(app: AppKey, identifier: DeviceIdentifier)>(
        """
        SELECT d.seq, d.route, d.address, d.address_rev, d.locale
        FROM device_identifier i JOIN device d ON d.app = i.app AND d.seq = i.seq
        WHERE i.app = $1 AND i.kind = $2 AND i.value = $3 AND d.state = \(State.active.rawValue)
        """
    ) { [.int($0.app), .text($0.identifier.kind.rawValue), .text($0.identifier.value)] }

    static let byKey = Statement<(app: AppKey, key: DeviceKey)>(
        "SELECT \(columns.text) FROM device WHERE app = $1 AND seq = $2"
    ) { [.int($0.app), .int($0.key)] }

    static func find(_ id: DeviceID, app: AppKey) -> SQL {
        "SELECT \(columns) FROM device WHERE app = \(app) AND id = \(id)"
    }

    static func find(addressKey: [UInt8], app: AppKey) -> SQL {
        "SELECT \(columns) FROM device WHERE app = \(app) AND address_key = \(addressKey)"
    }

    static let withAddressKey = Statement<(app: AppKey, addressKey: [UInt8])>(
        "SELECT seq FROM device WHERE app = $1 AND address_key = $2"
    ) { [.int($0.app), .bytes($0.addressKey)] }

    static let anyActive = Statement<(app: AppKey, route: Route)>(
        "SELECT seq FROM device WHERE app = $1 AND route = $2 AND state = \(State.active.rawValue) LIMIT 1"
    ) { [.int($0.app), .route($0.route)] }

    /// The devices that a registration may concern: those with its id, with its address, and with its address on
    /// another route.
    static func concerned(_ id: DeviceID, _ addressKey: [UInt8], _ otherKey: [UInt8]?, app: AppKey) -> SQL {
        let values = [app.stored, id.stored, app.stored, addressKey.stored]
        guard let otherKey else { return SQL(text: concernedText, values: values) }
        return SQL(text: concernedElsewhereText, values: values + [app.stored, otherKey.stored])
    }

    // Built once, because every registration runs one of them.
    private static let concernedText = {
        let (first, other) = (DeviceTable.find(DeviceID(high: 0, low: 0), app: 0), find(addressKey: [], app: 0))
        let sql: SQL = "\(first) UNION ALL \(other)"
        return sql.text
    }()
    private static let concernedElsewhereText = {
        let (first, other) = (DeviceTable.find(DeviceID(high: 0, low: 0), app: 0), find(addressKey: [], app: 0))
        let sql: SQL = "\(first) UNION ALL \(other) UNION ALL \(other)"
        return sql.text
    }()

    /// The key of the active device that has the address.
    static func holder(of address: Address, app: AppKey) -> SQL {
        """
        SELECT seq FROM device
        WHERE app = \(app) AND address_key = \(addressKey(of: address)) AND state = \(code: State.active)
        """
    }

    static let user = Statement<(app: AppKey, key: DeviceKey)>(
        "SELECT seq, user_id FROM device WHERE app = $1 AND seq = $2 AND user_id IS NOT NULL"
    ) { [.int($0.app), .int($0.key)] }

    /// The device, if the message has a moment of its user.
    static let withMoment = Statement<(app: AppKey, key: DeviceKey, message: MessageID)>(
        """
        SELECT d.seq FROM device d JOIN moment m ON m.app = d.app AND m.user_id = d.user_id
        WHERE d.app = $1 AND d.seq = $2 AND m.message = $3
        """
    ) { [.int($0.app), .int($0.key), .id($0.message)] }

    /// Active and retired devices of a user. Reads the keys from the index of users first: asked for the rows at once,
    /// SQLite reads all devices of the app.
    static func devices(of userID: String, app: AppKey, registeredBefore end: Timestamp?, limit: Int) -> SQL {
        let earlier: SQL = end.map { " AND d.registered_at <= \($0)" } ?? ""
        return """
            SELECT d.seq, d.route FROM device u JOIN device d ON d.app = u.app AND d.seq = u.seq
            WHERE u.app = \(app) AND u.user_id = \(userID)\(earlier) LIMIT \(limit)
            """
    }

    /// The active devices of a route that joined it in time.
    static func stream(
        app: AppKey, _ route: Route, _ range: ClosedRange<DeviceKey>, cutoff: Cutoff
    ) -> SQL {
        """
        SELECT seq FROM device
        WHERE app = \(app) AND route = \(route) AND seq BETWEEN \(range.lowerBound) AND \(range.upperBound)
            AND state = \(code: State.active) AND (since <= \(cutoff.at) OR since > \(cutoff.future))
        """
    }

    /// The active devices of a route that are not interactive.
    static func plain(app: AppKey, _ route: Route, _ range: ClosedRange<DeviceKey>) -> SQL {
        """
        SELECT seq FROM device
        WHERE app = \(app) AND route = \(route) AND seq BETWEEN \(range.lowerBound) AND \(range.upperBound)
            AND state = \(code: State.active) AND interactive = 0
        """
    }

    enum State: Int64, SQLStorable {
        case retired = 0
        case active = 1
    }

    /// Why a device was retired whose address another one has now.
    static let addressMoved = "AddressMoved"

    /// The identity of an address: the first 16 bytes of SHA-256 over the route and the address. Addresses are long and
    /// would make the index large.
    static func addressKey(of address: Address) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: [UInt8(truncatingIfNeeded: address.route.rawValue)])
        hash.update(data: address.identity)
        return Array(hash.finalize().prefix(16))
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
    /// When it joined the stream of all devices of its route.
    var since: Timestamp
    var retirement: Device.Retirement?

    var route: Route { address.route }

    /// Reads `DeviceTable.columns`.
    init(_ row: inout RowReader) throws {
        key = try row.next()
        id = try row.next()
        let route: Route = try row.next()
        let state: DeviceTable.State = try row.next()
        address = Address(route: route, bytes: try row.next())
        addressKey = try row.next()
        revision = try row.next()
        userID = try row.next()
        locale = try row.next()
        zone = try row.next()
        isInteractive = try row.next()
        registeredAt = try row.next()
        since = try row.next()
        if state == .retired { retirement = .init(at: try row.next(), reason: try row.next()) }
    }

    /// A device that registers for the first time.
    init(_ registration: DeviceRegistration, key: DeviceKey, addressKey: [UInt8], now: Timestamp) {
        self.key = key
        id = registration.id
        address = registration.address
        self.addressKey = addressKey
        revision = 1
        userID = registration.userID
        locale = WordTable.none
        zone = WordTable.none
        isInteractive = registration.isInteractive
        registeredAt = now
        since = now
    }

    func insert(app: AppKey) -> SQL { SQL(text: Self.insertText, values: insertValues(app)) }

    /// Inserts nothing if there is a device with this id or address.
    func insertIfNew(app: AppKey) -> SQL { SQL(text: Self.insertIfNewText, values: insertValues(app)) }

    private func insertValues(_ app: AppKey) -> [SQLValue] {
        var values: [SQLValue] = []
        values.reserveCapacity(Self.changing.count + 2)
        values.append(app.stored)
        values.append(key.stored)
        for column in Self.changing { values.append(column.value(self)) }
        return values
    }

    func update(app: AppKey) -> SQL {
        SQL(text: Self.updateText, values: Self.changing.map { $0.value(self) } + [app.stored, key.stored])
    }

    /// The columns of a device that can change.
    private static let changing: [(name: String, value: @Sendable (DeviceRow) -> SQLValue)] = [
        ("id", { $0.id.stored }), ("route", { $0.route.stored }),
        ("state", { ($0.retirement == nil ? DeviceTable.State.active : DeviceTable.State.retired).stored }),
        ("address", { $0.address.bytes.stored }), ("address_key", { $0.addressKey.stored }),
        ("address_rev", { $0.revision.stored }), ("user_id", { $0.userID.stored }), ("locale", { $0.locale.stored }),
        ("zone", { $0.zone.stored }), ("interactive", { $0.isInteractive.stored }),
        ("registered_at", { $0.registeredAt.stored }), ("since", { $0.since.stored }),
        ("retired_at", { ($0.retirement?.at).stored }), ("retired_reason", { ($0.retirement?.reason).stored }),
    ]

    // Built once, because every registration runs one of them.
    private static let insertText = {
        let names = ["app", "seq"] + changing.map(\.name)
        let parameters = names.indices.map { "$\($0 + 1)" }
        return "INSERT INTO device (\(names.joined(separator: ", "))) VALUES (\(parameters.joined(separator: ", ")))"
    }()
    private static let insertIfNewText = "\(insertText) ON CONFLICT DO NOTHING"
    private static let updateText = {
        let count = changing.count
        let assignments = changing.enumerated().map { "\($1.name) = $\($0 + 1)" }
        return """
            UPDATE device SET \(assignments.joined(separator: ", ")) WHERE app = $\(count + 1) AND seq = $\(count + 2)
            """
    }()
}

extension StoreSession {
    func device(app: AppKey, id: DeviceID) throws -> Device? {
        try deviceRow(app: app, id: id).map { try device($0, app: app) }
    }

    func device(app: AppKey, key: DeviceKey) throws -> Device? {
        try deviceRow(app: app, key: key).map { try device($0, app: app) }
    }

    func device(app: AppKey, address: Address) throws -> Device? {
        try deviceRow(app: app, addressKey: DeviceTable.addressKey(of: address)).map { try device($0, app: app) }
    }

    func deviceRow(app: AppKey, id: DeviceID) throws -> DeviceRow? {
        try connection.first(DeviceTable.find(id, app: app), DeviceRow.init)
    }

    func deviceRow(app: AppKey, addressKey: [UInt8]) throws -> DeviceRow? {
        try connection.first(DeviceTable.find(addressKey: addressKey, app: app), DeviceRow.init)
    }

    func deviceRow(app: AppKey, key: DeviceKey) throws -> DeviceRow? {
        try deviceRows(app: app, keys: CollectionOfOne(key)).first
    }

    func deviceRows(app: AppKey, keys: some Sequence<DeviceKey>) throws -> [DeviceRow] {
        var rows: [DeviceRow] = []
        try connection.scan(DeviceTable.byKey, keys.map { (app, $0) }) { row in
            var reader = RowReader(row)
            rows.append(try DeviceRow(&reader))
        }
        return rows
    }

    /// A row together with what other tables contain about the device.
    func device(_ row: DeviceRow, app: AppKey) throws -> Device {
        let topics = try subscriptions(app: app, device: row.key)
        let ends = topics.compactMap { topic in topic.expiresAt.map { (topic.name, $0) } }
        return Device(
            id: row.id, key: row.key, address: row.address, userID: row.userID, topics: topics.map(\.name),
            locale: try word(row.locale), timeZone: try word(row.zone),
            detail: try readDetail(app: app, device: row.key),
            isInteractive: row.isInteractive, registeredAt: row.registeredAt, retirement: row.retirement,
            topicEnds: Dictionary(ends) { $1 }, activeSince: row.since)
    }

    /// In a list, the detail of a device is empty if it cannot be read.
    func readDetail(app: AppKey, device: DeviceKey) throws -> DeviceDetail {
        try connection.first(DeviceTable.detail(app: app, device: device)) { row in
            try DetailCoding.decode(row.next())
        } ?? DeviceDetail()
    }

    /// A device's detail, packed; empty when there is none.
    func detail(app: AppKey, device: DeviceKey) throws -> [UInt8] {
        try connection.value(DeviceTable.detail(app: app, device: device)) ?? []
    }

    /// Empty bytes delete the row.
    func putDetail(_ detail: [UInt8], app: AppKey, device: DeviceKey) throws {
        guard !detail.isEmpty else {
            try connection.post("DELETE FROM device_detail WHERE app = \(app) AND seq = \(device)")
            return
        }
        try connection.post(
            """
            INSERT INTO device_detail (app, seq, detail) VALUES (\(app), \(device), \(detail))
            ON CONFLICT (app, seq) DO UPDATE SET detail = excluded.detail
            """)
    }

    func deviceCount(app: AppKey, route: Route?) throws -> Int {
        let mine: SQL = route.map { " AND route = \($0)" } ?? ""
        return try connection.count(
            "SELECT COUNT(*) FROM device WHERE app = \(app)\(mine) AND state = \(code: DeviceTable.State.active)")
    }
}

/// What is known about a device but not needed for sending, as compact JSON. Without any detail there are no bytes and
/// no row.
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
            ("retired", detail.pastRetirement.map(json)),
        ]).bytes
    }

    private static func json(_ past: DeviceDetail.PastRetirement) -> JSON {
        [
            "at": .integer(past.retirement.at.milliseconds), "reason": .string(past.retirement.reason),
            "until": .integer(past.until.milliseconds),
        ]
    }

    private static func pastRetirement(_ json: JSON) -> DeviceDetail.PastRetirement? {
        guard let at = json["at"]?.integerValue, let reason = json["reason"]?.stringValue,
            let until = json["until"]?.integerValue
        else { return nil }
        let retirement = Device.Retirement(at: Timestamp(milliseconds: at), reason: reason)
        return .init(retirement, until: Timestamp(milliseconds: until))
    }

    static func decode(_ bytes: [UInt8]) throws -> DeviceDetail {
        var detail = DeviceDetail()
        guard !bytes.isEmpty else { return detail }
        guard let json = try? JSONParser.parse(bytes, depthMax: ContentCoding.depthMax, isStored: true) else {
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
        detail.pastRetirement = json["retired"].flatMap(pastRetirement)
        return detail
    }
}
