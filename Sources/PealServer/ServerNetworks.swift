internal import Foundation
internal import PealCore
internal import PealProviders

// The built-in push networks as a server runs them: the configuration keys, hosts and provider of each.

extension ConfigurationKey {
    fileprivate static let apnsProductionURL = ConfigurationKey(
        "providers.apns.production.url", .url(), default: APNsConfiguration.URLs.production.send,
        "APNs in production")
    fileprivate static let apnsSandboxURL = ConfigurationKey(
        "providers.apns.sandbox.url", .url(), default: APNsConfiguration.URLs.sandbox.send,
        "APNs in the sandbox")
    fileprivate static let apnsProductionManagementURL = ConfigurationKey(
        "providers.apns.production.management.url", .url(),
        default: APNsConfiguration.URLs.production.management, "Channel management of APNs in production")
    fileprivate static let apnsSandboxManagementURL = ConfigurationKey(
        "providers.apns.sandbox.management.url", .url(),
        default: APNsConfiguration.URLs.sandbox.management, "Channel management of APNs in the sandbox")
    fileprivate static let apnsProductionBroadcastURL = ConfigurationKey(
        "providers.apns.production.broadcast.url", .url(),
        "APNs for broadcasts in production; defaults to the URL for other notifications")
    fileprivate static let apnsSandboxBroadcastURL = ConfigurationKey(
        "providers.apns.sandbox.broadcast.url", .url(),
        "APNs for broadcasts in the sandbox; defaults to the URL for other notifications")
    fileprivate static let apnsConnectionsMax = ConfigurationKey(
        "providers.apns.connections.max", .integer(1...64, unit: "connections"),
        default: String(Limits.connectionsPerPoolMax),
        "Connections to one APNs host for each credential")
}

extension ServerNetwork {
    static let apns = ServerNetwork(
        .apns,
        keys: [
            .apnsProductionURL, .apnsSandboxURL, .apnsProductionManagementURL, .apnsSandboxManagementURL,
            .apnsProductionBroadcastURL, .apnsSandboxBroadcastURL, .apnsConnectionsMax,
        ],
        hosts: { configuration in
            let checked = configuration.checked
            return [
                ProviderHost(.apns, checked.text(.apnsProductionURL), environment: .production),
                ProviderHost(.apns, checked.text(.apnsSandboxURL), environment: .sandbox),
            ].compactMap { $0 }
        }
    ) { configuration, surroundings in
        let checked = configuration.checked
        do {
            return try APNsProvider(
                APNsConfiguration(
                    production: .init(
                        send: checked.text(.apnsProductionURL),
                        broadcast: checked.optional(.apnsProductionBroadcastURL),
                        management: checked.text(.apnsProductionManagementURL)),
                    sandbox: .init(
                        send: checked.text(.apnsSandboxURL), broadcast: checked.optional(.apnsSandboxBroadcastURL),
                        management: checked.text(.apnsSandboxManagementURL)),
                    caFile: configuration.caFile, connectionsPerPoolMax: checked.integer(.apnsConnectionsMax)),
                surroundings)
        } catch let error as APNsConfigurationError {
            throw ConfigurationFailure(error.key, "\(error)")
        }
    }
}

extension APNsConfigurationError {
    /// The key of the URL.
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

extension ConfigurationKey {
    fileprivate static let fcmURL = ConfigurationKey(
        "providers.fcm.url", .url(), default: FCMConfiguration.urlDefault,
        "FCM; a path in it is put before /v1/projects")
    fileprivate static let fcmTokenHosts = ConfigurationKey(
        "providers.fcm.token.allowed.hosts", .hosts,
        "Hosts other than Google's that a service account's token_uri may name")
    fileprivate static let fcmConnectionsMax = ConfigurationKey(
        "providers.fcm.connections.max", .integer(1...64, unit: "connections"),
        default: String(Limits.connectionsPerPoolMax),
        "Connections to FCM for each credential")
    fileprivate static let fcmRate = ConfigurationKey(
        "providers.fcm.rate.per.second", .integer(1...1_000_000, unit: "requests per second"),
        default: String(Limits.fcmRatePerSecond),
        "Rate limit for each Firebase project, for all servers on one database together")
    fileprivate static let fcmStartRate = ConfigurationKey(
        "providers.fcm.start.rate.per.second", .integer(1...1_000_000, unit: "requests per second"),
        default: String(Limits.fcmStartRatePerSecond),
        "Rate for a Firebase project after a pause; it rises to the rate limit within a minute")
}

extension ServerNetwork {
    static let fcm = ServerNetwork(
        .fcm, keys: [.fcmURL, .fcmTokenHosts, .fcmConnectionsMax, .fcmRate, .fcmStartRate],
        hosts: { configuration in
            let url = configuration.checked.text(.fcmURL)
            // Google's token endpoint. A service account for another FCM server has its own token endpoint.
            let isGoogle = url.hasPrefix(FCMConfiguration.urlDefault)
            return [
                ProviderHost(.fcm, url), isGoogle ? ProviderHost(.fcm, "https://oauth2.googleapis.com") : nil,
            ].compactMap { $0 }
        }
    ) { configuration, surroundings in
        let checked = configuration.checked
        do {
            return try FCMProvider(
                FCMConfiguration(
                    url: checked.text(.fcmURL), tokenAllowedHosts: checked.list(.fcmTokenHosts),
                    caFile: configuration.caFile, connectionsPerPoolMax: checked.integer(.fcmConnectionsMax),
                    ratePerSecond: checked.integer(.fcmRate), startRatePerSecond: checked.integer(.fcmStartRate)),
                surroundings)
        } catch let error as FCMConfigurationError {
            throw ConfigurationFailure(.fcmURL, "\(error)")
        }
    }
}

extension ConfigurationKey {
    fileprivate static let wnsTokenURL = ConfigurationKey(
        "providers.wns.token.url", .url(), default: WNSConfiguration.tokenURLDefault,
        "Token endpoint of WNS for Microsoft Store apps")
    fileprivate static let wnsTenantTokenURL = ConfigurationKey(
        "providers.wns.tenant.token.url", .text,
        default: WNSConfiguration.tenantTokenURLDefault,
        "Token endpoint of WNS for Windows App SDK apps; {tenant_id} is replaced with the tenant of the credential")
    fileprivate static let wnsHosts = ConfigurationKey(
        "providers.wns.allowed.hosts", .hosts,
        "Hosts besides Microsoft's that are allowed in WNS channel URIs; the local machine is allowed only when listed")
    fileprivate static let mpnsHosts = ConfigurationKey(
        "providers.mpns.allowed.hosts", .hosts,
        "Hosts besides Microsoft's that are allowed in MPNS channel URIs; the local machine is allowed only when listed"
    )
    fileprivate static let webPushHosts = ConfigurationKey(
        "providers.webpush.allowed.hosts", .hosts,
        "Hosts besides the browser vendors' that are allowed in Web Push endpoints")
    fileprivate static let webPushOpen = ConfigurationKey(
        "providers.webpush.open", .choice(["true", "false"]), default: "false",
        "Whether Web Push endpoints may be on any https host with public addresses on port 443")
    fileprivate static let webPushPadding = ConfigurationKey(
        "providers.webpush.padding", .choice(["true", "false"]), default: "true",
        "Whether Web Push payloads are padded to one of two lengths, which hides the length of the content")
}

extension ServerNetwork {
    static let wns = ServerNetwork(
        .wns, keys: [.wnsTokenURL, .wnsTenantTokenURL, .wnsHosts], hostsKey: .wnsHosts,
        hosts: { configuration in
            [
                ProviderHost(.wns, configuration.checked.text(.wnsTokenURL), kind: "package"),
                ProviderHost(.wns, configuration.checked.text(.wnsTenantTokenURL), kind: "tenant"),
            ].compactMap { $0 }
        }
    ) { configuration, surroundings in
        do {
            return try WNSProvider(
                WNSConfiguration(
                    tokenURL: configuration.checked.text(.wnsTokenURL),
                    tenantTokenURL: configuration.checked.text(.wnsTenantTokenURL),
                    addressRules: configuration.addressRules, caFile: configuration.caFile),
                surroundings)
        } catch let error as WNSConfigurationError {
            throw ConfigurationFailure(error.isTenant ? .wnsTenantTokenURL : .wnsTokenURL, "\(error)")
        }
    }

    static let mpns = ServerNetwork(.mpns, keys: [.mpnsHosts], hostsKey: .mpnsHosts) { configuration, surroundings in
        MPNSProvider(
            MPNSConfiguration(addressRules: configuration.addressRules, caFile: configuration.caFile), surroundings)
    }

    static let webPush = ServerNetwork(
        .webPush, keys: [.webPushHosts, .webPushOpen, .webPushPadding], hostsKey: .webPushHosts, openKey: .webPushOpen
    ) { configuration, surroundings in
        try WebPushProvider(
            WebPushConfiguration(
                addressRules: configuration.addressRules, caFile: configuration.caFile,
                isPadded: configuration.checked.text(.webPushPadding) == "true"),
            surroundings)
    }
}

/// A host of a push network that a server must reach.
struct ProviderHost: Sendable {
    let provider: ProviderName
    /// nil for every environment.
    let environment: Environment?
    /// The kind of credential that needs it; nil for every kind.
    let kind: String?
    let host: String
    let port: Int

    /// nil for a URL without a host.
    init?(_ provider: ProviderName, _ url: String, environment: Environment? = nil, kind: String? = nil) {
        // A placeholder such as {tenant_id} is not valid in a URL.
        let parts = URLComponents(string: url.replacing("{", with: "").replacing("}", with: ""))
        guard let parts, let host = parts.host else { return nil }
        self.provider = provider
        self.environment = environment
        self.kind = kind
        self.host = host.trimmingCharacters(in: ["[", "]"])
        port = parts.port ?? (parts.scheme == "http" ? 80 : 443)
    }

    func isNeeded(by record: CredentialRecord) -> Bool {
        record.provider == provider && (environment ?? record.environment) == record.environment
            && (kind ?? record.kind) == record.kind
    }
}
