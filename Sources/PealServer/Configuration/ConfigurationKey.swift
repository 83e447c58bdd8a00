internal import PealAPI
internal import PealCore

/// A configuration key. It documents itself: `peal serve --print-config` and the table in `docs/configuration.md` are
/// made from these values, and a test compares the table with them.
package struct ConfigurationKey: Sendable, Hashable {
    /// The words of its name: `http.port.file` is `PEAL_HTTP_PORT_FILE`, `--http-port-file`, and in the file
    /// `http: {port_file: …}`.
    package let words: String
    package let kind: Kind
    /// The default as a user would write it; nil for none.
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
        /// `unit` is what the number counts; nil for a port.
        case integer(ClosedRange<Int>, unit: String? = nil)

        /// The type, unit and range in words.
        package var name: String {
            switch self {
            case .text: "text"
            case .url: "URL"
            case .hosts: "list of hosts"
            case .path: "path"
            case .choice(let values): values.joined(separator: " or ")
            case .integer(let range, let unit):
                "\(unit.map { "whole number of \($0)" } ?? "whole number"), \(range.lowerBound) to \(range.upperBound)"
            }
        }
    }

    package var environmentName: String { "PEAL_" + words.uppercased().replacing(".", with: "_") }
    package var flag: String { "--" + words.replacing(".", with: "-") }
}

extension ConfigurationKey {
    static let configFile = ConfigurationKey("config", .path, "YAML file with any of the other keys")

    static let httpHost = ConfigurationKey("http.host", .text, default: "127.0.0.1", "Address to listen on")
    static let httpPort = ConfigurationKey(
        "http.port", .integer(0...65_535), default: "8080", "Port to listen on; 0 takes a free one")
    static let httpPortFile = ConfigurationKey(
        "http.port.file", .path, "File to write the port to once the server listens, as one decimal line")
    static let httpCertificate = ConfigurationKey(
        "http.tls.certificate", .path, "PEM file with the certificate chain; turns on HTTPS (HTTP/1.1 and HTTP/2)")
    static let httpKey = ConfigurationKey("http.tls.key", .path, "PEM file with the private key of that certificate")
    static let metricsPort = ConfigurationKey(
        "metrics.port", .integer(0...65_535),
        "Port for /metrics, on the address of PEAL_HTTP_HOST; without it, /metrics is on the main port")
    static let metricsPortFile = ConfigurationKey(
        "metrics.port.file", .path, "File to write the metrics port to")

    static let storeURL = ConfigurationKey(
        "store.url", .text, default: "sqlite:peal.db", isSecret: false,
        "Database: sqlite:PATH, or postgres://… (a libpq URI), which several servers may share")
    static let preparedStatements = ConfigurationKey(
        "store.prepared.statements", .choice(["true", "false"]), default: "true",
        "Prepare statements on PostgreSQL; false behind a PgBouncer in transaction mode")
    static let adminToken = ConfigurationKey(
        "admin.token", .text, isSecret: true,
        "Bearer token with full access, at least 32 characters; otherwise the first start generates one and prints it"
    )
    static let masterKey = ConfigurationKey(
        "master.key", .text, isSecret: true, "32 bytes in base64 that encrypt credentials and key all hashes")
    static let masterKeyFile = ConfigurationKey(
        "master.key.file", .path,
        "File with the master key; required with PostgreSQL, where every server needs the same; defaults with SQLite "
            + "to a file beside the database, generated at the first start"
    )

    static let apnsProductionURL = ConfigurationKey(
        "providers.apns.production.url", .url, default: "https://api.push.apple.com", "APNs in production")
    static let apnsSandboxURL = ConfigurationKey(
        "providers.apns.sandbox.url", .url, default: "https://api.sandbox.push.apple.com", "APNs in the sandbox")
    static let apnsProductionManagementURL = ConfigurationKey(
        "providers.apns.production.management.url", .url,
        default: "https://api-manage-broadcast.push.apple.com:2196", "Channel management of APNs in production")
    static let apnsSandboxManagementURL = ConfigurationKey(
        "providers.apns.sandbox.management.url", .url,
        default: "https://api-manage-broadcast.sandbox.push.apple.com:2195", "Channel management of APNs in the sandbox"
    )
    static let apnsProductionBroadcastURL = ConfigurationKey(
        "providers.apns.production.broadcast.url", .url,
        "APNs for broadcasts in production; defaults to the URL for other notifications")
    static let apnsSandboxBroadcastURL = ConfigurationKey(
        "providers.apns.sandbox.broadcast.url", .url,
        "APNs for broadcasts in the sandbox; defaults to the URL for other notifications")
    static let apnsConnectionsMax = ConfigurationKey(
        "providers.apns.connections.max", .integer(1...64, unit: "connections"), default: "4",
        "Connections to one APNs host for each credential")
    static let fcmURL = ConfigurationKey(
        "providers.fcm.url", .url, default: "https://fcm.googleapis.com", "FCM; a path in it is put before /v1/projects"
    )
    static let fcmTokenHosts = ConfigurationKey(
        "providers.fcm.token.allowed.hosts", .hosts,
        "Hosts besides Google's that the token_uri of a service account may name")
    static let fcmConnectionsMax = ConfigurationKey(
        "providers.fcm.connections.max", .integer(1...64, unit: "connections"), default: "4",
        "Connections to FCM for each credential")
    static let fcmRate = ConfigurationKey(
        "providers.fcm.rate.per.second", .integer(1...1_000_000, unit: "requests per second"),
        default: String(Limits.fcmRatePerSecond),
        "Rate limit for each Firebase project")
    static let fcmStartRate = ConfigurationKey(
        "providers.fcm.start.rate.per.second", .integer(1...1_000_000, unit: "requests per second"),
        default: String(Limits.fcmStartRatePerSecond),
        "Rate for a Firebase project after a pause; it rises to the rate limit within a minute")
    static let wnsTokenURL = ConfigurationKey(
        "providers.wns.token.url", .url, default: "https://login.live.com/accesstoken.srf",
        "Token endpoint of WNS for Microsoft Store apps")
    static let wnsTenantTokenURL = ConfigurationKey(
        "providers.wns.tenant.token.url", .text,
        default: "https://login.microsoftonline.com/{tenant_id}/oauth2/v2.0/token",
        "Token endpoint of WNS for Windows App SDK apps; {tenant_id} is replaced by that of the credential")
    static let wnsHosts = ConfigurationKey(
        "providers.wns.allowed.hosts", .hosts,
        "Hosts besides Microsoft's that are allowed in WNS channel URIs; the local machine is allowed only when listed")
    static let mpnsHosts = ConfigurationKey(
        "providers.mpns.allowed.hosts", .hosts,
        "Hosts besides Microsoft's that are allowed in MPNS channel URIs; the local machine is allowed only when listed"
    )
    static let webPushHosts = ConfigurationKey(
        "providers.webpush.allowed.hosts", .hosts,
        "Hosts besides the browser vendors' that are allowed in Web Push endpoints")
    static let webPushOpen = ConfigurationKey(
        "providers.webpush.open", .choice(["true", "false"]), default: "false",
        "Whether Web Push endpoints may be on any https host with public addresses on port 443")
    static let caFile = ConfigurationKey(
        "providers.ca.file", .path, "PEM file with trust roots for TLS to providers and webhooks, besides the system's")
    static let webhookHosts = ConfigurationKey(
        "webhooks.allowed.hosts", .hosts, "Private hosts that webhooks may be on; loopback hosts may use http")

    static let messageLife = ConfigurationKey(
        "limits.message.ttl.seconds", .integer(60...31_536_000, unit: "seconds"),
        default: String(Limits.messageLifeSecondsDefault),
        "Lifetime of a message without an expiry, and the longest time for which a later expiry is attempted")
    static let requestBodyBytes = ConfigurationKey(
        "limits.request.body.bytes", .integer(1024...67_108_864, unit: "bytes"),
        default: String(Limits.requestBodyBytesMax), "Maximum size of a request body")
    static let pagesInFlight = ConfigurationKey(
        "delivery.pages.in.flight", .integer(1...256, unit: "pages"), default: String(Limits.pagesInFlightMax),
        "Pages of up to 1,024 devices in flight at once; bounds memory use and what may be sent twice after a crash")
    static let retentionDays = ConfigurationKey(
        "retention.messages.days", .integer(1...3650, unit: "days"), default: "30",
        "How long finished messages and their delivery logs are kept")
    static let contextPushHold = ConfigurationKey(
        "contextpush.traditional.hold.seconds", .integer(0...60, unit: "seconds"), default: "10",
        "How long a traditional ContextPush message is held back, so that it can be cancelled")
    static let contextPushWindow = ConfigurationKey(
        "contextpush.window.hours.max", .integer(1...648, unit: "hours"),
        default: String(Limits.windowSecondsMax / 3600), "Longest delivery window of a ContextPush message")
    static let richieTopics = ConfigurationKey(
        "richie.topics.max", .integer(1...100_000, unit: "topics"), default: String(Limits.richieTopicsMax),
        "Maximum number of topics in a Richie task")
    static let richieUsers = ConfigurationKey(
        "richie.users.max", .integer(1...100_000, unit: "users"), default: String(Limits.richieUsersMax),
        "Maximum number of external user ids in a Richie task")

    static let logLevel = ConfigurationKey(
        "log.level", .choice(["trace", "debug", "info", "notice", "warning", "error", "critical"]), default: "info",
        "Minimum level of log entries")
    static let logFormat = ConfigurationKey(
        "log.format", .choice(["json", "text"]), default: "json", "Format of log entries")

    /// Every key, in the order of the documentation.
    package static let all: [ConfigurationKey] = [
        configFile, httpHost, httpPort, httpPortFile, httpCertificate, httpKey, metricsPort, metricsPortFile,
        storeURL, preparedStatements, adminToken, masterKey, masterKeyFile, apnsProductionURL, apnsSandboxURL,
        apnsProductionManagementURL, apnsSandboxManagementURL, apnsProductionBroadcastURL, apnsSandboxBroadcastURL,
        apnsConnectionsMax, fcmURL, fcmTokenHosts, fcmConnectionsMax, fcmRate, fcmStartRate, wnsTokenURL,
        wnsTenantTokenURL, wnsHosts, mpnsHosts, webPushHosts, webPushOpen, caFile, webhookHosts, messageLife,
        requestBodyBytes, pagesInFlight, retentionDays, contextPushHold, contextPushWindow, richieTopics, richieUsers,
        logLevel, logFormat,
    ]

    /// Variables of the client commands. They may be set in the server's environment too.
    package static let clientEnvironmentNames: Set<String> = ["PEAL_SERVER_URL", "PEAL_API_KEY", "PEAL_APP"]
}
