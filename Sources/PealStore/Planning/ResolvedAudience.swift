internal import PealCore

/// An audience after its names were looked up.
struct ResolvedAudience {
    var predicate: Predicate
    /// Where it may be sent at all.
    var routes: [Route]
    /// Named devices, sorted, by route.
    var keys: [Route: [DeviceKey]] = [:]
    /// Named addresses that no device has.
    var addresses: [Route: [Address]] = [:]

    var namedCount: Int {
        keys.values.reduce(0) { $0 + $1.count } + addresses.values.reduce(0) { $0 + $1.count }
    }

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

extension StoreSession {
    /// Looks up everything that the audience names. Topics that have expired reach nobody; excluded ones exclude all
    /// the same.
    func resolve(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> ResolvedAudience {
        var predicate = Predicate()
        predicate.includesAll = audience.includesAll
        predicate.isList = audience.isExplicit
        predicate.interactiveOnly = audience.interactiveOnly
        predicate.topics = try topicNumbers(app: app, audience.topics, notExpiredAt: now)
        predicate.excludedTopics = try topicNumbers(app: app, audience.excludedTopics, notExpiredAt: now)
        var resolved = ResolvedAudience(
            predicate: predicate, routes: ResolvedAudience.routes(audience, environment))
        var keys: [Route: Set<DeviceKey>] = [:]
        func take(_ row: any SQLRow) throws {
            let route = try row.route(1)
            if resolved.routes.contains(route) { keys[route, default: []].insert(row.int(0)) }
        }
        if !audience.includesAll {
            try connection.query(
                HotSQL.findDevice, each: Set(audience.devices).sorted().map { [.int(app), .id($0)] }, take)
            try connection.query(
                HotSQL.findIdentifier,
                each: Set(audience.identifiers).sorted { ($0.kind.rawValue, $0.value) < ($1.kind.rawValue, $1.value) }
                    .map { [.int(app), .text($0.kind.rawValue), .text($0.value)] }, take)
            try connection.query(
                HotSQL.findUser, each: Set(audience.users).sorted().map { [.int(app), .text($0)] }, take)
        }
        for address in audience.addresses where resolved.routes.contains(address.route) {
            try resolve(address, app: app, &resolved, &keys)
        }
        if audience.includesAll { keys = [:] }
        resolved.keys = keys.mapValues { $0.sorted() }
        resolved.predicate.hasKeys = !keys.isEmpty && !audience.isExplicit
        if audience.isExplicit { try narrow(&resolved, app: app) }
        return resolved
    }

    private func topicNumbers(app: AppKey, _ names: [String], notExpiredAt now: Timestamp) throws -> [Int64] {
        var numbers: Set<Int64> = []
        try connection.query(
            "SELECT topic, expires_at FROM topic WHERE app = $1 AND name = $2",
            each: Set(names.map(ExactText.init)).sorted().map { [.int(app), .text($0.text)] }
        ) { row in
            if let end = row.timeIfPresent(1), end <= now { return }
            numbers.insert(row.int(0))
        }
        return numbers.sorted()
    }

    /// An address that a device has is that device; others are sent to as they are, each once.
    private func resolve(
        _ address: Address, app: AppKey, _ resolved: inout ResolvedAudience, _ keys: inout [Route: Set<DeviceKey>]
    ) throws {
        let device = try connection.int(
            HotSQL.findAddress, [.int(app), .bytes(DeviceRow.addressKey(of: address))])
        if let device {
            keys[address.route, default: []].insert(device)
        } else if !(resolved.addresses[address.route] ?? []).contains(where: { $0.identity == address.identity }) {
            resolved.addresses[address.route, default: []].append(address)
        }
    }

    /// Takes from named devices who is excluded at this moment, so that nobody else is counted or planned for.
    private func narrow(_ resolved: inout ResolvedAudience, app: AppKey) throws {
        let predicate = resolved.predicate
        guard predicate.interactiveOnly || !predicate.excludedTopics.isEmpty else { return }
        for (route, keys) in resolved.keys {
            resolved.keys[route] = try ListPlan.cut(keys).flatMap { list -> [DeviceKey] in
                guard let first = list.first, let last = list.last else { return [] }
                var set = KeySet(range: first...last)
                for key in list { set.insert(key) }
                try exclude(from: &set, predicate, app: app, route: route, range: first...last)
                return set.keys(after: first - 1, limit: list.count)
            }
        }
    }
}
