import Crypto
import Foundation
import SwiftASN1

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
    private let signingKey: P256.Signing.PrivateKey

    init(_ parts: SharedParts) throws {
        self.parts = parts
        let kept = parts.kept(.apnsKey).flatMap { try? P256.Signing.PrivateKey(pemRepresentation: $0) }
        signingKey = kept ?? P256.Signing.PrivateKey()
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

    /// The client certificate of an earlier run with the same authority, and its key.
    private func keptClient() -> (certificatePEM: String, keyPEM: String)? {
        guard let certificate = parts.kept(.apnsCertificate), let key = parts.kept(.apnsCertificateKey),
            let document = try? PEMDocument(pemString: certificate),
            case .good = parts.certificates.standing(
                of: document.derBytes, nowSeconds: Int64(Date().timeIntervalSince1970))
        else { return nil }
        let lines = { (text: String) in text.trimmingCharacters(in: .whitespacesAndNewlines) }
        return (lines(certificate), lines(key))
    }

    func publish(at description: SimulatorDescription) async throws -> [(String, String)] {
        let folder = description.folder
        let client = try keptClient() ?? parts.authority.clientIdentity(bundleID: Self.bundleID, now: Date())
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

/// APNs, on one of its two listeners.
struct APNsService: PushService {
    let provider = PushProvider.apns
    let environment: PushEnvironment
    let device: APNsJudge
    let broadcast: BroadcastJudge
    let policy: APNsConnectionPolicy
    let ids: IDSource

    /// APNs' answer to an expired provider token.
    static let expired = FaultAnswer(status: 403, reason: APNsReason.expiredProviderToken.rawValue)

    /// One stream until the first authenticated request.
    var streamsAtFirst: Int { 1 }

    var expired: FaultAnswer { Self.expired }

    func judge(_ request: PushRequest, memory: inout ConnectionMemory, milliseconds: Int64) -> Judgement {
        let now = milliseconds / 1_000
        if BroadcastJudge.concerns(request) {
            let id = BroadcastJudge.requestID(request) ?? ids.uuid()
            return outcome(of: request, id: id, milliseconds) { () throws(APNsReason) in
                (try broadcast.judge(request, memory: &memory, nowSeconds: now), memory.warning)
            }
        }
        let id = request.value("apns-id").flatMap { APNsJudge.isUUID($0) ? $0 : nil } ?? ids.uuid()
        return outcome(of: request, id: id, milliseconds) { () throws(APNsReason) in
            switch device.judge(request, memory: &memory, nowSeconds: now) {
            case .accepted(let device): return (device, memory.warning)
            case .refused(let reason): throw reason
            }
        }
    }

    func answer(_ fault: FaultAnswer, to acceptance: Acceptance) -> HTTPAnswer {
        answer(fault.status, reason: fault.reason, timestamp: fault.timestamp, headers: acceptance.answer.headers)
    }

    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory) {
        policy.conclude(&reply, refusal: refusal, memory: &memory)
    }

    private func outcome(
        of request: PushRequest, id: String, _ milliseconds: Int64,
        _ check: () throws(APNsReason) -> (device: String, warning: String?)
    ) -> Judgement {
        let isBroadcast = BroadcastJudge.concerns(request)
        var headers = [(name: isBroadcast ? "apns-request-id" : "apns-id", value: id)]
        if environment == .sandbox { headers.append(("apns-unique-id", ids.uuid())) }
        do throws(APNsReason) {
            let (device, warning) = try check()
            let item = InboxItem(
                at: milliseconds, provider: provider, environment: environment, device: device, id: id,
                headersJSON: InboxItem.headersJSON(request.headers), payload: request.body, isBroadcast: isBroadcast,
                warning: warning)
            return .accepted(
                Acceptance(
                    device: device, id: id, answer: HTTPAnswer(200, headers: headers),
                    credential: request.credentials("bearer").map { Fingerprint.of($0, isFoldingCase: false) },
                    item: item))
        } catch {
            return .refused(
                reason: error.rawValue, answer(error.status, reason: error.rawValue, headers: headers))
        }
    }

    private func answer(
        _ status: Int, reason: String, timestamp: Int64? = nil, headers: [(name: String, value: String)]
    ) -> HTTPAnswer {
        guard status != 200 else { return HTTPAnswer(200, headers: headers) }
        return .json(status, APNsReason.json(reason, timestamp), headers: headers)
    }
}

/// How APNs treats a connection: it allows more streams after a valid provider token, fewer after a refusal (as it once
/// did), and closes the connection after too many errors.
struct APNsConnectionPolicy: Sendable {
    /// Error points that a connection may collect.
    let errorsPerConnectionMax: Int
    /// Whether a refusal lowers the stream limit to 1 until the next success.
    let slowsDownAfterRefusal: Bool

    /// Updates the connection after a reply. `refusal` is the reason if it is a refusal.
    func conclude(_ reply: inout ConnectionReply, refusal: String?, memory: inout ConnectionMemory) {
        guard case .answer(let answer) = reply.action else { return }
        openStreams(answer, &reply, &memory)
        // 410 is not the sender's error, and neither are errors of APNs itself.
        guard (400..<500).contains(answer.status), answer.status != 410 else { return }
        memory.errorPoints += refusal == APNsReason.badDeviceToken.rawValue ? 2 : 1
        if memory.errorPoints > errorsPerConnectionMax { reply.isLast = true }
    }

    /// Raises the stream limit after the first valid provider token, and after a success that follows a slowdown.
    private func openStreams(_ answer: HTTPAnswer, _ reply: inout ConnectionReply, _ memory: inout ConnectionMemory) {
        let isFirst = memory.isAuthenticated && !memory.isOpened
        if isFirst { memory.isOpened = true }
        if slowsDownAfterRefusal, (400..<500).contains(answer.status), answer.status != 410 {
            memory.isSlowedDown = true
            if !isFirst { reply.laterStreamLimit = 1 }
        } else if isFirst || memory.isSlowedDown && answer.status == 200 {
            memory.isSlowedDown = false
            if reply.streamLimit == nil { reply.laterStreamLimit = SimulatorLimits.streamsMax }
        }
    }
}

/// APNs in the fast mode: the device is in the path, and a success has no body.
struct FastAPNs: FastService {
    let expired = APNsService.expired
    let tooLarge = FaultAnswer(status: 413, reason: APNsReason.payloadTooLarge.rawValue)
    let successBody: [UInt8] = []

    func accessToken(path: UnsafeRawBufferPointer) -> [UInt8]? { nil }

    func device(
        path: UnsafeRawBufferPointer, _ fingerprint: UInt64, _ body: UnsafeRawBufferPointer
    ) -> (UnsafeRawBufferPointer, UInt64) {
        (path, fingerprint)
    }

    func writeSuccess(id: UnsafeRawBufferPointer, stream: UInt32, _ writer: inout FastWriter) {
        writer.answer(200, apnsID: id, stream: stream, isLast: true)
    }

    func answer(_ fault: FaultAnswer, id: UnsafeRawBufferPointer) -> HTTPAnswer {
        var answer = HTTPAnswer.json(fault.status, APNsReason.json(fault.reason, fault.timestamp))
        answer.headers = [("apns-id", String(decoding: id, as: UTF8.self))]
        return answer
    }
}
