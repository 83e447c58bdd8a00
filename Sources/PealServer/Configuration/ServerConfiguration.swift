package import PealCore

/// Everything that the server is told before it starts, checked.
package struct ServerConfiguration: Sendable {
    package var httpHost: String
    package var httpPort: Int
    package var httpPortFile: String?
    package var httpTLS: TLSFiles?
    package var metricsPort: Int?
    package var metricsPortFile: String?
    package var databasePath: String
    package var adminToken: String?
    /// Base64.
    package var masterKey: String?
    package var masterKeyFile: String?
    package var apnsProduction: APNsURLs
    package var apnsSandbox: APNsURLs
    package var apnsConnectionsMax: Int
    package var fcmURL: String
    package var fcmTokenHosts: [String]
    package var fcmConnectionsMax: Int
    package var fcmRatePerSecond: Int
    package var fcmStartRatePerSecond: Int
    package var wnsTokenURL: String
    package var wnsTenantTokenURL: String
    package var caFile: String?
    package var addressRules: AddressRules
    package var webhookRules: WebhookRules
    package var messageLifeSeconds: Int64
    package var requestBodyBytesMax: Int
    package var pagesInFlightMax: Int
    package var retentionDays: Int
    package var contextPushHoldSeconds: Int
    package var contextPushWindowHoursMax: Int
    package var richieTopicsMax: Int
    package var richieUsersMax: Int
    package var logLevel: String
    package var logFormat: LogFormat
    /// Key, present value (secrets masked) and whether it was given, for people.
    let values: [(key: ConfigurationKey, value: String?, isGiven: Bool)]

    /// The present value of a key that is no secret; nil when it has none.
    func value(of key: ConfigurationKey) -> String? { values.first { $0.key == key && !key.isSecret }?.value }

    /// Certificate chain and key, PEM.
    package struct TLSFiles: Sendable {
        package let certificate: String
        package let key: String
    }

    /// The URLs of one APNs environment.
    package struct APNsURLs: Sendable {
        package let send: String
        /// nil = as `send`.
        package let broadcast: String?
        package let management: String
    }

    package enum LogFormat: String, Sendable {
        case json, text
    }
}
