import PealAPI
import PealCore
import PealTesting
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
    func credentialsChanged(at slot: CredentialSlot) {
        record.withLock { $0.credentialChanges.append("\(slot)") }
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

/// A store that counts heavy reads, shows whether a write is under way, and refuses as many background writes as a test specifies.
final class ObservedStore: WrappingStore {
    private struct State {
        var heavyReads = 0
        var refusals = 0
        var writes = 0
    }

    let store: any Store
    private let state = Mutex(State())

    init(_ store: any Store) { self.store = store }

    var heavyReads: Int { state.withLock { $0.heavyReads } }
    var isWriting: Bool { state.withLock { $0.writes > 0 } }
    func refuseBackgroundWrites(_ count: Int) { state.withLock { $0.refusals = count } }

    func read<R: Sendable>(
        _ lane: ReadLane, _ body: @escaping @Sendable (any StoreReading) throws -> R
    ) async throws -> R {
        if lane == .heavy {
            state.withLock { $0.heavyReads += 1 }
            // As long as a large app's would take.
            try await Task.sleep(for: .milliseconds(50))
        }
        return try await store.read(lane, body)
    }

    func write<R: Sendable>(
        _ lane: WriteLane, _ body: @escaping @Sendable (any StoreWriting) throws -> R
    ) async throws -> R {
        let isRefused = state.withLock { state in
            guard lane == .rest, state.refusals > 0 else { return false }
            state.refusals -= 1
            return true
        }
        if isRefused { throw PealError(.unavailable, "the disk is full") }
        return try await store.write(lane) { [self] writer in
            state.withLock { $0.writes += 1 }
            defer { state.withLock { $0.writes -= 1 } }
            return try body(writer)
        }
    }
}
