import PealCore
import PealStore
import PealTesting
import Testing

@Suite("Stored credentials")
struct CredentialTests {
    private static let identity = Credential.TLSIdentity(certificates: "-----BEGIN C", privateKey: "-----BEGIN K")
    private static let at = Timestamp(milliseconds: 1_795_219_200_123)

    /// Every form, under the provider that has it.
    static let forms: [(ProviderName, Credential)] = [
        (.apns, .apnsToken(.init(keyID: "K", teamID: "T", privateKey: "-----BEGIN\nx", bundleID: "b"))),
        (.apns, .apnsCertificate(.init(identity: identity, bundleID: "b"))),
        (.apns, .apnsCertificate(.init(identity: identity, bundleID: "b", isFromArchive: true))),
        (
            .fcm,
            .fcm(
                .init(projectID: "p", clientEmail: "a@b", privateKeyID: "i", privateKey: "-----BEGIN", tokenURI: "u"))
        ),
        (
            .fcm,
            .fcm(
                .init(projectID: "p", clientEmail: "a@b", privateKeyID: nil, privateKey: "-----BEGIN", tokenURI: "u"))
        ),
        (.wns, .wns(.storeApp(packageSID: "ms-app://S-1-15", clientSecret: "s\"ä"))),
        (.wns, .wns(.tenant(tenantID: "t", clientID: "c", clientSecret: "s"))),
        (.mpns, .mpns(.init(identity: nil))), (.mpns, .mpns(.init(identity: identity))),
        (
            .webpush,
            .webPush([
                .init(subject: "mailto:a@b", privateKey: "x", publicKey: "y", createdAt: at),
                .init(subject: "https://b", privateKey: "z", publicKey: "w", createdAt: at + .seconds(1)),
            ])
        ),
    ]

    @Test("of every form come back as they were, with their kind", arguments: StoreUnderTest.allCases)
    func forms(_ engine: StoreUnderTest) async throws {
        let fixture = try await Fixture(engine)
        let (app, now) = (fixture.app, fixture.now)
        for (provider, credential) in Self.forms {
            let record = try await fixture.store.write(.control) { store in
                let facts = JSON.Members([("a", ["b": .number("1.0")])])
                return try store.putCredential(
                    CredentialExamination(credential: credential, facts: facts),
                    at: CredentialSlot(app: app, provider: provider, environment: .production), now: now)
            }
            let kept = try await fixture.store.read { store in
                try store.credential(at: CredentialSlot(app: app, provider: provider, environment: .production))
            }
            #expect(kept?.credential == credential)
            #expect(kept?.record == record)
            #expect(record.kind == credential.kind)
        }
        #expect(try await fixture.store.read { try $0.credentialRecords(app: app).count } == 5)
    }

    @Test("of all apps are listed: expiring ones with the earliest first, stopped ones with the latest")
    func listed() async throws {
        let fixture = try await Fixture(.sqlite)
        let other = try await fixture.test.makeApp("Other", randomness: .init(seed: 9))
        let (first, now) = (fixture.app, fixture.now)
        let ends: [(AppKey, ProviderName, Int64?)] = [
            (first, .apns, 30), (other.key, .apns, 10), (first, .mpns, 20), (first, .fcm, nil),
        ]
        try await fixture.store.write(.control) { store in
            for (app, provider, days) in ends {
                let examination = CredentialExamination(
                    credential: .mpns(.init(identity: nil)), facts: .init(),
                    expiresAt: days.map { now + .seconds($0 * 86_400) })
                _ = try store.putCredential(
                    examination, at: CredentialSlot(app: app, provider: provider, environment: .production), now: now)
            }
            for (app, provider, seconds) in [(first, ProviderName.fcm, 1), (other.key, .apns, 2)] {
                try store.setHealth(
                    .stopped(at: now + .seconds(seconds), reason: "r"),
                    at: CredentialSlot(app: app, provider: provider, environment: .production))
            }
            try store.setHealth(.ok(at: now), at: CredentialSlot(app: first, provider: .mpns, environment: .production))
        }
        let ending = try await fixture.store.read { try $0.endingCredentials(limit: 9) }
        #expect(ending.map(\.record.provider) == [.apns, .mpns, .apns])
        #expect(ending.first?.app == other.id)
        #expect(try await fixture.store.read { try $0.endingCredentials(limit: 1).count } == 1)
        let stopped = try await fixture.store.read { try $0.stoppedCredentials(limit: 9) }
        #expect(stopped.map(\.record.provider) == [.apns, .fcm])
        #expect(stopped.first?.app == other.id)
    }
}
