import Logging
import PealCore
import PealStore
import PealTesting
import Synchronization
import Testing

@testable import PealDelivery

/// Keeps what is logged at `warning` and above.
private final class LogLines: Sendable {
    let lines = Mutex<[String]>([])

    struct Handler: LogHandler {
        let kept: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.warning

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(
            level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
            function: String, line: UInt
        ) {
            let days = metadata?["days_left"].map { "\($0)" } ?? ""
            kept.lines.withLock { $0.append("\(level) \(message) \(days)") }
        }
    }

    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }
}

@Suite("Credentials that end")
struct CredentialWatchTests {
    static let day = Duration.seconds(24 * 3600)

    @Test(
        "are warned of 30, 14 and 7 days ahead, and when they have ended",
        arguments: [
            (31, nil), (30, 0), (15, 0), (14, 1), (8, 1), (7, 2), (1, 2), (0, 3), (-5, 3),
        ] as [(Int64, Int?)])
    func stages(days: Int64, stage: Int?) {
        let now = Timestamp(seconds: 1_800_000_000)
        #expect(CredentialWatch.stage(of: now + .seconds(days * 24 * 3600), now: now) == stage)
        #expect(CredentialWatch.stage(of: now + .seconds(days * 24 * 3600 + 1), now: now) != 3 || days < 0)
    }

    private func put(_ bench: Bench, endsIn days: Int64, bundleID: String = "com.example.app") async throws {
        let credential = Credential.apnsCertificate(
            .init(identity: .init(certificates: "c", privateKey: "k"), bundleID: bundleID))
        let end = bench.now + .seconds(days * 24 * 3600)
        try await bench.store.write(.control) { [bench] in
            _ = try $0.putCredential(
                CredentialExamination(credential: credential, facts: .init(), expiresAt: end), app: bench.app,
                provider: .apns, environment: .production, now: bench.now)
        }
    }

    @Test("each warning comes once, and a renewed credential begins anew")
    func once() async throws {
        let bench = try await Bench(hasCredential: false)
        let log = LogLines()
        let context = DeliveryContext(
            store: bench.store, providers: [:], time: bench.time, randomness: bench.randomness,
            logger: Logger(label: "test") { _ in LogLines.Handler(kept: log) }, options: .init())
        let watch = CredentialWatch(context: context)
        var warned: [CredentialWatch.Place: Int] = [:]
        try await put(bench, endsIn: 40)
        var found: [String] = []
        for _ in 0..<45 {
            for _ in 0..<3 { await watch.look(&warned) }
            found += log.take()
            bench.time.advance(by: Self.day)
        }
        #expect(
            found == [
                "warning a credential ends soon 30", "warning a credential ends soon 14",
                "warning a credential ends soon 7", "error a credential has ended: nothing is sent under it 0",
            ])
        #expect(context.metrics.snapshot.credentialsEnded == 1)
        try await put(bench, endsIn: 10, bundleID: "com.example.renewed")
        await watch.look(&warned)
        #expect(log.take() == ["warning a credential ends soon 10"])
        #expect(context.metrics.snapshot.credentialsEnding == 1)
        #expect(context.metrics.snapshot.credentialsEnded == 0)
    }
}
