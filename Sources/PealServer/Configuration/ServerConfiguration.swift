internal import Foundation
internal import PealCore

/// The server's configuration, read and checked, by subject.
package struct ServerConfiguration: Sendable {
    package var http: HTTP
    var metricsPort: Int?
    var metricsPortFile: String?
    /// The listener for admins; nil if the main port serves them.
    var adminListener: AdminListener?
    var store: StoreLocation
    var preparesStatements: Bool
    package var adminToken: String?
    /// Base64.
    var masterKey: String?
    var masterKeyFile: String?
    var caFile: String?
    var addressRules: AddressRules
    var webhookRules: WebhookRules
    var pagesInFlightMax: Int
    var retention: RetentionDays
    var log: Log
    /// The collector of traces; nil for none.
    var tracing: Tracing?
    /// Every key with its value (secrets masked), and where the value comes from. For `--print-config` and the
    /// console.
    let values: [(key: ConfigurationKey, value: String?, origin: ConfigurationOrigin)]

    /// The checked values, from which the API and the push networks read their own keys.
    let checked: ConfigurationValues
}

// Each section reads its keys in its `init(_:)`.
extension ServerConfiguration {
    /// The main listener.
    package struct HTTP: Sendable {
        package var host: String
        package var port: Int
        package var portFile: String?
        package var tls: TLSFiles?
        /// nil for a share of the open files that the system allows.
        var connectionsMax: Int?
        var connectionsPerAddressMax: Int?
        /// Addresses whose `X-Forwarded-For` is trusted.
        var trustedProxies: [IPAddress]
        var deadlines: HTTPDeadlines

        init(_ checked: ConfigurationValues) throws {
            host = checked.text(.httpHost)
            port = checked.integer(.httpPort)
            portFile = checked.optional(.httpPortFile)
            tls = try TLSFiles(checked, .httpCertificate, .httpKey)
            connectionsMax = checked.optionalInteger(.httpConnections)
            connectionsPerAddressMax = checked.optionalInteger(.httpConnectionsPerAddress)
            trustedProxies = try checked.list(.httpTrustedProxies).map { text in
                guard let address = IPAddress(text) else {
                    throw ConfigurationFailure(.httpTrustedProxies, "\(text) is not an IP address")
                }
                return address
            }
            deadlines = HTTPDeadlines(
                handshakeSeconds: checked.integer(.httpHandshake), headSeconds: checked.integer(.httpHead),
                idleSeconds: checked.integer(.httpIdle), ageSeconds: checked.integer(.httpAge),
                bytesPerSecondMin: checked.integer(.httpRate))
        }
    }

    /// Certificate chain and key, PEM.
    package struct TLSFiles: Sendable {
        let certificate: String
        let key: String
        let certificateName: ConfigurationKey
        let keyName: ConfigurationKey

        /// nil if neither is given.
        init?(
            _ checked: ConfigurationValues, _ certificateName: ConfigurationKey, _ keyName: ConfigurationKey
        ) throws {
            (self.certificateName, self.keyName) = (certificateName, keyName)
            switch (checked.optional(certificateName), checked.optional(keyName)) {
            case (nil, nil): return nil
            case (let certificate?, let key?): (self.certificate, self.key) = (certificate, key)
            case (nil, _):
                throw ConfigurationFailure(certificateName, "required when \(keyName.environmentName) is set")
            case (_, nil):
                throw ConfigurationFailure(keyName, "required when \(certificateName.environmentName) is set")
            }
        }
    }

    /// Where admins are served.
    struct AdminListener: Sendable {
        let host: String
        let port: Int
        let portFile: String?
        let tls: TLSFiles?
        /// Roots of the certificates that clients must present; nil for no client certificates.
        let clientCA: String?

        /// nil without a port.
        init?(_ checked: ConfigurationValues) throws {
            tls = try TLSFiles(checked, .adminListenCertificate, .adminListenKey)
            clientCA = checked.optional(.adminListenClientCA)
            if clientCA != nil, tls == nil {
                throw ConfigurationFailure(.adminListenCertificate, "required to check the certificates of clients")
            }
            guard let port = checked.optionalInteger(.adminListenPort) else {
                guard tls == nil else {
                    throw ConfigurationFailure(.adminListenPort, "required for a listener with a certificate")
                }
                return nil
            }
            self.port = port
            host = checked.text(.adminListenHost)
            portFile = checked.optional(.adminListenPortFile)
        }
    }

    /// How long ended messages, retired devices and entries of the audit log are kept.
    struct RetentionDays: Sendable {
        var messages: Int
        var devices: Int
        var audit: Int

        init(_ checked: ConfigurationValues) {
            messages = checked.integer(.retentionDays)
            devices = checked.integer(.retiredDeviceDays)
            audit = checked.integer(.auditDays)
        }
    }

    struct Log: Sendable {
        var level: String
        var format: Format

        enum Format: String, Sendable {
            case json, text
        }

        init(_ checked: ConfigurationValues) {
            level = checked.text(.logLevel)
            format = Format(rawValue: checked.text(.logFormat)) ?? .json
        }
    }

    struct Tracing: Sendable {
        /// Base URL.
        var url: String
        var percent: Int

        /// nil without a URL.
        init?(_ checked: ConfigurationValues) {
            guard let url = checked.optional(.tracingURL) else { return nil }
            self.url = url
            percent = checked.integer(.tracingPercent)
        }
    }
}

extension ServerConfiguration {
    /// Reads and checks every key. `arguments` are the options after `serve`, such as `["--http-port", "0"]`.
    /// - Throws: `ConfigurationFailure` for an unknown key or an invalid value.
    package static func load(arguments: [String], environment: [String: String]) async throws -> ServerConfiguration {
        let source = try ConfigurationSource(arguments: arguments, environment: environment)
        let checked = try ConfigurationValues(source)
        for key in [ConfigurationKey.httpPortFile, .metricsPortFile, .adminListenPortFile] {
            try checkPortFile(checked.optional(key), key)
        }
        return try ServerConfiguration(checked, values: ConfigurationKey.all.map { shown($0, in: source) })
    }

    private init(
        _ checked: ConfigurationValues, values: [(key: ConfigurationKey, value: String?, origin: ConfigurationOrigin)]
    ) throws {
        http = try HTTP(checked)
        metricsPort = checked.optionalInteger(.metricsPort)
        metricsPortFile = checked.optional(.metricsPortFile)
        adminListener = try AdminListener(checked)
        store = try StoreLocation(checked.text(.storeURL))
        preparesStatements = checked.text(.preparedStatements) == "true"
        adminToken = try Self.adminToken(checked)
        masterKey = try Self.masterKey(checked)
        masterKeyFile = checked.optional(.masterKeyFile)
        caFile = checked.optional(.caFile)
        addressRules = Self.addressRules(checked)
        webhookRules = try Self.webhookRules(checked)
        pagesInFlightMax = checked.integer(.pagesInFlight)
        retention = RetentionDays(checked)
        log = Log(checked)
        tracing = Tracing(checked)
        self.values = values
        self.checked = checked
    }

    /// The key's value, masked if it is secret.
    private static func shown(
        _ key: ConfigurationKey, in source: ConfigurationSource
    ) -> (key: ConfigurationKey, value: String?, origin: ConfigurationOrigin) {
        let value = source.text(key).map { text in
            key.isSecret ? "********" : key == .storeURL ? StoreLocation.masked(text) : text
        }
        return (key, value, source.origin(key))
    }

    /// Fails early: a script that waits for a port file would wait forever if the server could not write it.
    private static func checkPortFile(_ file: String?, _ key: ConfigurationKey) throws {
        guard let file else { return }
        var isDirectory: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory)
        guard !isDirectory.boolValue else { throw ConfigurationFailure(key, "\(file) is a directory") }
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent().path
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw ConfigurationFailure(key, "the directory \(folder) is not writable")
        }
    }

    private static func webhookRules(_ checked: ConfigurationValues) throws -> WebhookRules {
        let ports = try checked.list(.webhookPorts).map { text in
            guard let port = UInt16(text), port > 0 else {
                throw ConfigurationFailure(.webhookPorts, "\(text) is not a port")
            }
            return Int(port)
        }
        return WebhookRules(allowedHosts: checked.list(.webhookHosts), allowedPorts: ports)
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
    var shown: [String: String] {
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
