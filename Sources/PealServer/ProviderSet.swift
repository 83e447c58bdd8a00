package import Logging
package import NIOCore
package import PealCore
internal import PealProviders

/// A push network as a server runs it: what it is, and how its provider is made.
package struct ServerNetwork: Sendable {
    package let network: Network
    /// - Throws: `ConfigurationFailure`, naming the key.
    package let makeProvider: @Sendable (ServerConfiguration, Surroundings) throws -> any Provider

    package init(
        _ network: Network,
        makeProvider: @escaping @Sendable (ServerConfiguration, Surroundings) throws -> any Provider
    ) {
        self.network = network
        self.makeProvider = makeProvider
    }

    /// What every provider is given besides its own configuration.
    package struct Surroundings: Sendable {
        package let eventLoopGroup: any EventLoopGroup
        package let time: any TimeSource
        package let randomness: any Randomness
        package let logger: Logger
    }

    package static let builtIn: [ServerNetwork] = [.apns, .fcm, .wns, .mpns, .webPush]
}

/// The providers of a server's push networks.
struct ProviderSet {
    let all: [ProviderName: any Provider]
    /// APNs' broadcast channels.
    let channels: any ChannelDirectory

    /// - Throws: `ConfigurationFailure`, naming the key; `Networks.RegistrationFailure` for a network that was not
    ///   registered before the configuration was read.
    init(
        _ networks: [ServerNetwork], _ configuration: ServerConfiguration, _ surroundings: ServerNetwork.Surroundings
    ) throws {
        var all: [ProviderName: any Provider] = [:]
        for network in networks {
            try Networks.register(network.network)
            do {
                all[network.network.name] = try network.makeProvider(configuration, surroundings)
            } catch let failure as ConfigurationFailure {
                throw failure
            } catch {
                throw ConfigurationFailure(
                    .caFile, "\(configuration.caFile ?? "") contains no PEM certificates: \(error)")
            }
        }
        self.all = all
        channels = all.values.lazy.compactMap(\.channelDirectory).first ?? NoChannels()
    }
}

extension ServerNetwork {
    static let apns = ServerNetwork(.apns) { configuration, surroundings in
        do {
            return try APNsProvider(
                configuration: APNsConfiguration(
                    production: .init(configuration.apnsProduction), sandbox: .init(configuration.apnsSandbox),
                    caFile: configuration.caFile, connectionsPerPoolMax: configuration.apnsConnectionsMax),
                eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time,
                randomness: surroundings.randomness, logger: surroundings.logger)
        } catch let error as APNsConfigurationError {
            throw ConfigurationFailure(error.key, "\(error)")
        }
    }

    static let fcm = ServerNetwork(.fcm) { configuration, surroundings in
        do {
            return try FCMProvider(
                configuration: FCMConfiguration(
                    url: configuration.fcmURL, tokenAllowedHosts: configuration.fcmTokenHosts,
                    caFile: configuration.caFile, connectionsPerPoolMax: configuration.fcmConnectionsMax,
                    ratePerSecond: configuration.fcmRatePerSecond,
                    startRatePerSecond: configuration.fcmStartRatePerSecond),
                eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time,
                randomness: surroundings.randomness, logger: surroundings.logger)
        } catch let error as FCMConfigurationError {
            throw ConfigurationFailure(.fcmURL, "\(error)")
        }
    }

    static let wns = ServerNetwork(.wns) { configuration, surroundings in
        do {
            return try WNSProvider(
                configuration: WNSConfiguration(
                    tokenURL: configuration.wnsTokenURL, tenantTokenURL: configuration.wnsTenantTokenURL,
                    addressRules: configuration.addressRules, caFile: configuration.caFile),
                eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time,
                randomness: surroundings.randomness, logger: surroundings.logger)
        } catch let error as WNSConfigurationError {
            throw ConfigurationFailure(error.isTenant ? .wnsTenantTokenURL : .wnsTokenURL, "\(error)")
        }
    }

    static let mpns = ServerNetwork(.mpns) { configuration, surroundings in
        MPNSProvider(
            configuration: MPNSConfiguration(addressRules: configuration.addressRules, caFile: configuration.caFile),
            eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time, logger: surroundings.logger)
    }

    static let webPush = ServerNetwork(.webPush) { configuration, surroundings in
        try WebPushProvider(
            configuration: WebPushConfiguration(
                addressRules: configuration.addressRules, caFile: configuration.caFile),
            eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time, randomness: surroundings.randomness,
            logger: surroundings.logger)
    }
}

extension APNsConfiguration.URLs {
    fileprivate init(_ urls: ServerConfiguration.APNsURLs) {
        self.init(send: urls.send, broadcast: urls.broadcast, management: urls.management)
    }
}

extension APNsConfigurationError {
    /// The key that brought the URL.
    fileprivate var key: ConfigurationKey {
        switch (environment, purpose) {
        case (.production, .send): .apnsProductionURL
        case (.production, .broadcast): .apnsProductionBroadcastURL
        case (.production, .management): .apnsProductionManagementURL
        case (.sandbox, .send): .apnsSandboxURL
        case (.sandbox, .broadcast): .apnsSandboxBroadcastURL
        case (.sandbox, .management): .apnsSandboxManagementURL
        }
    }
}
