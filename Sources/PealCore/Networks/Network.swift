internal import Synchronization

/// Describes a push network to everything except the provider that communicates with it. To add a network, create a
/// `Network` and a `Provider` and add both to their lists; nothing else switches over networks.
package struct Network: Sendable {
    package let name: ProviderName
    /// The display name.
    package let title: String
    package let platforms: [Platform.Traits]
    package let routes: [Route.Traits]
    package let address: AddressForm
    /// The hosts that device URIs may have; nil if addresses are not URIs.
    package let hosts: HostPolicy?
    package let credentials: CredentialForm
    /// Reads the members that `NetworkCredential.members` wrote.
    package let credential: @Sendable (StoredCredential) throws -> Credential
    /// How requests name the app; nil if they do not.
    package let appID: AppID?
    /// How its requests and devices treat time and repetition.
    package let delivery: DeliveryTraits
    /// The members of a message's object for the network's platforms, if Peal defines them all; nil if the network's
    /// own fields are passed on.
    package let contentMembers: [String]?

    package init(
        name: ProviderName, title: String, platforms: [Platform.Traits], routes: [Route.Traits], address: AddressForm,
        hosts: HostPolicy? = nil, credentials: CredentialForm,
        credential: @escaping @Sendable (StoredCredential) throws -> Credential, appID: AppID? = nil,
        delivery: DeliveryTraits = DeliveryTraits(), contentMembers: [String]? = nil
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
        self.delivery = delivery
        self.contentMembers = contentMembers
    }

    /// The display name without spaces, for the names in the OpenAPI document.
    package var titleInNames: String { title.filter { $0 != " " } }

    /// The environments that have their own credential.
    package var environments: [Environment] {
        Environment.allCases.filter { environment in routes.contains { $0.environment == environment } }
    }

    /// The hosts that a device's URI may have.
    package struct HostPolicy: Sendable {
        /// The network's own hosts: `host`, `host:port` or `.suffix`.
        package let own: [String]
        /// Whether `http` URIs on any listed host are allowed.
        package let allowsClear: Bool

        package init(own: [String], allowsClear: Bool = false) {
            self.own = own
            self.allowsClear = allowsClear
        }
    }

    /// What a network does with the notifications that it accepts.
    package struct DeliveryTraits: Sendable {
        /// Whether requests name the instant at which a message expires. Otherwise they name the remaining seconds, and
        /// a rendering is soon outdated.
        package let namesExpiry: Bool
        /// Whether the id of a message with a delivery window replaces any collapse key, so that a device that gets it
        /// more than once shows it once.
        package let collapsesWindows: Bool
        /// Larger bodies (in bytes) may be refused or truncated after the network has accepted them; nil for no such
        /// limit.
        package let bodyBytesAdvised: Int?
        /// Whether a push without anything to show gives an app background time.
        package let wakesApps: Bool
        /// Applies the network's own content to what a device displays itself; nil if the common fields are enough.
        package let display: (@Sendable (Content, inout DisplayContent) -> Void)?

        package init(
            namesExpiry: Bool = false, collapsesWindows: Bool = false, bodyBytesAdvised: Int? = nil,
            wakesApps: Bool = false,
            display: (@Sendable (Content, inout DisplayContent) -> Void)? = nil
        ) {
            self.wakesApps = wakesApps
            self.display = display
            self.namesExpiry = namesExpiry
            self.collapsesWindows = collapsesWindows
            self.bodyBytesAdvised = bodyBytesAdvised
        }
    }

    /// Whether it has channels: addresses that devices subscribe to and that occur only in messages.
    var hasChannels: Bool { routes.contains(where: \.isBroadcast) }

    /// The source of the app's id in requests.
    package struct AppID: Sendable {
        /// The member of the credential's facts that holds the id.
        package let fact: String
        /// The id from the app itself, for an app without a credential.
        package let fallback: (@Sendable (App) -> String?)?
        /// The id in previews for an app that has none.
        package let placeholder: String

        package init(fact: String, fallback: (@Sendable (App) -> String?)? = nil, placeholder: String) {
            self.fact = fact
            self.fallback = fallback
            self.placeholder = placeholder
        }
    }
}

/// The push networks of this process. The first use closes the list; a program with its own networks registers them
/// first.
package enum Networks {
    /// In the order of listings.
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

    /// Adds a network; a network that is already registered is ignored.
    /// - Throws: if the list is closed.
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

    /// The members of a message's object for `platform`; nil if unknown ones are passed on.
    package static func contentMembers(of platform: Platform) -> [String]? {
        all.first { $0.platforms.contains { $0.platform == platform } }?.contentMembers
    }

    /// The network whose broadcast channels apps can use; nil if none has channels.
    static var broadcasting: Network? { all.first(where: \.hasChannels) }
}

/// The registered networks with their platforms and routes, indexed for lookup.
struct NetworkTable: Sendable {
    let networks: [Network]
    /// In the order of `Platform.allCases`.
    let platforms: [Platform.Traits]
    let routes: [Route]
    /// Indexed by route number; nil for numbers without a network.
    private let entries: [RouteEntry?]

    /// The properties of a route.
    struct RouteEntry: Sendable {
        let traits: Route.Traits
        /// nil if the device's push network no longer exists.
        let network: ProviderName?
        let address: AddressForm
        let hosts: Network.HostPolicy?
        let delivery: Network.DeliveryTraits
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
                        hosts: network.hosts, delivery: network.delivery, otherEnvironment: other?.route))
            }
        }
        for (_, traits) in retired {
            add(
                RouteEntry(
                    traits: traits, network: nil, address: .opaque, hosts: nil, delivery: .init(),
                    otherEnvironment: nil))
        }
        self.entries = entries
        routes = entries.compactMap { $0?.traits.route }
    }

    /// nil for a number without a network.
    func entry(_ number: Int64) -> RouteEntry? {
        number >= 0 && number < entries.count ? entries[Int(number)] : nil
    }

    func network(_ name: ProviderName) -> Network? { networks.first { $0.name == name } }
}

/// Platforms whose push networks have been shut down. Registrations of old clients are kept.
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
