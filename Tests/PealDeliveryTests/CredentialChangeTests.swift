import PealCore
import PealDelivery
import PealStore
import PealTesting
import Testing

@Suite("A credential that is replaced while a message is sent", .timeLimit(.minutes(10)))
struct CredentialChangeTests {
    /// A message of its own, so that the credential is looked up again.
    private static func sendToThree(_ fixture: DeliveryFixture, _ service: DeliveryService) async throws {
        try await fixture.ended(try await fixture.accept(fixture.draft(.devices(1...3)), engine: service))
    }

    @Test("the rest of a slice is sent under the new one, and each device gets it once")
    func restOfSlice() async throws {
        let fixture = try await DeliveryFixture()
        let old = try await fixture.putCredential().fingerprint
        try await fixture.register(1...6000)
        fixture.provider.hold()
        // One page at a time.
        let service = fixture.service(pagesInFlightMax: 2)
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount > 0 }
            let new = try await fixture.putCredential(keyID: "ZYXWV98765").fingerprint
            service.credentialsChanged(at: fixture.slot)
            #expect(fixture.provider.drained == [old])
            let before = fixture.provider.pages.count
            fixture.provider.release()
            try await fixture.drive(by: .milliseconds(250)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 6000)
            #expect(fixture.provider.repeatCount(id) == 0)
            let later = fixture.provider.pages.dropFirst(before)
            #expect(!later.isEmpty && later.allSatisfy { $0.fingerprint == new })
        }
    }

    @Test("another process's change that was not announced is known once everything is read again")
    func missedAnnouncement() async throws {
        let fixture = try await DeliveryFixture()
        let old = try await fixture.putCredential().fingerprint
        try await fixture.register(1...3)
        let service = fixture.service(isOnlyProcess: false)
        try await fixture.running(service) {
            try await Self.sendToThree(fixture, service)
            let new = try await fixture.putCredential(keyID: "ZYXWV98765").fingerprint
            try await Self.sendToThree(fixture, service)
            #expect(
                fixture.provider.pages.map(\.fingerprint) == [old, old], "what was read recently is kept for seconds")
            service.rereadAll()
            try await Self.sendToThree(fixture, service)
            #expect(fixture.provider.pages.map(\.fingerprint) == [old, old, new])
            #expect(fixture.provider.drained == [old])
        }
    }

    @Test("the connections of the old one close although nobody announced the change")
    func unannounced() async throws {
        let fixture = try await DeliveryFixture()
        let old = try await fixture.putCredential().fingerprint
        try await fixture.register(1...3)
        let service = fixture.service(isOnlyProcess: false)
        try await fixture.running(service) {
            try await Self.sendToThree(fixture, service)
            let new = try await fixture.putCredential(keyID: "ZYXWV98765").fingerprint
            try await fixture.pass(seconds: 6)
            try await Self.sendToThree(fixture, service)
            #expect(fixture.provider.pages.map(\.fingerprint) == [old, new])
            #expect(fixture.provider.drained == [old])
        }
    }

    @Test("answers under the old credential do not stop the new one or retire a device")
    func lateRefusal() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...100)
        fixture.provider.hold()
        let service = fixture.service()
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.all), engine: service)
            try await fixture.eventually { fixture.provider.heldCount > 0 }
            try await fixture.putCredential(keyID: "ZYXWV98765")
            service.credentialsChanged(at: fixture.slot)
            fixture.provider.answers { request in
                guard request.earlier == 0 else { return .accepted }
                return request.key < 50
                    ? .credentialRefused
                    : .verdict(.retireAddress(since: nil, isSuspicious: true), "DeviceTokenNotForTopic", status: 400)
            }
            let start = fixture.now
            fixture.provider.release()
            try await fixture.drive(by: .milliseconds(250)) { try await fixture.state(id) == .sent }
            #expect(try await fixture.counts(id).accepted == 100)
            #expect(try await fixture.health()?.isStopped == false)
            #expect(fixture.now - start < .seconds(5))
            #expect(service.metrics.snapshot.breakerTrips == 0)
        }
    }
    @Test(
        "devices that wait for another attempt get it within seconds of a new or a verified credential",
        arguments: StoreUnderTest.allCases, [false, true])
    func waitingDevices(_ engine: StoreUnderTest, isVerified: Bool) async throws {
        let fixture = try await DeliveryFixture(engine)
        try await fixture.register(1...3)
        fixture.provider.answers { _ in .verdict(.holdAddress(after: .seconds(600)), "Unauthorized", status: 401) }
        let service = fixture.service()
        let verbs = CredentialVerbs(store: fixture.store, engine: service, providers: [.apns: fixture.provider])
        let start = fixture.now
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.devices(1...3)), engine: service)
            try await fixture.devicesWait()
            fixture.provider.answers { _ in .accepted }
            let call = VerbCall(actor: "test", now: fixture.now)
            if isVerified {
                _ = try await verbs.verify(at: fixture.slot, call) { _ in Reply(status: 200, .null) }
            } else {
                let signing = Credential.apnsToken(
                    .init(keyID: "ZYXWV98765", teamID: "TEAM123456", privateKey: "key", bundleID: "com.example.app"))
                _ = try await verbs.put(signing, at: fixture.slot, call)
            }
            try await fixture.drive(by: .seconds(1)) { try await fixture.state(id) == .sent }
            #expect(fixture.now - start < .seconds(60))
            #expect(try await fixture.counts(id).accepted == 3)
        }
    }

    @Test(
        "a wait that the provider named ends early if a working credential is verified, at most every ten minutes",
        arguments: [(true, 600, true), (true, 500, false), (false, 600, false)])
    func workingCredential(isVerified: Bool, acceptedSecondsAgo: Int64, isEarly: Bool) async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .verdict(.holdAddress(after: .seconds(600)), "TooManyRequests", status: 429) }
        let service = fixture.service()
        let verbs = CredentialVerbs(store: fixture.store, engine: service, providers: [.apns: fixture.provider])
        try await fixture.store.write(.control) { [slot = fixture.slot, now = fixture.now] in
            try $0.setHealth(.ok(at: now - .seconds(acceptedSecondsAgo)), at: slot)
        }
        let start = fixture.now
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.devicesWait()
            fixture.provider.answers { _ in .accepted }
            let call = VerbCall(actor: "test", now: fixture.now)
            if isVerified {
                _ = try await verbs.verify(at: fixture.slot, call) { _ in Reply(status: 200, .null) }
            } else {
                let stored = try await fixture.store.read { [slot = fixture.slot] in try $0.credential(at: slot) }
                _ = try await verbs.put(try #require(stored).credential, at: fixture.slot, call)
            }
            try await fixture.drive(by: .seconds(5)) { try await fixture.state(id) == .sent }
            #expect((fixture.now - start < .seconds(600)) == isEarly)
        }
    }

    @Test("a pause of the route that the provider named lasts although a working credential is verified")
    func pausedRoute() async throws {
        let fixture = try await DeliveryFixture()
        try await fixture.register(1...1)
        fixture.provider.answers { _ in .verdict(.holdApp(after: .seconds(600)), "TooManyRequests", status: 429) }
        let service = fixture.service()
        let verbs = CredentialVerbs(store: fixture.store, engine: service, providers: [.apns: fixture.provider])
        try await fixture.store.write(.control) { [slot = fixture.slot, now = fixture.now] in
            try $0.setHealth(.ok(at: now), at: slot)
        }
        let start = fixture.now
        try await fixture.running(service) {
            let id = try await fixture.accept(fixture.draft(.devices(1...1)), engine: service)
            try await fixture.eventually { try await fixture.gate()?.state == .paused }
            try await fixture.eventually { try await fixture.census().slicesLeased == 0 }
            fixture.provider.answers { _ in .accepted }
            let call = VerbCall(actor: "test", now: fixture.now)
            _ = try await verbs.verify(at: fixture.slot, call) { _ in Reply(status: 200, .null) }
            try await fixture.drive(by: .seconds(5)) { try await fixture.state(id) == .sent }
            #expect(fixture.now - start >= .seconds(599))
        }
    }
}
