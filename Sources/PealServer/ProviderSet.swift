internal import Logging
internal import NIOCore
internal import PealCore
internal import PealProviders

/// Every push network of this server, made from its configuration.
struct ProviderSet {
    let all: [ProviderName: any Provider]
    /// APNs' broadcast channels.
    let channels: any ChannelDirectory

    /// What every provider is given besides its own configuration.
    struct Surroundings {
        let eventLoopGroup: any EventLoopGroup
        let time: any TimeSource
        let randomness: any Randomness
        let logger: Logger
    }

    /// - Throws: `ConfigurationFailure`, naming the key.
    init(_ configuration: ServerConfiguration, _ surroundings: Surroundings) throws {
        do {
            let apns = try Self.apns(configuration, surroundings)
            channels = apns.channels
            all = [
                .apns: apns, .fcm: try Self.fcm(configuration, surroundings),
                .wns: try Self.wns(configuration, surroundings), .mpns: Self.mpns(configuration, surroundings),
                .webpush: try Self.webPush(configuration, surroundings),
            ]
        } catch let error as APNsConfigurationError {
            throw ConfigurationFailure(error.key, "\(error)")
        } catch let error as FCMConfigurationError {
            throw ConfigurationFailure(.fcmURL, "\(error)")
        } catch let error as WNSConfigurationError {
            throw ConfigurationFailure(error.isTenant ? .wnsTenantTokenURL : .wnsTokenURL, "\(error)")
        } catch {
            throw ConfigurationFailure(.caFile, "\(configuration.caFile ?? "") contains no PEM certificates: \(error)")
        }
    }

    private static func apns(
        _ configuration: ServerConfiguration, _ surroundings: Surroundings
    ) throws -> APNsProvider {
        try APNsProvider(
            configuration: APNsConfiguration(
                production: .init(configuration.apnsProduction), sandbox: .init(configuration.apnsSandbox),
                caFile: configuration.caFile, connectionsPerPoolMax: configuration.apnsConnectionsMax),
            eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time, randomness: surroundings.randomness,
            logger: surroundings.logger)
    }

    private static func fcm(_ configuration: ServerConfiguration, _ surroundings: Surroundings) throws -> FCMProvider {
        try FCMProvider(
            configuration: FCMConfiguration(
                url: configuration.fcmURL, tokenAllowedHosts: configuration.fcmTokenHosts,
                caFile: configuration.caFile, connectionsPerPoolMax: configuration.fcmConnectionsMax,
                ratePerSecond: configuration.fcmRatePerSecond,
                startRatePerSecond: configuration.fcmStartRatePerSecond),
            eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time, randomness: surroundings.randomness,
            logger: surroundings.logger)
    }

    private static func wns(_ configuration: ServerConfiguration, _ surroundings: Surroundings) throws -> WNSProvider {
        try WNSProvider(
            configuration: WNSConfiguration(
                tokenURL: configuration.wnsTokenURL, tenantTokenURL: configuration.wnsTenantTokenURL,
                addressRules: configuration.addressRules, caFile: configuration.caFile),
            eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time, randomness: surroundings.randomness,
            logger: surroundings.logger)
    }

    private static func mpns(_ configuration: ServerConfiguration, _ surroundings: Surroundings) -> MPNSProvider {
        MPNSProvider(
            configuration: MPNSConfiguration(addressRules: configuration.addressRules, caFile: configuration.caFile),
            eventLoopGroup: surroundings.eventLoopGroup, time: surroundings.time, logger: surroundings.logger)
    }

    private static func webPush(
        _ configuration: ServerConfiguration, _ surroundings: Surroundings
    ) throws -> WebPushProvider {
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
