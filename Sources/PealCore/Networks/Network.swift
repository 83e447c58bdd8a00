internal import Synchronization

/// Everything the server must know of a push network outside the provider that speaks to it. A network is added by
/// making one of these, a `Provider`, and a line in the lists that name them; nothing else switches over networks.
package struct Network: Sendable {
    package let name: ProviderName
    /// As people write it, also in the operation ids of the API's document.
    package let title: String
    package let platforms: [Platform.Traits]
    package let routes: [Route.Traits]
    package let address: AddressForm
    /// The hosts that device URIs may lead to; nil where addresses are not URIs.
    package let hosts: HostPolicy?
    package let credentials: CredentialForm
    /// Reads what `NetworkCredential.members` wrote.
    package let credential: @Sendable (StoredCredential) throws -> Credential
    /// How the network knows an app; nil where requests do not name the app.
    package let appID: AppID?

    package init(
        name: ProviderName, title: String, platforms: [Platform.Traits], routes: [Route.Traits], address: AddressForm,
        hosts: HostPolicy? = nil, credentials: CredentialForm,
        credential: @escaping @Sendable (StoredCredential) throws -> Credential, appID: AppID? = nil
    ) {
        self.name = name
        self.title = title
        self.platforms = platforms
        self.routes = routes
        self.address = address
        self.hosts = hosts
        self.credentials = credentials
        self.credential = credential
        self.appID = appID
    }

    /// The environments that hold a credential of their own.
    package var environments: [Environment] {
        Environment.allCases.filter { environment in routes.contains { $0.environment == environment } }
    }

    /// Which hosts a device's URI may lead to.
    package struct HostPolicy: Sendable {
        /// The network's own: `host`, `host:port` or `.suffix` each.
        package let own: [String]
        /// Whether `http` URIs are taken from any listed host.
        package let allowsClear: Bool

        package init(own: [String], allowsClear: Bool = false) {
            self.own = own
            self.allowsClear = allowsClear
        }
    }

    /// Where a request's name of the app comes from.
    package struct AppID: Sendable {
        /// The member of a credential's facts.
        package let fact: String
        /// What the app itself says when it has no credential yet.
        package let fallback: (@Sendable (App) -> String?)?
        /// Stands for the id in previews of an app that has none.
        package let placeholder: String

        package init(fact: String, fallback: (@Sendable (App) -> String?)? = nil, placeholder: String) {
            self.fact = fact
            self.fallback = fallback
            self.placeholder = placeholder
        }
    }
}

/// The push networks of this process. The list is closed by its first use; a program that brings networks of its own
/// registers them before.
package enum Networks {
    /// In the order in which people are shown them.
    package static let builtIn: [Network] = [.apns, .fcm, .wns, .mpns, .webPush]

    private struct Pending {
        var networks = builtIn
        var isClosed = false
    }

    private static let pending = Mutex(Pending())

    static let table = NetworkTable(
        pending.withLock { pending in
            pending.isClosed = true
            return pending.networks
        })

    /// Adds a network; one that is there already is passed over.
    /// - Throws: when the list is closed.
    package static func register(_ network: Network) throws(RegistrationFailure) {
        let isAdded = pending.withLock { pending in
            if pending.networks.contains(where: { $0.name == network.name }) { return true }
            guard !pending.isClosed else { return false }
            pending.networks.append(network)
            return true
        }
        guard isAdded else { throw RegistrationFailure(network: network.name) }
    }

    package struct RegistrationFailure: Error, CustomStringConvertible {
        package let network: ProviderName
        package var description: String { "\(network) was registered after the push networks were first used" }
    }

    package static var all: [Network] { table.networks }
}

/// The registered networks, indexed by what they are asked for.
struct NetworkTable: Sendable {
    let networks: [Network]
    /// In the order of `Platform.allCases`.
    let platforms: [Platform.Traits]
    let routes: [Route]
    /// By route number; nil for numbers of no network.
    private let entries: [RouteEntry?]

    /// What is asked of a route.
    struct RouteEntry: Sendable {
        let traits: Route.Traits
        /// nil where no push network is left to reach the device.
        let network: ProviderName?
        let address: AddressForm
        let hosts: Network.HostPolicy?
        let otherEnvironment: Route?
    }

    init(_ networks: [Network]) {
        self.networks = networks
        let retired = RetiredNetworks.platforms
        platforms = networks.flatMap(\.platforms) + retired.map(\.platform)
        var entries: [RouteEntry?] = []
        func add(_ entry: RouteEntry) {
            let number = Int(entry.traits.route.rawValue)
            while entries.count <= number { entries.append(nil) }
            precondition(entries[number] == nil, "two networks claim route \(number)")
            entries[number] = entry
        }
        for network in networks {
            for traits in network.routes {
                let other = network.routes.first {
                    !$0.isBroadcast && !traits.isBroadcast && $0.platform == traits.platform
                        && $0.environment != traits.environment
                }
                add(
                    RouteEntry(
                        traits: traits, network: network.name, address: traits.address ?? network.address,
                        hosts: network.hosts, otherEnvironment: other?.route))
            }
        }
        for (_, traits) in retired {
            add(RouteEntry(traits: traits, network: nil, address: .opaque, hosts: nil, otherEnvironment: nil))
        }
        self.entries = entries
        routes = entries.compactMap { $0?.traits.route }
    }

    /// nil for a number of no network.
    func entry(_ number: Int64) -> RouteEntry? {
        number >= 0 && number < entries.count ? entries[Int(number)] : nil
    }

    func network(_ name: ProviderName) -> Network? { networks.first { $0.name == name } }
}

/// Platforms whose push networks have ended. Registrations of old clients are kept.
enum RetiredNetworks {
    static let platforms: [(platform: Platform.Traits, route: Route.Traits)] = [
        (
            Platform.Traits(.androidBaidu, family: .android, interactiveSince: [4, 1], isAddressable: false),
            Route.Traits(.baidu, .androidBaidu)
        ),
        (
            Platform.Traits(.blackberry, family: .android, isAddressable: false),
            Route.Traits(.blackberry, .blackberry)
        ),
    ]
}

extension Platform {
    package static let androidBaidu = Platform(named: "android_baidu")
    package static let blackberry = Platform(named: "blackberry")
}

extension Route {
    package static let baidu = Route(number: 7)
    package static let blackberry = Route(number: 8)
}
