/// What an installation runs on. The registered networks say which platforms there are; the raw value is stored and
/// is the platform's name in the API.
package struct Platform: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// A platform that some network's descriptor declares.
    package init(named name: String) { rawValue = name }

    /// nil for a name that no network declares.
    package init?(rawValue: String) {
        guard Networks.table.platforms.contains(where: { $0.platform.rawValue == rawValue }) else { return nil }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }

    /// What distinguishes a platform.
    package struct Traits: Sendable {
        let platform: Platform
        /// The platform that devices of it count as where people speak of the system alone.
        let family: Platform
        /// The first version of the system that shows notifications with buttons; nil = none does.
        let interactiveSince: [Int]?
        /// Whether authors may name it. Platforms without a push network exist only to keep old registrations.
        let isAddressable: Bool

        package init(
            _ platform: Platform, family: Platform? = nil, interactiveSince: [Int]? = nil, isAddressable: Bool = true
        ) {
            self.platform = platform
            self.family = family ?? platform
            self.interactiveSince = interactiveSince
            self.isAddressable = isAddressable
        }
    }

    private var traits: Traits? { Networks.table.platforms.first { $0.platform == self } }
    package var family: Platform { traits?.family ?? self }
    package var interactiveSince: [Int]? { traits?.interactiveSince }
}

extension Platform: CaseIterable {
    package static var allCases: [Platform] { Networks.table.platforms.map(\.platform) }

    /// The platforms an author may name.
    package static var addressable: [Platform] {
        Networks.table.platforms.filter(\.isAddressable).map(\.platform)
    }
}

/// The way to a device: a push network and its environment. A slice has exactly one, so a stopped network parks its own
/// work and nobody else's. The raw value is stored.
package struct Route: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    private let number: UInt8

    package var rawValue: Int64 { Int64(number) }

    /// A route that some network's descriptor declares.
    package init(number: UInt8) { self.number = number }

    /// nil for a number that no network declares.
    package init?(rawValue: Int64) {
        guard Networks.table.entry(rawValue) != nil else { return nil }
        number = UInt8(truncatingIfNeeded: rawValue)
    }

    /// The route to devices of a platform; networks without a sandbox have one route for both environments.
    package init(_ platform: Platform, _ environment: Environment) {
        let routes = Route.to(platform)
        guard let route = routes.first(where: { $0.environment == environment }) ?? routes.first else {
            preconditionFailure("\(platform) has no route")
        }
        self = route
    }

    /// What distinguishes a route of a network.
    package struct Traits: Sendable {
        let route: Route
        let platform: Platform
        let environment: Environment
        let isBroadcast: Bool
        /// Where it is not the network's.
        let address: AddressForm?

        package init(
            _ route: Route, _ platform: Platform, _ environment: Environment = .production, isBroadcast: Bool = false,
            address: AddressForm? = nil
        ) {
            self.route = route
            self.platform = platform
            self.environment = environment
            self.isBroadcast = isBroadcast
            self.address = address
        }
    }

    private var entry: NetworkTable.RouteEntry {
        guard let entry = Networks.table.entry(rawValue) else {
            preconditionFailure("route \(number) belongs to no registered network")
        }
        return entry
    }

    package var platform: Platform { entry.traits.platform }
    package var environment: Environment { entry.traits.environment }

    /// Whether its addresses are channels, which only messages name: no device is on such a route.
    package var isBroadcast: Bool { entry.traits.isBroadcast }

    /// Whether its addresses are URLs, which lead to hosts of their own.
    package var hasManyHosts: Bool { entry.hosts != nil }

    /// The same push network's other environment; nil where there is one only, and for channels.
    package var otherEnvironment: Route? { entry.otherEnvironment }

    /// nil where no push network is left to reach the device.
    package var provider: ProviderName? { entry.network }

    package var addressForm: AddressForm { entry.address }
    var hosts: Network.HostPolicy? { entry.hosts }

    package var description: String {
        (provider?.rawValue ?? "none") + (provider?.hasEnvironments == true ? " \(environment.rawValue)" : "")
    }
}

extension Route: CaseIterable {
    package static var allCases: [Route] { Networks.table.routes }

    /// Every route to devices of a platform.
    package static func to(_ platform: Platform) -> [Route] {
        allCases.filter { $0.platform == platform && !$0.isBroadcast }
    }
}

/// A push network's name, which is stored and is its name in the API.
package struct ProviderName: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// A network that has a descriptor.
    package init(named name: String) { rawValue = name }

    /// nil for a name that no network has.
    package init?(rawValue: String) {
        guard Networks.table.networks.contains(where: { $0.name.rawValue == rawValue }) else { return nil }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }

    package var network: Network {
        guard let network = Networks.table.network(self) else { preconditionFailure("\(self) is not registered") }
        return network
    }

    /// Whether production and sandbox have credentials of their own; elsewhere there is one credential.
    package var hasEnvironments: Bool { network.environments.count > 1 }
}

extension ProviderName: CaseIterable {
    package static var allCases: [ProviderName] { Networks.table.networks.map(\.name) }
}
