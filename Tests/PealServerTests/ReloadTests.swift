import PealCore
import PealTesting
import Synchronization
import Testing

@testable import PealServer

@Suite("A provider that is replaced by a reload")
struct ReloadTests {
    /// A push network that remembers among how many servers its limits are divided.
    private final class SharingProvider: Provider {
        let reasons: Set<String> = ["UNREGISTERED"]
        let servers = Mutex<Int?>(nil)

        func render(_ order: RenderOrder) throws(ContentRefusal) -> PealCore.Notification {
            throw .missing(.body, "nothing is rendered here")
        }
        func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
            throw .unsupported("kind")
        }
        func verify(
            _ credential: Credential, fingerprint: String, environment: Environment
        ) async -> CredentialVerification { CredentialVerification(.unverifiable, detail: "") }
        func send(_ order: PageOrder) {}
        func drain(fingerprint: String) {}
        func share(among servers: Int) { self.servers.withLock { $0 = servers } }
        func close() async {}
    }

    @Test("and its successor divide their limits among all servers")
    func sharing() async throws {
        let made = Mutex<[SharingProvider]>([])
        let first = try await ServerConfiguration.load(arguments: [], environment: [:])
        let provider = try ReloadableProvider(.fcm, first) { _ in
            let new = SharingProvider()
            made.withLock { $0.append(new) }
            return new
        }
        provider.share(among: 3)
        #expect(made.withLock { $0[0].servers.withLock { $0 } } == 3)
        #expect(provider.reasons == ["UNREGISTERED"])
        let second = try await ServerConfiguration.load(
            arguments: [], environment: ["PEAL_PROVIDERS_FCM_RATE_PER_SECOND": "100"])
        try provider.reload(second, time: ManualTime())
        let newest = made.withLock { $0.last.map { $0.servers.withLock { $0 } } }
        #expect(made.withLock { $0.count } == 2 && newest == 3)
    }
}
