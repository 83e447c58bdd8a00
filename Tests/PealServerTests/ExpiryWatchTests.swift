import Logging
import PealCore
import PealTesting
import Synchronization
import Testing

@testable import PealServer

@Suite("The watch over ends")
struct ExpiryWatchTests {
    /// Keeps what is logged.
    private struct Recorder: LogHandler {
        final class Lines: Sendable {
            let all = Mutex<[String]>([])
        }

        let lines: Lines
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let provider = event.metadata?["provider"].map { " \($0)" } ?? ""
            lines.all.withLock { $0.append("\(event.level.rawValue): \(event.message)\(provider)") }
        }
    }

    @Test("says once a day what ends within thirty days, and what has ended")
    func days() async throws {
        let time = ManualTime()
        let file = try await StoreUnderTest.sqlite.open()
        let app = try await file.makeApp()
        let store: any Store = file.store
        let now = time.now
        let ends: [(ProviderName, Int64)] = [(.apns, 31), (.mpns, 1)]
        try await store.write(.control) { store in
            for (provider, days) in ends {
                let examination = CredentialExamination(
                    credential: .mpns(.init(identity: nil)), facts: .init(),
                    expiresAt: now + .seconds(days * 86_400 - 60))
                _ = try store.putCredential(
                    examination, app: app.key, provider: provider, environment: .production, now: now)
            }
        }
        let lines = Recorder.Lines()
        let logger = Logger(label: "test") { _ in Recorder(lines: lines) }
        let watch = Task { try await ExpiryWatch(store: store, time: time, logger: logger).run() }
        var seen: [[String]] = []
        for _ in 0..<3 {
            await time.sleepers(1)
            seen.append(
                lines.all.withLock { lines in
                    defer { lines = [] }
                    return lines
                })
            time.advance(by: .seconds(86_400))
        }
        watch.cancel()
        try await watch.value
        #expect(
            seen == [
                ["warning: a credential expires in less than a day mpns"],
                ["error: a credential expired mpns", "warning: a credential expires in 29 days apns"],
                ["error: a credential expired mpns", "warning: a credential expires in 28 days apns"],
            ])
    }

    @Test("metrics tell ends and stops by the app's id, and no reason")
    func metrics() async throws {
        let file = try await StoreUnderTest.sqlite.open()
        let app = try await file.makeApp("Secret name")
        let store: any Store = file.store
        let end = Timestamp(seconds: 1_800_000_000)
        try await store.write(.control) { store in
            let examination = CredentialExamination(
                credential: .mpns(.init(identity: nil)), facts: .init(), expiresAt: end)
            _ = try store.putCredential(
                examination, app: app.key, provider: .mpns, environment: .production, now: Timestamp(seconds: 0))
            try store.setHealth(
                .stopped(at: end, reason: "Forbidden"), app: app.key, provider: .mpns, environment: .production)
        }
        let text = try await store.read { try CredentialMetrics($0).text }
        let labels = "{app=\"\(app.id)\",provider=\"mpns\",environment=\"production\"}"
        #expect(text.contains("\npeal_credential_expires_at_seconds\(labels) 1800000000\n"))
        #expect(text.contains("\npeal_credential_stopped\(labels) 1\n"))
        #expect(!text.contains("Forbidden") && !text.contains("Secret"))
    }
}
