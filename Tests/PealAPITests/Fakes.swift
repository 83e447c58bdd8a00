import PealAPI
import PealCore
import Synchronization

/// Records the calls of the verbs to the engine.
final class RecordingEngine: DeliveryEngine {
    struct Record {
        var taken: [Slice] = []
        var wakes = 0
        var interrupted: [MessageID] = []
        var credentialChanges: [String] = []
    }

    let record = Mutex(Record())
    let leaseOffer: LeaseOffer? = LeaseOffer(
        owner: "test", interruptions: 0, leaseUntil: Timestamp(milliseconds: 4_000_000_000_000), madeAt: .zero)

    func take(_ slices: [Slice], of job: DeliveryJob, under offer: LeaseOffer) {
        record.withLock { $0.taken += slices }
    }
    func wake() { record.withLock { $0.wakes += 1 } }
    func interrupt(_ message: MessageID) { record.withLock { $0.interrupted.append(message) } }
    func credentialsChanged(app: AppKey, provider: ProviderName, environment: Environment) {
        record.withLock { $0.credentialChanges.append("\(provider.rawValue) \(environment.rawValue)") }
    }
}

/// Ready, or failing as set.
struct FakeOperations: Operations {
    var failure: String?
    var stopped: [(app: AppID, record: CredentialRecord)] = []

    func readiness() async -> [(subsystem: String, failure: String?)] { [("store", failure), ("workers", nil)] }
    func stoppedApps() async -> Int { 2 }
    func stoppedCredentials() async -> [(app: AppID, record: CredentialRecord)] { stopped }
    func metrics() async -> String { "peal_up 1\n" }
}

/// Distinguishes secrets, and nothing more.
struct FakeHasher: KeyHasher {
    func hash(_ secret: String) -> [UInt8] {
        var words: [UInt64] = [0xCBF2_9CE4_8422_2325, 1, 2, 3]
        for index in words.indices {
            for byte in secret.utf8 { words[index] = (words[index] ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }
}
