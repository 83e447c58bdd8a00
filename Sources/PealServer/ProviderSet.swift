package import PealCore
package import PealProviders

/// A push network as a server runs it: what it is, its configuration keys, and how its provider is made.
package struct ServerNetwork: Sendable {
    package let network: Network
    /// Configuration keys, in the order of the documentation.
    let keys: [ConfigurationKey]
    /// The key for hosts of device URIs besides the vendor's own.
    let hostsKey: ConfigurationKey?
    /// The key that allows device URIs on any public host.
    let openKey: ConfigurationKey?
    /// The hosts that are known without a device. Channel URIs and Web Push endpoints name their own.
    let hosts: @Sendable (ServerConfiguration) -> [ProviderHost]
    /// - Throws: `ConfigurationFailure`, naming the key.
    package let makeProvider: @Sendable (ServerConfiguration, ProviderSurroundings) throws -> any Provider

    init(
        _ network: Network, keys: [ConfigurationKey], hostsKey: ConfigurationKey? = nil,
        openKey: ConfigurationKey? = nil,
        hosts: @escaping @Sendable (ServerConfiguration) -> [ProviderHost] = { _ in [] },
        makeProvider: @escaping @Sendable (ServerConfiguration, ProviderSurroundings) throws -> any Provider
    ) {
        self.network = network
        self.keys = keys
        self.hostsKey = hostsKey
        self.openKey = openKey
        self.hosts = hosts
        self.makeProvider = makeProvider
    }

    /// A network without configuration keys.
    package init(
        _ network: Network,
        makeProvider: @escaping @Sendable (ServerConfiguration, ProviderSurroundings) throws -> any Provider
    ) {
        self.init(network, keys: [], makeProvider: makeProvider)
    }

    package static let builtIn: [ServerNetwork] = [.apns, .fcm, .wns, .mpns, .webPush]
}

/// The providers of a server's push networks.
struct ProviderSet {
    let all: [ProviderName: any Provider]
    /// APNs' broadcast channels.
    let channels: any ChannelDirectory
    private let reloadable: [ReloadableProvider]

    /// - Throws: `ConfigurationFailure`, naming the key; `Networks.RegistrationFailure` for a network that was not
    ///   registered before the configuration was read.
    init(
        _ networks: [ServerNetwork], _ configuration: ServerConfiguration, _ surroundings: ProviderSurroundings
    ) throws {
        var reloadable: [ReloadableProvider] = []
        for network in networks {
            try Networks.register(network.network)
            reloadable.append(
                try ReloadableProvider(network, configuration) { configuration in
                    do {
                        return try network.makeProvider(configuration, surroundings)
                    } catch let failure as ConfigurationFailure {
                        throw failure
                    } catch {
                        throw ConfigurationFailure(
                            .caFile, "\(configuration.caFile ?? "") cannot be used: \(error)")
                    }
                })
        }
        self.reloadable = reloadable
        all = Dictionary(uniqueKeysWithValues: reloadable.map { ($0.name, $0) })
        channels = all.values.lazy.compactMap(\.channelDirectory).first ?? NoChannels()
    }

    /// Replaces the providers whose configuration or trust roots changed.
    func reload(_ configuration: ServerConfiguration, time: any TimeSource) throws {
        for provider in reloadable { try provider.reload(configuration, time: time) }
    }
}
