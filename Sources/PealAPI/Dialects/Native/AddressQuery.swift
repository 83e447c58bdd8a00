internal import PealCore

/// What an address in a query may mean: its text alone does not tell the push network.
struct AddressQuery {
    private let routes: [Route]
    private let rules: AddressRules

    /// Takes the parameters `platform` and `environment`, which narrow.
    /// - Throws: `invalid_field` for one that is none.
    init(_ query: Query, rules: AddressRules) throws(PealError) {
        let platform = try query["platform"].map { name throws(PealError) in
            try Fields.platform(.string(name), "platform")
        }
        let environment = try query["environment"].map { name throws(PealError) in
            guard let environment = Environment(alias: name) else {
                throw .invalid("environment", "environment must be production or sandbox")
            }
            return environment
        }
        routes = Route.allCases.filter { route in
            Platform.addressable.contains(route.platform) && (platform.map { $0 == route.platform } ?? true)
                && (environment.map { $0 == route.environment } ?? true)
        }
        self.rules = rules
    }

    /// Every address that `text` can be; empty when what narrows leaves none.
    /// - Throws: `invalid_field` when it can be no address of any push network.
    func candidates(_ text: String) throws(PealError) -> [Address] {
        // Whatever is an address anywhere has the form of a registration token, which is the loosest.
        guard (try? rules.address(.string(text), platform: .android, environment: .production)) != nil else {
            throw .invalid("address", "address is no address of any push network")
        }
        return routes.compactMap { Self.address(text, on: $0, rules) }
    }

    private static func address(_ text: String, on route: Route, _ rules: AddressRules) -> Address? {
        if route.isBroadcast { return try? rules.channel(.string(text), environment: route.environment) }
        if route == .webPush {
            // A subscription is known by its endpoint alone.
            guard text.hasPrefix("https://") || text.hasPrefix("http://") else { return nil }
            return Address(route: route, bytes: (["endpoint": .string(text)] as JSON).bytes)
        }
        return try? rules.address(.string(text), platform: route.platform, environment: route.environment)
    }
}
