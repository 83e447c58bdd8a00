internal import PealAPI
internal import PealCore

/// One thing that can be configured; it documents itself (`peal serve --print-config`, `docs/configuration.md`).
package struct ConfigurationKey: Sendable, Hashable {
    /// The words of its name: `http.port.file` is `PEAL_HTTP_PORT_FILE`, `--http-port-file`, and in the file
    /// `http: {port_file: …}`.
    package let words: String
    package let kind: Kind
    /// The default as people read it; nil = none.
    package let fallback: String?
    package let meaning: String
    package let isSecret: Bool

    init(_ words: String, _ kind: Kind, default fallback: String? = nil, isSecret: Bool = false, _ meaning: String) {
        self.words = words
        self.kind = kind
        self.fallback = fallback
        self.isSecret = isSecret
        self.meaning = meaning
    }

    package enum Kind: Sendable, Hashable {
        case text
        /// An https URL; http on loopback.
        case url
        /// Comma-separated `host`, `host:port` or `.suffix`.
        case hosts
        case path
        case choice([String])
        case integer(ClosedRange<Int>)

        /// The type and range in words.
        package var name: String {
            switch self {
            case .text: "text"
            case .url: "URL"
            case .hosts: "list of hosts"
            case .path: "path"
            case .choice(let values): values.joined(separator: " or ")
            case .integer(let range): "whole number, \(range.lowerBound) to \(range.upperBound)"
            }
        }
    }

    package var environmentName: String { "PEAL_" + words.uppercased().replacing(".", with: "_") }
    package var flag: String { "--" + words.replacing(".", with: "-") }
}

extension ConfigurationKey {
    static let configFile = ConfigurationKey("config", .path, "YAML file with any of these keys")

    static let httpHost = ConfigurationKey("http.host", .text, default: "127.0.0.1", "Address to listen on")
    static let httpPort = ConfigurationKey(
        "http.port", .integer(0...65_535), default: "8080", "Port to listen on; 0 takes any free one")
    static let httpPortFile = ConfigurationKey(
        "http.port.file", .path, "File that gets the bound port as one decimal line once the server listens")
    static let httpCertificate = ConfigurationKey(
        "http.tls.certificate", .path, "PEM certificate chain: serves HTTPS (HTTP/1.1 and HTTP/2)")
    static let httpKey = ConfigurationKey("http.tls.key", .path, "PEM private key of that certificate")
    static let metricsPort = ConfigurationKey(
        "metrics.port", .integer(0...65_535),
        "Serve /metrics here, on the address of PEAL_HTTP_HOST, instead of on the main port")
    static let metricsPortFile = ConfigurationKey(
        "metrics.port.file", .path, "File that gets the bound metrics port")

    static let storeURL = ConfigurationKey(
        "store.url", .text, default: "sqlite:peal.db", isSecret: false,
        "Where everything is kept: sqlite:PATH (postgres:// is not supported yet and stops the start)")
    static let adminToken = ConfigurationKey(
        "admin.token", .text, isSecret: true,
        "Bearer token with every right, at least 32 characters; without it the first start makes one and prints it once"
    )
    static let masterKey = ConfigurationKey(
        "master.key", .text, isSecret: true, "32 bytes in base64 that seal credentials and key every hash")
    static let masterKeyFile = ConfigurationKey(
        "master.key.file", .path,
        "File with the master key; for SQLite the default is one beside the database, made at the first start")

    static let apnsProductionURL = ConfigurationKey(
        "providers.apns.production.url", .url, default: "https://api.push.apple.com", "APNs, production")
    static let apnsSandboxURL = ConfigurationKey(
        "providers.apns.sandbox.url", .url, default: "https://api.sandbox.push.apple.com", "APNs, sandbox")
    static let apnsProductionManagementURL = ConfigurationKey(
        "providers.apns.production.management.url", .url,
        default: "https://api-manage-broadcast.push.apple.com:2196", "APNs channel management, production")
    static let apnsSandboxManagementURL = ConfigurationKey(
        "providers.apns.sandbox.management.url", .url,
        default: "https://api-manage-broadcast.sandbox.push.apple.com:2195", "APNs channel management, sandbox")
    static let apnsProductionBroadcastURL = ConfigurationKey(
        "providers.apns.production.broadcast.url", .url,
        "APNs sends to broadcast channels, production; without it they go where other sends go")
    static let apnsSandboxBroadcastURL = ConfigurationKey(
        "providers.apns.sandbox.broadcast.url", .url,
        "APNs sends to broadcast channels, sandbox; without it they go where other sends go")
    static let apnsConnectionsMax = ConfigurationKey(
        "providers.apns.connections.max", .integer(1...64), default: "4", "Connections to one APNs host per credential")
    static let fcmURL = ConfigurationKey(
        "providers.fcm.url", .url, default: "https://fcm.googleapis.com", "FCM; a path stands before /v1/projects")
    static let fcmTokenHosts = ConfigurationKey(
        "providers.fcm.token.allowed.hosts", .hosts,
        "More hosts than Google's that a service account's token_uri may name")
    static let fcmConnectionsMax = ConfigurationKey(
        "providers.fcm.connections.max", .integer(1...64), default: "4", "Connections to FCM per credential")
    static let fcmRate = ConfigurationKey(
        "providers.fcm.rate.per.second", .integer(1...1_000_000), default: String(Limits.fcmRatePerSecond),
        "Requests a second to one Firebase project, at most")
    static let fcmStartRate = ConfigurationKey(
        "providers.fcm.start.rate.per.second", .integer(1...1_000_000), default: String(Limits.fcmStartRatePerSecond),
        "Requests a second that a Firebase project is begun with after a pause; the most is reached in a minute")
    static let wnsTokenURL = ConfigurationKey(
        "providers.wns.token.url", .url, default: "https://login.live.com/accesstoken.srf",
        "Access tokens for WNS, Store apps")
    static let wnsTenantTokenURL = ConfigurationKey(
        "providers.wns.tenant.token.url", .text,
        default: "https://login.microsoftonline.com/{tenant_id}/oauth2/v2.0/token",
        "Access tokens for WNS, Windows App SDK; {tenant_id} stands for the credential's")
    static let wnsHosts = ConfigurationKey(
        "providers.wns.allowed.hosts", .hosts,
        "More hosts for WNS channel URIs than Microsoft's; this machine only where it is listed")
    static let mpnsHosts = ConfigurationKey(
        "providers.mpns.allowed.hosts", .hosts,
        "More hosts for MPNS channel URIs than Microsoft's; this machine only where it is listed")
    static let webPushHosts = ConfigurationKey(
        "providers.webpush.allowed.hosts", .hosts, "More hosts for Web Push endpoints than the browsers' own")
    static let webPushOpen = ConfigurationKey(
        "providers.webpush.open", .choice(["true", "false"]), default: "false",
        "Send Web Push to any https host on port 443 with public addresses, not only to those listed")
    static let caFile = ConfigurationKey(
        "providers.ca.file", .path, "PEM with trust roots for provider and webhook TLS beside the system's")
    static let webhookHosts = ConfigurationKey(
        "webhooks.allowed.hosts", .hosts, "Private hosts that a webhook may reach; loopback ones also over http")

    static let messageLife = ConfigurationKey(
        "limits.message.ttl.seconds", .integer(60...31_536_000), default: String(Limits.messageLifeSecondsDefault),
        "Life of a message without an expiry, and the longest that a platform's own expiry is worked for")
    static let requestBodyBytes = ConfigurationKey(
        "limits.request.body.bytes", .integer(1024...67_108_864), default: String(Limits.requestBodyBytesMax),
        "Largest request body")
    static let pagesInFlight = ConfigurationKey(
        "delivery.pages.in.flight", .integer(1...256), default: String(Limits.pagesInFlightMax),
        "Pages of up to 1,024 devices in flight at once: memory, and what may be sent twice after a crash")
    static let retentionDays = ConfigurationKey(
        "retention.messages.days", .integer(1...3650), default: "30", "Days that finished messages and their log stay")
    static let contextPushHold = ConfigurationKey(
        "contextpush.traditional.hold.seconds", .integer(0...60), default: "10",
        "How long ContextPush's traditional messages can still be cancelled")
    static let contextPushWindow = ConfigurationKey(
        "contextpush.window.hours.max", .integer(1...648), default: String(Limits.windowSecondsMax / 3600),
        "The longest window that ContextPush takes")
    static let richieTopics = ConfigurationKey(
        "richie.topics.max", .integer(1...100_000), default: String(Limits.richieTopicsMax),
        "Topics that one Richie task may name")
    static let richieUsers = ConfigurationKey(
        "richie.users.max", .integer(1...100_000), default: String(Limits.richieUsersMax),
        "External user ids that one Richie task may name")

    static let logLevel = ConfigurationKey(
        "log.level", .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"]), default: "info",
        "The least severe entries that are logged")
    static let logFormat = ConfigurationKey(
        "log.format", .choice(["json", "text"]), default: "json", "Form of the log")

    /// Every key, in the order of the documentation.
    package static let all: [ConfigurationKey] = [
        configFile, httpHost, httpPort, httpPortFile, httpCertificate, httpKey, metricsPort, metricsPortFile,
        storeURL, adminToken, masterKey, masterKeyFile, apnsProductionURL, apnsSandboxURL,
        apnsProductionManagementURL, apnsSandboxManagementURL, apnsProductionBroadcastURL, apnsSandboxBroadcastURL,
        apnsConnectionsMax, fcmURL, fcmTokenHosts, fcmConnectionsMax, fcmRate, fcmStartRate, wnsTokenURL,
        wnsTenantTokenURL, wnsHosts, mpnsHosts, webPushHosts, webPushOpen, caFile, webhookHosts, messageLife,
        requestBodyBytes, pagesInFlight, retentionDays, contextPushHold, contextPushWindow, richieTopics, richieUsers,
        logLevel, logFormat,
    ]

    /// Keys of the command line's client half, which may stand in the environment that the server is started in.
    package static let clientEnvironmentNames: Set<String> = ["PEAL_SERVER_URL", "PEAL_API_KEY", "PEAL_APP"]
}
