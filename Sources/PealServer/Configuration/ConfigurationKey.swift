internal import PealAPI
internal import PealCore

/// A configuration key. `peal serve --print-config` is generated from these values, and a test compares them with the
/// table in `docs/configuration.md`.
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
        /// An https URL; http on loopback, or everywhere if `allowsHTTP`.
        case url(allowsHTTP: Bool = false)
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
        "http.port", .integer(0...65_535), default: "8080", "Port to listen on; 0 selects a free port")
    static let httpPortFile = ConfigurationKey(
        "http.port.file", .path, "File that receives the port, as one decimal line, once the server listens")
    static let httpCertificate = ConfigurationKey(
        "http.tls.certificate", .path, "PEM file with the certificate chain; turns on HTTPS (HTTP/1.1 and HTTP/2)")
    static let httpKey = ConfigurationKey("http.tls.key", .path, "PEM file with the private key of that certificate")
    static let httpConnections = ConfigurationKey(
        "http.connections.max", .integer(8...1_000_000, unit: "connections"),
        "Connections served at once; further ones get 503. By default half of the open files that the system allows, "
            + "at most \(Limits.httpConnectionsMax)")
    static let httpConnectionsPerAddress = ConfigurationKey(
        "http.connections.per.address.max", .integer(1...1_000_000, unit: "connections"),
        "Connections served at once for one client address (IPv6: for a /64 network). By default a quarter of all, and "
            + "unlimited for this machine")
    static let httpTrustedProxies = ConfigurationKey(
        "http.trusted.proxies", .text,
        "Addresses of reverse proxies, separated by commas; their X-Forwarded-For names the client in limits and logs")
    static let httpHandshake = ConfigurationKey(
        "http.handshake.seconds", .integer(1...300, unit: "seconds"), default: String(Limits.httpHandshakeSeconds),
        "Time for the TLS handshake")
    static let httpHead = ConfigurationKey(
        "http.head.seconds", .integer(1...300, unit: "seconds"), default: String(Limits.httpHeadSeconds),
        "Time for the head of a request, and for the first request of a connection")
    static let httpIdle = ConfigurationKey(
        "http.idle.seconds", .integer(1...86_400, unit: "seconds"), default: String(Limits.httpIdleSeconds),
        "How long a connection may be idle between requests")
    static let httpAge = ConfigurationKey(
        "http.age.seconds", .integer(1...604_800, unit: "seconds"), default: String(Limits.httpAgeSeconds),
        "How long an HTTP/2 connection may live; its open requests are still answered")
    static let httpRate = ConfigurationKey(
        "http.bytes.per.second.min", .integer(1...1_000_000, unit: "bytes per second"),
        default: String(Limits.httpBytesPerSecondMin),
        "Slowest rate at which a client may send a body or read an answer, after \(Limits.httpGraceSeconds) s")
    static let metricsPort = ConfigurationKey(
        "metrics.port", .integer(0...65_535),
        "Port for /metrics, on the address of PEAL_HTTP_HOST; without it, /metrics is on the main port")
    static let metricsPortFile = ConfigurationKey(
        "metrics.port.file", .path, "File to write the metrics port to")

    static let adminListenHost = ConfigurationKey(
        "admin.listen.host", .text, default: "127.0.0.1", "Address of the listener for admins")
    static let adminListenPort = ConfigurationKey(
        "admin.listen.port", .integer(0...65_535),
        "Port of a separate listener for everything that only admins may do, in the API and in the console, /metrics "
            + "and the details of /readyz. The main port then no longer serves these; the listener for admins serves "
            + "everything")
    static let adminListenPortFile = ConfigurationKey(
        "admin.listen.port.file", .path, "File to write the port of the listener for admins to")
    static let adminListenCertificate = ConfigurationKey(
        "admin.listen.tls.certificate", .path, "PEM file with the certificate chain of the listener for admins")
    static let adminListenKey = ConfigurationKey(
        "admin.listen.tls.key", .path, "PEM file with the private key of that certificate")
    static let adminListenClientCA = ConfigurationKey(
        "admin.listen.tls.client.ca", .path,
        "PEM file with the root certificates for client certificates on the listener for admins")

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
        "master.key", .text, isSecret: true, "32 bytes in base64; encrypts credentials and keys all hashes")
    static let masterKeyFile = ConfigurationKey(
        "master.key.file", .path,
        "File with the master key. Required with PostgreSQL; must be the same for every server. Default with SQLite: a "
            + "file next to the database, which the first start generates"
    )

    static let caFile = ConfigurationKey(
        "providers.ca.file", .path, "PEM file with additional trust roots for TLS to push networks and webhooks")
    static let webhookHosts = ConfigurationKey(
        "webhooks.allowed.hosts", .hosts, "Private hosts that webhooks may be on; loopback hosts may use http")

    static let webhookPorts = ConfigurationKey(
        "webhooks.allowed.ports", .text,
        "Ports besides 443 that webhooks may use, separated by commas; hosts in PEAL_WEBHOOKS_ALLOWED_HOSTS may name "
            + "others"
    )

    static let messageLife = ConfigurationKey(
        "limits.message.ttl.seconds", .integer(1...31_536_000, unit: "seconds"),
        default: String(Limits.messageLifeSecondsDefault),
        "Lifetime of a message without an expiry; a platform's own expiry is limited to this or to the message's "
            + "expiry, whichever is later")
    static let requestBodyBytes = ConfigurationKey(
        "limits.request.body.bytes", .integer(1024...67_108_864, unit: "bytes"),
        default: String(Limits.requestBodyBytesMax), "Maximum size of a request body")
    static let jsonValues = ConfigurationKey(
        "limits.json.values", .integer(1000...10_000_000, unit: "values"), default: String(Limits.jsonValuesMax),
        "Maximum number of JSON values in a request body")
    static let authenticationFailures = ConfigurationKey(
        "limits.authentication.failures.per.minute", .integer(1...1_000_000, unit: "failures"),
        default: String(Limits.authenticationFailuresPerMinute),
        "Failed authentications of one client address or with one key; further ones get 429")
    static let requestsPerKey = ConfigurationKey(
        "limits.requests.per.key.per.second", .integer(1...1_000_000, unit: "requests per second"),
        default: String(Limits.requestsPerKeyPerSecond), "Requests with one key; further ones get 429")
    static let requestsPerApp = ConfigurationKey(
        "limits.requests.per.app.per.second", .integer(1...1_000_000, unit: "requests per second"),
        default: String(Limits.requestsPerAppPerSecond), "Requests with all keys of one app; further ones get 429")
    static let devicesPerApp = ConfigurationKey(
        "limits.devices.per.app", .integer(1...1_000_000_000, unit: "devices"),
        default: String(Limits.devicesPerAppMax), "Active devices of one app; new ones beyond it get 429")
    static let topicsPerDevice = ConfigurationKey(
        "limits.topics.per.device", .integer(1...Limits.topicsPerDeviceMax, unit: "topics"),
        default: String(Limits.topicsPerDeviceMax), "Topics of one device")
    static let pagesInFlight = ConfigurationKey(
        "delivery.pages.in.flight", .integer(1...256, unit: "pages"), default: String(Limits.pagesInFlightMax),
        "Slots of 1,024 devices for pages in flight; bounds memory use and what may be sent twice after a crash")
    static let retentionDays = ConfigurationKey(
        "retention.messages.days", .integer(1...3650, unit: "days"), default: "30",
        "How long finished messages and their delivery logs are kept")
    static let retiredDeviceDays = ConfigurationKey(
        "retention.devices.days", .integer(1...3650, unit: "days"), default: "90",
        "How long retired devices are kept; a device that registers again in that time gets its topics back")
    static let auditDays = ConfigurationKey(
        "retention.audit.days", .integer(1...3650, unit: "days"), default: "365",
        "How long entries of the audit log are kept")
    static let contextPushHold = ConfigurationKey(
        "contextpush.traditional.hold.seconds", .integer(0...300, unit: "seconds"), default: "10",
        "How long a traditional ContextPush message is held back, so that it can be cancelled")
    static let contextPushWindow = ConfigurationKey(
        "contextpush.window.hours.max", .integer(1...648, unit: "hours"),
        default: String(Limits.windowSecondsMax / 3600), "Longest delivery window of a ContextPush message")
    static let pivotalImmediate = ConfigurationKey(
        "pivotal.immediate.seconds", .integer(0...86_400, unit: "seconds"),
        default: String(Limits.pivotalImmediateSeconds),
        "A scheduled Pivotal push that is due sooner is sent at once and is not a schedule")
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

    static let tracingURL = ConfigurationKey(
        "tracing.otlp.url", .url(allowsHTTP: true),
        "Collector (an http or https URL without /v1/traces) that receives traces of messages as OTLP over HTTP "
            + "(JSON); without it, nothing is traced"
    )
    static let tracingPercent = ConfigurationKey(
        "tracing.percent", .integer(0...100, unit: "percent"), default: "100", "Share of the messages that are traced")

    /// Every key, in the order of the documentation.
    package static let all: [ConfigurationKey] =
        [
            configFile, httpHost, httpPort, httpPortFile, httpCertificate, httpKey, httpConnections,
            httpConnectionsPerAddress, httpTrustedProxies, httpHandshake, httpHead, httpIdle, httpAge, httpRate,
            metricsPort, metricsPortFile, adminListenHost, adminListenPort, adminListenPortFile,
            adminListenCertificate, adminListenKey, adminListenClientCA, storeURL, preparedStatements, adminToken,
            masterKey, masterKeyFile,
        ] + ServerNetwork.builtIn.flatMap(\.keys) + [
            caFile, webhookHosts, webhookPorts, messageLife, requestBodyBytes, jsonValues, authenticationFailures,
            requestsPerKey,
            requestsPerApp, devicesPerApp, topicsPerDevice, pagesInFlight, retentionDays, retiredDeviceDays, auditDays,
            contextPushHold, contextPushWindow, pivotalImmediate, richieTopics, richieUsers, logLevel, logFormat,
            tracingURL, tracingPercent,
        ]

    /// The certificates and keys of the listeners.
    static let listeners: Set<ConfigurationKey> = [
        httpCertificate, httpKey, adminListenCertificate, adminListenKey, adminListenClientCA,
    ]

    /// Keys that SIGHUP applies.
    static let reloaded: Set<ConfigurationKey> =
        listeners.union([configFile, adminToken, caFile, webhookHosts, webhookPorts, logLevel])
        .union(ServerNetwork.builtIn.flatMap(\.keys))
}
