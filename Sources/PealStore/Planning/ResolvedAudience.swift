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
            let isApart = environment != nil && route.provider == .apns && route.environment != environment
            return isWanted && !isApart
        }
    }
}
