/// The system that an installation runs on. The registered networks declare the platforms. The raw value is stored and
/// is the platform's name in the API.
package struct Platform: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// A platform that a network's descriptor declares.
    package init(named name: String) { rawValue = name }

    /// nil for a name that no network declares.
    package init?(rawValue: String) {
        guard Networks.table.platforms.contains(where: { $0.platform.rawValue == rawValue }) else { return nil }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }

    /// The properties of a platform.
    package struct Traits: Sendable {
        let platform: Platform
        /// The platform that its devices count as when only the operating system matters.
        let family: Platform
        /// The first version of the system that shows notifications with buttons; nil if none does.
        let interactiveSince: [Int]?
        /// Whether authors may name it. A platform without a push network exists only to keep old registrations.
        let isAddressable: Bool
        /// Whether a dialect whose authors name no platforms refuses content that is invalid for this platform. Content
        /// that is invalid for another platform is accepted, and that platform's devices do not receive it.
        let isPrimary: Bool

        package init(
            _ platform: Platform, family: Platform? = nil, interactiveSince: [Int]? = nil, isAddressable: Bool = true,
            isPrimary: Bool = false
        ) {
            self.platform = platform
            self.family = family ?? platform
            self.interactiveSince = interactiveSince
            self.isAddressable = isAddressable
            self.isPrimary = isPrimary
        }
    }

    private var traits: Traits? { Networks.table.platforms.first { $0.platform == self } }
    package var family: Platform { traits?.family ?? self }
    var interactiveSince: [Int]? { traits?.interactiveSince }
}

extension Platform: CaseIterable {
    package static var allCases: [Platform] { Networks.table.platforms.map(\.platform) }

    /// The platforms that an author may name.
    package static var addressable: [Platform] {
        Networks.table.platforms.filter(\.isAddressable).map(\.platform)
    }

    /// The platforms for which every message must be valid unless its author names others.
    package static var primary: [Platform] { Networks.table.platforms.filter(\.isPrimary).map(\.platform) }
}

/// An app's way through one push network and environment. Each slice has exactly one route, so a network that is
/// stopped delays only its own work. The raw value is stored.
package struct Route: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    private let number: UInt8

    package var rawValue: Int64 { Int64(number) }

    /// A route that a network's descriptor declares.
    package init(number: UInt8) { self.number = number }

    /// nil for a number that no network declares.
    package init?(rawValue: Int64) {
        guard Networks.table.entry(rawValue) != nil else { return nil }
        number = UInt8(truncatingIfNeeded: rawValue)
    }

    /// The route to a platform's devices. Networks without a sandbox have one route for both environments.
    package init(_ platform: Platform, _ environment: Environment) {
        let routes = Route.to(platform)
        guard let route = routes.first(where: { $0.environment == environment }) ?? routes.first else {
            preconditionFailure("\(platform) has no route")
        }
        self = route
    }

    /// The properties of a route.
    package struct Traits: Sendable {
        let route: Route
        let platform: Platform
        let environment: Environment
        let isBroadcast: Bool
        /// nil if the route's addresses have the network's form.
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

    /// Whether its addresses are channels, which occur only in messages: no device is on such a route.
    package var isBroadcast: Bool { entry.traits.isBroadcast }

    /// Whether its addresses are URLs, which may be on different hosts.
    package var hasManyHosts: Bool { entry.hosts != nil }

    /// The route through the same push network's other environment; nil if there is only one, and for channels.
    package var otherEnvironment: Route? { entry.otherEnvironment }

    /// nil if the device's push network no longer exists.
    package var provider: ProviderName? { entry.network }

    /// Whether requests name the instant at which a message expires.
    package var namesExpiry: Bool { entry.delivery.namesExpiry }

    /// Whether the id of a message with a delivery window replaces its collapse key.
    var collapsesWindows: Bool { entry.delivery.collapsesWindows }

    /// Whether a push without anything to show gives an app on it background time.
    var wakesApps: Bool { entry.delivery.wakesApps }

    /// See `Network.DeliveryTraits.display`.
    var display: (@Sendable (Content, inout DisplayContent) -> Void)? { entry.delivery.display }

    package var addressForm: AddressForm { entry.address }
    /// The hosts that its addresses may be on; nil if they are not URIs.
    package var hosts: Network.HostPolicy? { entry.hosts }

    package var description: String {
        (provider?.rawValue ?? "none") + (provider?.hasEnvironments == true ? " \(environment.rawValue)" : "")
    }
}

extension Route: CaseIterable {
    package static var allCases: [Route] { Networks.table.routes }

    /// All routes to a platform's devices.
    package static func to(_ platform: Platform) -> [Route] {
        allCases.filter { $0.platform == platform && !$0.isBroadcast }
    }
}

/// An app's way through one push network.
package struct ActiveRoute: Sendable, Hashable {
    package let app: AppKey
    package let route: Route

    package init(app: AppKey, route: Route) {
        self.app = app
        self.route = route
    }
}

/// The name of a push network in the store and in the API.
package struct ProviderName: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// The name of a network that has a descriptor.
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

    /// Whether production and sandbox have separate credentials; otherwise one credential serves both.
    package var hasEnvironments: Bool { network.environments.count > 1 }
}

extension ProviderName: CaseIterable {
    package static var allCases: [ProviderName] { Networks.table.networks.map(\.name) }
}
