internal import PealCore

/// An audience whose names have been looked up.
struct ResolvedAudience {
    var predicate: Predicate
    /// The routes on which it may be sent.
    var routes: [Route]
    /// Named devices, sorted, by route.
    var keys: [Route: [DeviceKey]] = [:]
    /// Named addresses that no device has.
    var addresses: [Route: [Address]] = [:]
    /// The named devices with their addresses, if they are few.
    var devices: [DeviceKey: NamedDevice]?

    var namedCount: Int {
        keys.values.reduce(0) { $0 + $1.count } + addresses.values.reduce(0) { $0 + $1.count }
    }

    /// How wide a range of keys may be. If the rows of all devices are read, a slice reads no more of them at once than
    /// for a dense audience, however few devices meet the condition.
    var rangeKeysMax: Int64 { predicate.condition?.readsRows == true ? Limits.rangeKeys : KeyRangePlan.keysMax }

    /// Platforms and the APNs environment decide the routes.
    static func routes(_ audience: Audience, _ environment: Environment?) -> [Route] {
        Route.allCases.filter { route in
            let isWanted = audience.platforms?.contains(route.platform) ?? true
            let isApart =
                environment != nil && route.provider?.hasEnvironments == true && route.environment != environment
            return isWanted && !isApart
        }
    }
}

/// A device that an audience names, as it was when the name was looked up.
struct NamedDevice {
    let address: [UInt8]
    let revision: Int64
    let locale: Int32
}

extension StoreSession {
    /// Looks up everything that the audience names. An expired topic neither includes nor excludes devices.
    /// - Parameter isExact: whether named devices are tested even if there are many; otherwise the slices test them.
    func resolve(
        app: AppKey, _ audience: Audience, environment: Environment?, isExact: Bool = false, now: Timestamp
    ) throws -> ResolvedAudience {
        var predicate = Predicate()
        predicate.includesAll = audience.includesEverybody
        predicate.condition = try audience.condition.map { try self.resolved($0, app: app) }
        predicate.isList = audience.isExplicit
        predicate.interactiveOnly = audience.interactiveOnly
        predicate.topics = try topicNumbers(app: app, audience.topics, notExpiredAt: now)
        predicate.excludedTopics = try topicNumbers(app: app, audience.excludedTopics, notExpiredAt: now)
        var resolved = ResolvedAudience(
            predicate: predicate, routes: ResolvedAudience.routes(audience, environment))
        var keys: [Route: Set<DeviceKey>] = [:]
        if !audience.includesEverybody {
            let count = audience.devices.count + audience.identifiers.count + audience.users.count
            resolved.devices = count <= Self.devicesNotedMax ? [:] : nil
            keys = try named(audience, on: Set(resolved.routes), app: app, noting: &resolved.devices)
        }
        try resolve(audience.addresses, app: app, &resolved, &keys)
        if audience.includesEverybody { keys = [:] }
        resolved.addresses = resolved.addresses.filter { predicate.admits(addressOn: $0.key.platform) }
        resolved.keys = keys.mapValues { $0.sorted() }
        resolved.predicate.hasKeys = !keys.isEmpty && !audience.isExplicit
        if audience.isExplicit {
            try narrow(&resolved, isExact: isExact, app: app, cutoff: cutoff(at: now, now: now))
        }
        return resolved
    }

    /// How many named devices are kept with their addresses.
    private static let devicesNotedMax = 16

    /// The active devices that the audience names by id, identifier or user. In the same round trip, it looks up what
    /// planning needs of the app.
    /// - Parameter devices: receives them with their addresses. Pass nil if the addresses are not needed. It becomes
    ///   nil if there are more than `devicesNotedMax`.
    private func named(
        _ audience: Audience, on routes: Set<Route>, app: AppKey, noting devices: inout [DeviceKey: NamedDevice]?
    ) throws -> [Route: Set<DeviceKey>] {
        var keys: [Route: Set<DeviceKey>] = [:]
        var closed: Set<Route> = []
        let names = names(audience, app: app, withAddresses: devices != nil)
        let statements = [AppTable.facts(app), RouteGateTable.closed(app)] + names
        try connection.query(statements) { index, row in
            if index == 0 { return try note(facts: row, of: app) }
            // A newer server on the same database may know more routes.
            guard let route = Route(rawValue: row.int(index == 1 ? 0 : 1)) else { return }
            if index == 1 {
                closed.insert(route)
                return
            }
            let key = row.int(0)
            guard routes.contains(route), keys[route, default: []].insert(key).inserted, devices != nil else { return }
            devices?[key] = NamedDevice(
                address: row.withBytes(2) { Array($0) }, revision: row.int(3),
                locale: Int32(truncatingIfNeeded: row.int(4)))
            if devices?.count ?? 0 > Self.devicesNotedMax { devices = nil }
        }
        memo.closedRoutes[app] = closed
        return keys
    }

    /// A statement for each name, in the order of the names.
    private func names(_ audience: Audience, app: AppKey, withAddresses: Bool) -> [SQL] {
        let identifiers = audience.identifiers.sorted {
            ($0.kind.rawValue, ExactText($0.value)) < ($1.kind.rawValue, ExactText($1.value))
        }
        return Set(audience.devices).sorted().map { DeviceTable.byID.sql((app, $0)) }
            + identifiers.map { DeviceTable.byIdentifier.sql((app, $0)) }
            + audience.users.distinctTexts.map {
                (withAddresses ? DeviceTable.byUserWithAddress : DeviceTable.byUser).sql((app, $0))
            }
    }

    /// The `keys` that the slice's message still names: since planning, a device may have passed to another user.
    /// Devices that are named by id or address stay, because an installation keeps its key when these change.
    func stillNamed(_ keys: [DeviceKey], by id: Slice.ID) throws -> [DeviceKey] {
        var named: Set<DeviceKey> = []
        if id.isMoment {
            try connection.scan(DeviceTable.withMoment, keys.map { (id.app, $0, id.message) }) {
                named.insert($0.int(0))
            }
            return keys.filter(named.contains)
        }
        let audience = try connection.first(
            "SELECT audience FROM message_content WHERE \(MessageTable.matching(id.app, id.message))"
        ) { row in try AudienceCoding.decode(row.next()) }
        guard var audience, !audience.users.isEmpty || !audience.identifiers.isEmpty else { return keys }
        let users = Set(audience.users.map(ExactText.init))
        audience.users = []
        var devices: [DeviceKey: NamedDevice]?
        named = try self.named(audience, on: [id.route], app: id.app, noting: &devices)[id.route] ?? []
        for address in audience.addresses where address.route == id.route {
            if let holder: DeviceKey = try connection.value(DeviceTable.holder(of: address, app: id.app)) {
                named.insert(holder)
            }
        }
        try connection.scan(DeviceTable.user, keys.map { (id.app, $0) }) { row in
            if users.contains(ExactText(row.text(1))) { named.insert(row.int(0)) }
        }
        return keys.filter(named.contains)
    }

    private func topicNumbers(app: AppKey, _ names: [String], notExpiredAt now: Timestamp) throws -> [Int64] {
        var numbers: Set<Int64> = []
        try connection.scan(TopicTable.byName, names.distinctTexts.map { (app, $0) }) { row in
            if let end = try Timestamp?(row, 1), end <= now { return }
            numbers.insert(row.int(0))
        }
        return numbers.sorted()
    }

    /// An address that belongs to a device means that device. Other addresses are sent to directly, each once.
    private func resolve(
        _ addresses: [Address], app: AppKey, _ resolved: inout ResolvedAudience, _ keys: inout [Route: Set<DeviceKey>]
    ) throws {
        var seen: [Route: Set<[UInt8]>] = [:]
        for address in addresses where resolved.routes.contains(address.route) {
            if let device: DeviceKey = try connection.value(DeviceTable.holder(of: address, app: app)) {
                keys[address.route, default: []].insert(device)
            } else if seen[address.route, default: []].insert(address.identity).inserted {
                resolved.addresses[address.route, default: []].append(address)
            }
        }
    }

    /// Removes named devices that are excluded now, so that only the others are counted and planned.
    private func narrow(
        _ resolved: inout ResolvedAudience, isExact: Bool, app: AppKey, cutoff: Cutoff
    ) throws {
        let predicate = resolved.predicate
        let tests = resolved.namedCount * (predicate.condition?.size ?? 0)
        let isTested = isExact || tests <= Limits.conditionTestsWhilePlanningMax
        let condition = isTested ? predicate.condition : nil
        guard predicate.interactiveOnly || !predicate.excludedTopics.isEmpty || condition != nil else { return }
        for (route, keys) in resolved.keys {
            let plan = try condition.map { try self.plan($0, app: app, route: route, cutoff: cutoff) }
            resolved.keys[route] = try ListPlan.cut(keys).flatMap { list -> [DeviceKey] in
                guard let first = list.first, let last = list.last else { return [] }
                var set = KeySet(range: first...last)
                for key in list { set.insert(key) }
                try narrow(&set, predicate, plan, app: app, route: route, range: first...last, cutoff: cutoff)
                return set.keys(after: first - 1, limit: list.count)
            }
        }
    }
}
