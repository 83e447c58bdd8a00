import PealAPI
import PealCore
import Synchronization

/// Records what the verbs tell the engine.
final class RecordingEngine: DeliveryEngine {
    struct Record {
        var taken: [Slice] = []
        var wakes = 0
        var interrupted: [MessageID] = []
        var credentialChanges: [String] = []
    }

    let record = Mutex(Record())
    let owner = "test"

    func take(_ slices: [Slice]) { record.withLock { $0.taken += slices } }
    func wake() { record.withLock { $0.wakes += 1 } }
    func interrupt(_ message: MessageID) { record.withLock { $0.interrupted.append(message) } }
    func credentialsChanged(app: AppKey, provider: ProviderName, environment: Environment) {
        record.withLock { $0.credentialChanges.append("\(provider.rawValue) \(environment.rawValue)") }
    }
}

/// Renders every message as its title, body and own payload, and refuses what is larger than APNs takes.
final class FakeProvider: Provider {
    let name = ProviderName.apns
    let drained = Mutex<[String]>([])

    func render(_ order: RenderOrder) throws(PealError) -> Notification {
        var members = JSON.Members()
        for (name, text) in [("title", order.content.title), ("body", order.content.body)] {
            members[name] = text?.text(for: order.locale, fallback: order.content.defaultLocale).map(JSON.string)
        }
        members["payload"] = order.content.platforms[.ios]?.fields["payload"]
        let body = JSON.object(members).bytes
        guard body.count <= Limits.apnsPayloadBytesMax else {
            throw PealError(.payloadTooLarge, "too large", field: "content.body")
        }
        return Notification(
            route: order.route, path: .init(Array("/3/device/".utf8), gap: .addressHex),
            headers: [
                .init("apns-topic", order.providerAppID), .init("apns-expiration", String(order.expiresAt.seconds)),
            ],
            body: .init(body))
    }

    func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        guard case .apnsToken(let signing) = credential, signing.privateKey.hasPrefix("-----BEGIN") else {
            throw .invalid("private_key", "must be PEM")
        }
        let facts = JSON.Members([
            ("key_id", .string(signing.keyID)), ("team_id", .string(signing.teamID)),
            ("bundle_id", .string(signing.bundleID)),
        ])
        return CredentialExamination(credential: credential, facts: facts)
    }

    func verify(
        _ credential: Credential, fingerprint: String, environment: Environment
    ) async -> CredentialVerification {
        CredentialVerification(.accepted, status: 400, reason: "BadDeviceToken", detail: "the credential is good")
    }

    func send(_ order: PageOrder) { order.flight.answerRest(.accepted) }
    func drain(fingerprint: String) { drained.withLock { $0.append(fingerprint) } }
    func close() async {}
}

/// Ready, or failing as told.
struct FakeOperations: Operations {
    var failure: String?

    func readiness() async -> [(subsystem: String, failure: String?)] { [("store", failure), ("workers", nil)] }
    func stoppedApps() async -> Int { 2 }
    func metrics() async -> String { "peal_up 1\n" }
}

/// Tells secrets apart, and nothing more.
struct FakeHasher: KeyHasher {
    func hash(_ secret: String) -> [UInt8] {
        var words: [UInt64] = [0xCBF2_9CE4_8422_2325, 1, 2, 3]
        for index in words.indices {
            for byte in secret.utf8 { words[index] = (words[index] ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }
}
