import Foundation

/// The directory in which a simulator tells its clients where it is, whom to trust and who they are.
struct SimulatorFolder {
    /// The files in it.
    enum File: String {
        case authority = "ca.pem"
        case apnsKey = "apns-key.p8"
        case certificate = "apns-certificate.pem"
        case certificateKey = "apns-certificate-key.pem"
        case p12 = "apns-certificate.p12"
        case serviceAccount = "fcm-service-account.json"
        case description = "simulator.json"

        /// Readable by the owner only.
        var isSecret: Bool {
            switch self {
            case .authority, .certificate, .description: false
            case .apnsKey, .certificateKey, .p12, .serviceAccount: true
            }
        }
    }

    /// It keeps nothing secret: everybody who can read the file can read this too.
    static let p12Passphrase = "peal-simulator"

    private let url: URL

    /// Makes the directory `path` when it is missing, and takes away the `simulator.json` of an earlier run.
    init(_ path: String) throws {
        url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            for file in [File.description, .p12] {
                try? FileManager.default.removeItem(at: url.appendingPathComponent(file.rawValue))
            }
        } catch {
            throw SimulatorError("directory: cannot make \(path): \(error.localizedDescription)")
        }
    }

    /// The absolute path of `file`.
    func path(_ file: File) -> String { url.appendingPathComponent(file.rawValue).path }

    /// Writes `text` to `file` in one step.
    func write(_ text: String, to file: File) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(file)), options: .atomic)
        if file.isSecret { try protect(file) }
    }

    private func protect(_ file: File) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(file))
    }

    /// Puts certificate and key, which are written already, into one file of PKCS#12. Says whether it could: it takes
    /// the `openssl` program.
    func writeP12() async -> Bool {
        let arguments = [
            "openssl", "pkcs12", "-export", "-in", path(.certificate), "-inkey", path(.certificateKey), "-out",
            path(.p12), "-passout", "pass:\(Self.p12Passphrase)", "-name", "Apple Push Services",
        ]
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let status = await withCheckedContinuation { (continuation: CheckedContinuation<Int32, Never>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(returning: -1)
            }
        }
        return status == 0 && (try? protect(.p12)) != nil
    }
}

/// What a client must know of a running simulator: the content of `simulator.json`.
package struct SimulatorDescription: Sendable {
    /// The provider key that every simulator knows from the start.
    package static let keyID = "SIMKEY0001"
    package static let teamID = "SIMTEAM001"
    package static let bundleID = "com.example.demo"
    /// The project of FCM.
    package static let projectID = "peal-demo"

    private let host: String
    private let ports: [ListenerName: Int]
    private let folder: SimulatorFolder
    /// Whether the client certificate is there in PKCS#12 too.
    private let hasP12: Bool
    package let mode: SimulatorMode
    /// The credentials of WNS.
    package let microsoftAccount: MicrosoftAccount

    init(
        host: String, ports: [ListenerName: Int], mode: SimulatorMode, folder: SimulatorFolder,
        microsoftAccount: MicrosoftAccount, hasP12: Bool
    ) {
        self.host = host.contains(":") ? "[\(host)]" : host == "0.0.0.0" ? "127.0.0.1" : host
        self.ports = ports
        self.mode = mode
        self.folder = folder
        self.microsoftAccount = microsoftAccount
        self.hasP12 = hasP12
    }

    /// `https://HOST:PORT` of each network, `http://HOST:PORT` of MPNS and of the control interface.
    package var apnsURL: String { url(.apns) }
    package var apnsSandboxURL: String { url(.sandbox) }
    package var apnsManagementURL: String { url(.management) }
    package var apnsSandboxManagementURL: String { url(.sandboxManagement) }
    package var fcmURL: String { url(.fcm) }
    package var wnsURL: String { url(.wns) }
    package var mpnsURL: String { url(.mpns) }
    package var mpnsSecureURL: String { url(.mpnsSecure) }
    package var webPushURL: String { url(.webPush) }
    package var controlURL: String { url(.control) }

    /// The TCP ports of some of the same.
    package var apnsPort: Int { ports[.apns] ?? 0 }
    package var sandboxPort: Int { ports[.sandbox] ?? 0 }
    package var controlPort: Int { ports[.control] ?? 0 }

    /// Absolute paths.
    package var authorityFile: String { folder.path(.authority) }
    package var privateKeyFile: String { folder.path(.apnsKey) }
    package var certificateFile: String { folder.path(.certificate) }
    package var certificateKeyFile: String { folder.path(.certificateKey) }
    package var serviceAccountFile: String { folder.path(.serviceAccount) }

    /// Where FCM and WNS give access tokens.
    package var fcmTokenURL: String { fcmURL + "/token" }
    package var wnsTokenURL: String { wnsURL + "/accesstoken.srf" }
    package var wnsTenantTokenURL: String { "\(wnsURL)/\(microsoftAccount.tenantID)/oauth2/v2.0/token" }

    private func url(_ name: ListenerName) -> String {
        let scheme = name == .mpns || name == .control ? "http" : "https"
        return "\(scheme)://\(host):\(ports[name] ?? 0)"
    }

    /// The text of `simulator.json`.
    package var json: String {
        let members = [
            ("apns_url", apnsURL), ("apns_sandbox_url", apnsSandboxURL),
            ("apns_management_url", apnsManagementURL),
            ("apns_sandbox_management_url", apnsSandboxManagementURL), ("fcm_url", fcmURL), ("wns_url", wnsURL),
            ("mpns_url", mpnsURL), ("mpns_secure_url", mpnsSecureURL), ("webpush_url", webPushURL),
            ("control_url", controlURL), ("ca_file", authorityFile), ("mode", mode.rawValue),
        ]
        let networks = [("apns", Self.object(apns)), ("fcm", Self.object(fcm)), ("wns", Self.object(wns))]
        return JSONText.object(members.map { ($0.0, JSONText.quoted($0.1)) } + networks) + "\n"
    }

    private static func object(_ members: [(String, String)]) -> String {
        JSONText.object(members.map { ($0.0, JSONText.quoted($0.1)) })
    }

    private var apns: [(String, String)] {
        var members = [
            ("key_id", Self.keyID), ("team_id", Self.teamID), ("bundle_id", Self.bundleID),
            ("private_key_file", privateKeyFile), ("certificate_file", certificateFile),
            ("certificate_key_file", certificateKeyFile),
        ]
        if hasP12 {
            members += [("p12_file", folder.path(.p12)), ("p12_passphrase", SimulatorFolder.p12Passphrase)]
        }
        return members
    }

    private var fcm: [(String, String)] {
        [("project_id", Self.projectID), ("service_account_file", serviceAccountFile), ("token_url", fcmTokenURL)]
    }

    private var wns: [(String, String)] {
        [
            ("package_sid", microsoftAccount.packageSID), ("client_secret", microsoftAccount.clientSecret),
            ("token_url", wnsTokenURL), ("tenant_id", microsoftAccount.tenantID),
            ("client_id", microsoftAccount.clientID),
            ("tenant_client_secret", microsoftAccount.tenantClientSecret), ("tenant_token_url", wnsTenantTokenURL),
        ]
    }
}
