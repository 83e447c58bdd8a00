internal import Foundation
package import PealCore

/// The server's configuration, read and checked.
package struct ServerConfiguration: Sendable {
    package var httpHost: String
    package var httpPort: Int
    package var httpPortFile: String?
    package var httpTLS: TLSFiles?
    /// nil for a share of the open files that the system allows.
    package var connectionsMax: Int?
    package var connectionsPerAddressMax: Int?
    /// Addresses whose `X-Forwarded-For` is trusted.
    package var trustedProxies: [IPAddress]
    var httpDeadlines: HTTPDeadlines
    package var metricsPort: Int?
    package var metricsPortFile: String?
    /// The listener for admins; nil if the main port serves them.
    var adminListener: AdminListener?
    package var store: StorePlace
    package var preparesStatements: Bool
    package var adminToken: String?
    /// Base64.
    package var masterKey: String?
    package var masterKeyFile: String?
    package var caFile: String?
    package var addressRules: AddressRules
    package var webhookRules: WebhookRules
    package var messageLifeSeconds: Int64
    package var requestBodyBytesMax: Int
    package var jsonValuesMax: Int
    package var authenticationFailuresPerMinute: Int
    package var requestsPerKeyPerSecond: Int
    package var requestsPerAppPerSecond: Int
    package var devicesPerAppMax: Int
    package var topicsPerDeviceMax: Int
    package var pagesInFlightMax: Int
    package var retentionDays: Int
    package var retiredDeviceDays: Int
    package var auditDays: Int
    package var contextPushHoldSeconds: Int
    package var contextPushWindowHoursMax: Int
    package var pivotalImmediateSeconds: Int
    package var richieTopicsMax: Int
    package var richieUsersMax: Int
    package var logLevel: String
    package var logFormat: LogFormat
    /// Base URL of the collector of traces; nil for none.
    package var tracingURL: String?
    package var tracingPercent: Int
    /// Every key with its value (secrets masked), and where the value comes from. For `--print-config` and the console.
    let values: [(key: ConfigurationKey, value: String?, origin: ConfigurationOrigin)]

    /// The checked values, from which push networks read their own keys.
    let checked: ConfigurationValues

    /// Certificate chain and key, PEM.
    package struct TLSFiles: Sendable {
        package let certificate: String
        package let key: String
    }

    /// Where admins are served.
    struct AdminListener: Sendable {
        let host: String
        let port: Int
        let portFile: String?
        let tls: TLSFiles?
        /// Roots of the certificates that clients must show; nil for no client certificates.
        let clientCA: String?
    }

    package enum LogFormat: String, Sendable {
        case json, text
    }
}

extension ServerConfiguration {
    /// Reads and checks every key. `arguments` are the options after `serve`, such as `["--http-port", "0"]`.
    /// - Throws: `ConfigurationFailure` for an unknown key or an invalid value.
    package static func load(arguments: [String], environment: [String: String]) async throws -> ServerConfiguration {
        let source = try ConfigurationSource(arguments: arguments, environment: environment)
        let checked = try ConfigurationValues(source)
        for key in [ConfigurationKey.httpPortFile, .metricsPortFile, .adminListenPortFile] {
            try checkFolder(checked.optional(key), key)
        }
        return ServerConfiguration(
            httpHost: checked.text(.httpHost),
            httpPort: checked.integer(.httpPort),
            httpPortFile: checked.optional(.httpPortFile),
            httpTLS: try tlsFiles(checked, .httpCertificate, .httpKey),
            connectionsMax: checked.optional(.httpConnections).flatMap { Int($0) },
            connectionsPerAddressMax: checked.optional(.httpConnectionsPerAddress).flatMap { Int($0) },
            trustedProxies: try trustedProxies(checked),
            httpDeadlines: HTTPDeadlines(
                handshakeSeconds: checked.integer(.httpHandshake), headSeconds: checked.integer(.httpHead),
                idleSeconds: checked.integer(.httpIdle), ageSeconds: checked.integer(.httpAge),
                bytesPerSecondMin: checked.integer(.httpRate)),
            metricsPort: checked.optional(.metricsPort).flatMap { Int($0) },
            metricsPortFile: checked.optional(.metricsPortFile),
            adminListener: try adminListener(checked),
            store: try StorePlace(checked.text(.storeURL)),
            preparesStatements: checked.text(.preparedStatements) == "true",
            adminToken: try adminToken(checked),
            masterKey: try masterKey(checked),
            masterKeyFile: checked.optional(.masterKeyFile),
            caFile: checked.optional(.caFile),
            addressRules: addressRules(checked),
            webhookRules: WebhookRules(
                allowedHosts: checked.list(.webhookHosts), allowedPorts: try webhookPorts(checked)),
            messageLifeSeconds: Int64(checked.integer(.messageLife)),
            requestBodyBytesMax: checked.integer(.requestBodyBytes),
            jsonValuesMax: checked.integer(.jsonValues),
            authenticationFailuresPerMinute: checked.integer(.authenticationFailures),
            requestsPerKeyPerSecond: checked.integer(.requestsPerKey),
            requestsPerAppPerSecond: checked.integer(.requestsPerApp),
            devicesPerAppMax: checked.integer(.devicesPerApp),
            topicsPerDeviceMax: checked.integer(.topicsPerDevice),
            pagesInFlightMax: checked.integer(.pagesInFlight),
            retentionDays: checked.integer(.retentionDays),
            retiredDeviceDays: checked.integer(.retiredDeviceDays),
            auditDays: checked.integer(.auditDays),
            contextPushHoldSeconds: checked.integer(.contextPushHold),
            contextPushWindowHoursMax: checked.integer(.contextPushWindow),
            pivotalImmediateSeconds: checked.integer(.pivotalImmediate),
            richieTopicsMax: checked.integer(.richieTopics),
            richieUsersMax: checked.integer(.richieUsers),
            logLevel: checked.text(.logLevel),
            logFormat: LogFormat(rawValue: checked.text(.logFormat)) ?? .json,
            tracingURL: checked.optional(.tracingURL), tracingPercent: checked.integer(.tracingPercent),
            values: ConfigurationKey.all.map { key in
                let value = source.text(key).map {
                    key.isSecret ? "********" : key == .storeURL ? StorePlace.masked($0) : $0
                }
                return (key, value, source.origin(key))
            },
            checked: checked)
    }

    /// Fails early: a script that waits for a port file would wait forever if the server could not write it.
    private static func checkFolder(_ file: String?, _ key: ConfigurationKey) throws {
        guard let file else { return }
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw ConfigurationFailure(key, "the directory \(folder) is not writable")
        }
    }

    private static func adminListener(_ checked: ConfigurationValues) throws -> AdminListener? {
        let files = try tlsFiles(checked, .adminListenCertificate, .adminListenKey)
        let clientCA = checked.optional(.adminListenClientCA)
        if clientCA != nil, files == nil {
            throw ConfigurationFailure(.adminListenCertificate, "required to check the certificates of clients")
        }
        guard let port = checked.optional(.adminListenPort).flatMap({ Int($0) }) else {
            guard files == nil else {
                throw ConfigurationFailure(.adminListenPort, "required for a listener with a certificate")
            }
            return nil
        }
        return AdminListener(
            host: checked.text(.adminListenHost), port: port, portFile: checked.optional(.adminListenPortFile),
            tls: files, clientCA: clientCA)
    }

    private static func tlsFiles(
        _ checked: ConfigurationValues, _ certificateKey: ConfigurationKey, _ keyKey: ConfigurationKey
    ) throws -> TLSFiles? {
        switch (checked.optional(certificateKey), checked.optional(keyKey)) {
        case (nil, nil): return nil
        case (let certificate?, let key?): return TLSFiles(certificate: certificate, key: key)
        case (nil, _): throw ConfigurationFailure(certificateKey, "required when \(keyKey.environmentName) is set")
        case (_, nil): throw ConfigurationFailure(keyKey, "required when \(certificateKey.environmentName) is set")
        }
    }

    private static func webhookPorts(_ checked: ConfigurationValues) throws -> [Int] {
        try checked.list(.webhookPorts).map { text in
            guard let port = UInt16(text), port > 0 else {
                throw ConfigurationFailure(.webhookPorts, "\(text) is not a port")
            }
            return Int(port)
        }
    }

    private static func trustedProxies(_ checked: ConfigurationValues) throws -> [IPAddress] {
        try checked.list(.httpTrustedProxies).map { text in
            guard let address = IPAddress(text) else {
                throw ConfigurationFailure(.httpTrustedProxies, "\(text) is not an IP address")
            }
            return address
        }
    }

    private static func adminToken(_ checked: ConfigurationValues) throws -> String? {
        guard let adminToken = checked.optional(.adminToken) else { return nil }
        guard adminToken.count >= 32 else {
            throw ConfigurationFailure(.adminToken, "must be at least 32 characters long")
        }
        guard adminToken.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ConfigurationFailure(.adminToken, "may contain only printable ASCII characters without spaces")
        }
        return adminToken
    }

    private static func masterKey(_ checked: ConfigurationValues) throws -> String? {
        guard let text = checked.optional(.masterKey) else { return nil }
        if checked.optional(.masterKeyFile) != nil {
            throw ConfigurationFailure(.masterKey, "set either this or PEAL_MASTER_KEY_FILE, not both")
        }
        guard Base64URL.decode(text)?.count == 32 else {
            throw ConfigurationFailure(.masterKey, "must be 32 bytes in base64")
        }
        return text
    }

    private static func addressRules(_ checked: ConfigurationValues) -> AddressRules {
        let vendors = AddressRules()
        var hosts: [ProviderName: [String]] = [:]
        var open: Set<ProviderName> = []
        for network in ServerNetwork.builtIn {
            let name = network.network.name
            if let key = network.hostsKey { hosts[name] = vendors.hosts(of: name) + checked.list(key) }
            if let key = network.openKey, checked.text(key) == "true" { open.insert(name) }
        }
        return AddressRules(hosts: hosts, open: open)
    }
}

extension ServerConfiguration {
    /// The configured values by the names of their variables, without secrets: enough for `peal doctor` to check what
    /// the server uses.
    package var shown: [String: String] {
        let given = values.compactMap { key, value, origin in
            origin != .fallback && !key.isSecret && key != .configFile ? value.map { (key.environmentName, $0) } : nil
        }
        return Dictionary(given) { $1 }
    }

    /// Every key with its value, default, type, range and meaning, as a YAML file that `--config` can read.
    package func printed() -> String {
        var lines: [String] = []
        for (key, value, origin) in values where key != .configFile {
            lines.append("# \(key.environmentName) (\(key.kind.name); default \(key.fallback ?? "none"))")
            lines.append("# \(key.meaning)")
            let name = key.words.replacing(".", with: "_")
            if let value, !key.isSecret {
                lines.append("\(origin == .fallback ? "# " : "")\(name): \(Self.quoted(value))")
            } else {
                lines.append("# \(name): \(value ?? "")")
            }
            lines.append("")
        }
        return lines.joined(separator: "\n")
    }

    private static func quoted(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

/// Where the store is.
package enum StorePlace: Sendable, Hashable, CustomStringConvertible {
    case sqlite(path: String)
    /// A libpq URI.
    case postgres(url: String)

    /// - Throws: `ConfigurationFailure` when `url` names no database that Peal can use.
    init(_ url: String) throws {
        if ["postgres://", "postgresql://"].contains(where: url.hasPrefix) {
            self = .postgres(url: url)
        } else if url.hasPrefix("sqlite:"), url.count > "sqlite:".count {
            self = .sqlite(path: String(url.dropFirst("sqlite:".count)))
        } else {
            throw ConfigurationFailure(.storeURL, "must be sqlite:PATH or postgres://…")
        }
    }

    /// The path or the URL, without a password.
    package var description: String {
        switch self {
        case .sqlite(let path): path
        case .postgres(let url): Self.masked(url)
        }
    }

    /// Replaces the password of a URL, before the host or as a parameter.
    static func masked(_ url: String) -> String {
        guard let scheme = url.range(of: "://") else { return url }
        var rest = String(url[scheme.upperBound...])
        let authorityEnd = rest.firstIndex { "/?".contains($0) } ?? rest.endIndex
        if let at = rest[..<authorityEnd].lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") {
            rest.replaceSubrange(rest.index(after: colon)..<at, with: "********")
        }
        if let name = rest.range(of: "password=") {
            let end = rest[name.upperBound...].firstIndex(of: "&") ?? rest.endIndex
            rest.replaceSubrange(name.upperBound..<end, with: "********")
        }
        return url[..<scheme.upperBound] + rest
    }
}
