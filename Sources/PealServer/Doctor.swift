internal import Foundation
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
package import PealCore
internal import PealSQLite
internal import PealStore

/// Looks at what a server needs without starting one: nothing is made, changed or sent.
package struct Doctor: Sendable {
    let configuration: ServerConfiguration
    let time: any TimeSource

    package init(_ configuration: ServerConfiguration) {
        self.init(configuration, time: SystemTime())
    }

    init(_ configuration: ServerConfiguration, time: any TimeSource) {
        self.configuration = configuration
        self.time = time
    }

    /// The clock that the diagnosis goes by.
    package var now: Timestamp { time.now }

    /// When this program was first made: a clock before it is wrong.
    private static let beginning = Timestamp(rfc3339: "2026-01-01T00:00:00Z")

    /// Clock, files, and the store with what is in it.
    package func examine(_ diagnosis: inout Diagnosis) async {
        checkClock(&diagnosis)
        checkFiles(&diagnosis)
        await checkStore(&diagnosis)
    }

    /// A provider token of a wrong hour is refused, and a certificate seems to have ended or not begun.
    private func checkClock(_ diagnosis: inout Diagnosis) {
        let now = time.now
        let isPlausible = Self.beginning.map { now >= $0 } ?? true
        diagnosis.add(
            isPlausible ? .ok : .failed, "clock", isPlausible ? "\(now)" : "\(now) lies before this program was made")
    }
}

extension Doctor {
    /// Opens the store as a server would, unless it would make one, and looks into it.
    func checkStore(_ diagnosis: inout Diagnosis) async {
        let path = configuration.databasePath
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int, size > 0 else {
            return diagnosis.add(.warning, "store", "there is no database \(path) yet: the first start makes it")
        }
        do {
            let masterKey = try Storage.checkedKey(configuration)
            diagnosis.add(.ok, "master key", "can be read")
            let store = SQLStore(engine: try SQLiteEngine(path: path), masterKey: masterKey)
            diagnosis.add(.ok, "store", "\(path) opens")
            await look(into: store, &diagnosis)
            try store.close()
        } catch let failure as StoreStartFailure where failure.isInUse {
            diagnosis.isStoreInUse = true
            diagnosis.add(.ok, "store", "a running server has \(path)")
        } catch {
            diagnosis.add(.failed, "store", "\(error)")
        }
    }

    private func look(into store: SQLStore, _ diagnosis: inout Diagnosis) async {
        guard let version = try? await store.schemaVersion() else {
            return diagnosis.add(.failed, "schema", "\(configuration.databasePath) is no database of this program")
        }
        let newest = SQLStore.newestSchemaVersion
        guard version == newest else {
            let isOld = version < newest
            let advice = isOld ? "peal migrate or the next start brings it there" : "use a newer program"
            return diagnosis.add(
                isOld ? .warning : .failed, "schema", "at version \(version), this program has \(newest): \(advice)")
        }
        diagnosis.add(.ok, "schema", "at version \(version)")
        do {
            guard try await store.masterKeyMatches() != false else {
                return diagnosis.add(.failed, "master key", "is not the one that the database was made with")
            }
            try await checkCredentials(in: store, &diagnosis)
        } catch {
            diagnosis.add(.failed, "store", "\(error)")
        }
    }

    /// Every app's credentials; each is opened, to know that it can be.
    private func checkCredentials(in store: SQLStore, _ diagnosis: inout Diagnosis) async throws {
        var last: AppID?
        repeat {
            let page = try await store.read { [last] in try $0.apps(after: last, limit: Limits.listItemsMax) }
            for app in page {
                let (records, sealed) = try await store.read { store in
                    let records = try store.credentialRecords(app: app.key)
                    return (records, records.filter { !store.opens($0, app: app.key) })
                }
                diagnosis.add(records, app: "\(app.name) (\(app.id))", now: time.now)
                for record in sealed {
                    diagnosis.add(
                        .failed, "credential \(record.provider.rawValue) of \(app.name) (\(app.id))",
                        "cannot be opened with this master key")
                }
            }
            last = page.count == Limits.listItemsMax ? page.last?.id : nil
        } while last != nil
        diagnosis.endCredentials()
    }
}

extension StoreReading {
    fileprivate func opens(_ record: CredentialRecord, app: AppKey) -> Bool {
        (try? credential(app: app, provider: record.provider, environment: record.environment)) != nil
    }
}

extension Doctor {
    /// The files that the configuration names.
    func checkFiles(_ diagnosis: inout Diagnosis) {
        if let files = configuration.httpTLS { diagnosis.add(certificates: files, now: time.now) }
        guard let file = configuration.caFile else { return }
        do {
            let roots = try NIOSSLCertificate.fromPEMFile(file)
            diagnosis.add(.ok, "trust roots", "\(file) holds \(roots.count)")
        } catch {
            diagnosis.add(.failed, "trust roots", "\(file) holds no PEM certificates: \(error)")
        }
    }
}

extension Diagnosis {
    /// What HTTPS is served with.
    fileprivate mutating func add(certificates files: ServerConfiguration.TLSFiles, now: Timestamp) {
        let subject = "HTTPS certificate"
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            // Making a context compares the key with the certificate.
            _ = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
            let end = chain.first.map { Timestamp(seconds: Int64($0.notValidAfter)) }
            add(end, subject, now: now)
        } catch {
            add(.failed, subject, "\(files.certificate) with \(files.key) cannot be used: \(error)")
        }
    }

    private mutating func add(_ end: Timestamp?, _ subject: String, now: Timestamp) {
        guard let end else { return add(.failed, subject, "the file holds no certificate") }
        guard end > now else { return add(.failed, subject, "expired (\(end))") }
        let isNear = end < now + .seconds(86_400 * (Limits.expiryWarningDays.max() ?? 0))
        add(isNear ? .warning : .ok, subject, "expires \(end)")
    }
}

extension Doctor {
    private static let connectSeconds: Int64 = 5

    /// Connects to the hosts that the credentials need, and sends nothing. Where no credential is known it tries all,
    /// and none of them has failed for being out of reach.
    package func reach(_ diagnosis: inout Diagnosis) async {
        let known = diagnosis.credentials ?? []
        let hosts = ProviderHost.all(configuration).filter { host in
            known.isEmpty || known.contains(where: host.isNeeded)
        }
        let failures = await withTaskGroup(of: (Int, String?).self) { group in
            for (index, host) in hosts.enumerated() { group.addTask { (index, await Self.failure(of: host)) } }
            return await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        for (index, host) in hosts.enumerated() {
            let subject = "\(host.provider.rawValue) at \(host.host):\(host.port)"
            if let failure = failures[index] {
                diagnosis.add(known.isEmpty ? .warning : .failed, subject, "cannot be reached: \(failure)")
            } else {
                diagnosis.add(.ok, subject, "takes connections")
            }
        }
    }

    /// Why no connection comes about; nil when one does.
    private static func failure(of host: ProviderHost) async -> String? {
        do {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(connectSeconds)).connect(host: host.host, port: host.port).get()
            try await channel.close()
            return nil
        } catch {
            return "\(error)"
        }
    }
}

/// A host of a push network that a server must reach.
struct ProviderHost: Sendable {
    let provider: ProviderName
    /// Only APNs has one for each.
    let environment: Environment?
    /// The kind of credential that needs it; nil = every kind.
    let kind: String?
    let host: String
    let port: Int

    /// nil for a URL without a host.
    private init?(_ provider: ProviderName, _ url: String, environment: Environment? = nil, kind: String? = nil) {
        // Where a tenant's id stands in a URL it is not the host.
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

    /// Those whose address is known before a device is: channels and subscriptions bring their own.
    static func all(_ configuration: ServerConfiguration) -> [ProviderHost] {
        let google = "https://fcm.googleapis.com"
        let fcm = configuration.value(of: .fcmURL) ?? google
        return [
            ProviderHost(.apns, configuration.value(of: .apnsProductionURL) ?? "", environment: .production),
            ProviderHost(.apns, configuration.value(of: .apnsSandboxURL) ?? "", environment: .sandbox),
            ProviderHost(.fcm, fcm),
            // Where service accounts get their access tokens; who aims FCM elsewhere has accounts of their own.
            fcm.hasPrefix(google) ? ProviderHost(.fcm, "https://oauth2.googleapis.com") : nil,
            ProviderHost(.wns, configuration.value(of: .wnsTokenURL) ?? "https://login.live.com", kind: "package"),
            ProviderHost(
                .wns, configuration.value(of: .wnsTenantTokenURL) ?? "https://login.microsoftonline.com",
                kind: "tenant"),
        ].compactMap { $0 }
    }
}
