import Crypto
import Foundation

/// APNs: in each environment a listener for notifications and one that manages broadcast channels.
struct SimulatedAPNs: SimulatedNetwork {
    static let name = "apns"
    static let ignoresDeviceCase = true
    static let idMember: String? = "apns_id"
    /// The provider key that every simulator knows from the start.
    static let keyID = "SIMKEY0001"
    static let teamID = "SIMTEAM001"
    static let bundleID = "com.example.demo"

    let keys = ProviderKeys()
    let marks = DeviceMarks()
    let channels = BroadcastChannels()
    private let parts: SharedParts
    private let signingKey = P256.Signing.PrivateKey()

    init(_ parts: SharedParts) throws {
        self.parts = parts
        try keys.set(
            ProviderKey(
                teamID: Self.teamID, publicKeyPEM: signingKey.publicKey.pemRepresentation,
                bundleIDs: [Self.bundleID]),
            id: Self.keyID)
    }

    var listeners: [Listener] {
        [
            notifications(.apns, .production), notifications(.apnsSandbox, .sandbox),
            management(.apnsManagement, .production), management(.apnsSandboxManagement, .sandbox),
        ]
    }

    private func notifications(_ name: ListenerName, _ environment: PushEnvironment) -> Listener {
        let judge = judge(environment)
        let policy = APNsConnectionPolicy(
            errorsPerConnectionMax: parts.options.errorsPerConnectionMax,
            slowsDownAfterRefusal: parts.options.slowsDownAfterRefusal)
        let service = APNsService(
            environment: environment, device: judge, broadcast: BroadcastJudge(device: judge, channels: channels),
            policy: policy, ids: parts.ids)
        return parts.listener(name, .secureHTTP2, service, asksForCertificate: true, fast: FastAPNs())
    }

    private func management(_ name: ListenerName, _ environment: PushEnvironment) -> Listener {
        let service = ChannelManagement(
            environment: environment, device: judge(environment), channels: channels, ids: parts.ids,
            mode: parts.mode)
        return parts.listener(name, .secureHTTP2, service, asksForCertificate: true)
    }

    private func judge(_ environment: PushEnvironment) -> APNsJudge {
        APNsJudge(
            environment: environment, keys: keys, marks: marks, certificates: parts.certificates,
            expired: parts.faults.expired)
    }

    func publish(at description: SimulatorDescription) async throws -> [(String, String)] {
        let folder = description.folder
        let client = try parts.authority.clientIdentity(bundleID: Self.bundleID, now: Date())
        try folder.write(signingKey.pemRepresentation + "\n", to: .apnsKey)
        try folder.write(client.certificatePEM + "\n", to: .apnsCertificate)
        try folder.write(client.keyPEM + "\n", to: .apnsCertificateKey)
        let members = [
            ("key_id", Self.keyID), ("team_id", Self.teamID), ("bundle_id", Self.bundleID),
            ("private_key_file", folder.path(.apnsKey)), ("certificate_file", folder.path(.apnsCertificate)),
            ("certificate_key_file", folder.path(.apnsCertificateKey)),
        ]
        guard await folder.writeP12(.apnsP12, certificate: .apnsCertificate, key: .apnsCertificateKey) else {
            return members
        }
        return members + [("p12_file", folder.path(.apnsP12)), ("p12_passphrase", SimulatorFolder.p12Passphrase)]
    }
}

extension PushProvider {
    /// Apple Push Notification service.
    package static let apns = PushProvider(SimulatedAPNs.self)
}

extension ListenerName {
    static let apns = ListenerName(member: "apns_url")
    static let apnsSandbox = ListenerName(member: "apns_sandbox_url")
    static let apnsManagement = ListenerName(member: "apns_management_url")
    static let apnsSandboxManagement = ListenerName(member: "apns_sandbox_management_url")
}

extension SimulatorFolder.File {
    static let apnsKey = Self(name: "apns-key.p8", isSecret: true)
    static let apnsCertificate = Self(name: "apns-certificate.pem")
    static let apnsCertificateKey = Self(name: "apns-certificate-key.pem", isSecret: true)
    static let apnsP12 = Self(name: "apns-certificate.p12", isSecret: true)
}

/// `/devices/<device token>` and `/keys/<key id>` of the control interface.
extension SimulatedAPNs {
    func control(_ request: ControlRequest) throws -> HTTPAnswer? {
        guard request.path.count == 2 else { return nil }
        switch request.path[0] {
        case "devices": return try changeMark(request, device: try Self.device(request.path[1]))
        case "keys": return try changeKey(request, id: request.path[1])
        default: return nil
        }
    }

    private static func device(_ text: String) throws -> String {
        guard SimulatorLimits.deviceTokenDigits.contains(text.utf8.count), text.utf8.allSatisfy(Hexadecimal.isDigit)
        else { throw SimulatorError("device: not a device token in hexadecimal digits") }
        return text.lowercased()
    }

    private func changeMark(_ request: ControlRequest, device: String) throws -> HTTPAnswer? {
        switch request.method {
        case "PUT":
            let reader = MemberReader(try request.object(), path: "")
            try reader.allowOnly(["environment", "bundle_id"])
            let mark = DeviceMark(
                environment: try reader.choice("environment", PushEnvironment.self),
                bundleID: try reader.text("bundle_id"))
            try marks.set(mark, for: device)
            return .done
        case "DELETE": return .found(marks.remove(device))
        default: return nil
        }
    }

    private func changeKey(_ request: ControlRequest, id: String) throws -> HTTPAnswer? {
        switch request.method {
        case "PUT":
            let reader = MemberReader(try request.object(), path: "")
            try reader.allowOnly(["team_id", "public_key", "bundle_ids", "environment"])
            guard let teamID = try reader.text("team_id"), !teamID.isEmpty else {
                throw SimulatorError("team_id: missing")
            }
            guard let pem = try reader.text("public_key") else { throw SimulatorError("public_key: missing") }
            guard let bundleIDs = try reader.texts("bundle_ids") else { throw SimulatorError("bundle_ids: missing") }
            let key = try ProviderKey(
                teamID: teamID, publicKeyPEM: pem, bundleIDs: Set(bundleIDs),
                environment: try reader.choice("environment", PushEnvironment.self))
            try keys.set(key, id: id)
            return .done
        case "DELETE": return .found(keys.remove(id: id))
        default: return nil
        }
    }
}
