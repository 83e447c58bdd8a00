internal import Crypto
internal import PealCore

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
