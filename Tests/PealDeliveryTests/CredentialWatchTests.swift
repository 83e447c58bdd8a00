import Logging
import PealCore
import PealStore
import PealTesting
import Testing

@testable import PealDelivery

@Suite("Credentials that expire")
struct CredentialWatchTests {
    static let day = Duration.seconds(24 * 3600)

    @Test(
        "are warned of 30, 14 and 7 days ahead, and when they have expired",
        arguments: [
            (31, nil), (30, 0), (15, 0), (14, 1), (8, 1), (7, 2), (1, 2), (0, 3), (-5, 3),
        ] as [(Int64, Int?)])
    func stages(days: Int64, stage: Int?) {
        let now = Timestamp(seconds: 1_800_000_000)
        #expect(CredentialWatch.stage(of: now + .seconds(days * 24 * 3600), now: now) == stage)
        let isExpiredASecondLater = CredentialWatch.stage(of: now + .seconds(days * 24 * 3600 + 1), now: now) == 3
        #expect(isExpiredASecondLater == (days < 0))
    }

    private func put(_ fixture: DeliveryFixture, endsIn days: Int64, bundleID: String = "com.example.app") async throws
    {
        let credential = Credential.apnsCertificate(
            .init(identity: .init(certificates: "c", privateKey: "k"), bundleID: bundleID))
        let end = fixture.now + .seconds(days * 24 * 3600)
        try await fixture.store.write(.control) { [fixture] in
            _ = try $0.putCredential(
                CredentialExamination(credential: credential, facts: .init(), expiresAt: end),
                at: fixture.slot, now: fixture.now)
        }
    }

    private static func taken(from log: RecordedLog) -> [String] {
        log.take().map { entry in
            let days = entry.metadata["days_left"].map { "\($0)" } ?? ""
            return "\(entry.level) \(entry.message) \(days)"
        }
    }

    @Test("each warning comes once, and a renewed credential gets its own")
    func once() async throws {
        let fixture = try await DeliveryFixture(hasCredential: false)
        let log = RecordedLog()
        let context = DeliveryContext(
            store: fixture.store, providers: [:], time: fixture.time, randomness: fixture.randomness,
            logger: log.logger(.warning), options: .init())
        let watch = CredentialWatch(context: context)
        var warned: [CredentialWatch.Subject: Int] = [:]
        try await put(fixture, endsIn: 40)
        var found: [String] = []
        for _ in 0..<45 {
            for _ in 0..<3 { await watch.look(&warned) }
            found += Self.taken(from: log)
            fixture.time.advance(by: Self.day)
        }
        #expect(
            found == [
                "warning a credential expires soon 30", "warning a credential expires soon 14",
                "warning a credential expires soon 7", "error a credential has expired: nothing is sent with it 0",
            ])
        #expect(context.metrics.snapshot.credentialsEnded == 1)
        try await put(fixture, endsIn: 10, bundleID: "com.example.renewed")
        await watch.look(&warned)
        #expect(Self.taken(from: log) == ["warning a credential expires soon 10"])
        #expect(context.metrics.snapshot.credentialsEnding == 1)
        #expect(context.metrics.snapshot.credentialsEnded == 0)
    }
}
