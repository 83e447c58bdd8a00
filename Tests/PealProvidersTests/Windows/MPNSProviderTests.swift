import struct Foundation.Date
import PealCore
import PealTesting
import Testing

@testable import PealProviders

@Suite("MPNS over HTTP")
struct MPNSProviderTests {
    private func provider(_ hosts: [String], caFile: String? = nil, time: any TimeSource = ManualTime()) -> MPNSProvider
    {
        MPNSProvider(
            MPNSConfiguration(
                addressRules: AddressRules(hosts: [.mpns: AddressRules().hosts(of: .mpns) + hosts]), caFile: caFile),
            .test(time))
    }

    private func notification() throws -> Notification {
        var content = Content()
        content.body = .plain("B")
        return try MPNSRendering.notification(WindowsOrders.order(content, on: .mpns))
    }

    @Test("posts to the channel with the notification's id, and reads the state from the headers")
    func sending() async throws {
        let peer = try HTTPPeer { request in
            switch request.target {
            case "/full": .reply(200, [("X-NotificationStatus", "QueueFull")])
            case "/gone":
                .reply(404, [("X-NotificationStatus", "Dropped"), ("X-SubscriptionStatus", "Expired")])
            case "/off": .reply(200, [("X-NotificationStatus", "Suppressed")])
            default: .reply(200, [("X-NotificationStatus", "Received"), ("X-DeviceConnectionStatus", "Connected")])
            }
        }
        let provider = provider(["127.0.0.1:\(peer.port)"])
        let order = requestOrder(
            ["/a", "/full", "/gone", "/off"].map { peer.url + $0 } + ["http://evil.example/x"],
            notifications: [try notification()], route: .mpns)
        provider.send(order)
        let answers = await order.flight.completed()
        #expect(
            answers.tally == [
                "accepted": 1, "verdict QueueFull": 1, "verdict SubscriptionExpired": 1, "verdict Suppressed": 1,
                "verdict HostNotAllowed": 1,
            ])
        let request = try #require(peer.requests.first { $0.target == "/a" })
        let id: Identifier<Notification> = NotificationID.make(
            message: order.slice.message, inAddresses: false, key: 1)
        #expect(request["x-messageid"] == id.description)
        #expect(request["x-windowsphone-target"] == "toast" && request["content-type"] == "text/xml")
        #expect(request["content-length"] == String(request.body.count) && request["authorization"] == nil)
        await provider.close()
    }

    @Test("a channel that refuses the credential is held while others accept it, and stops the app if none does")
    func unauthorized() async throws {
        let peer = try HTTPPeer { request in .reply(request.target == "/other" ? 401 : 200) }
        let time = ManualTime()
        let provider = provider(["127.0.0.1:\(peer.port)"], time: time)
        func answer(_ path: String) async throws -> ProviderAnswer? {
            let order = requestOrder([peer.url + path], notifications: [try notification()], route: .mpns)
            provider.send(order)
            return await order.flight.completed().answer(0)
        }
        #expect(try await answer("/other")?.result == .verdict(.stopApp))
        #expect(try await answer("/a")?.result == .verdict(.accepted))
        let held = try await answer("/other")
        #expect(held?.result == .verdict(.holdAddress(after: RefusalEvidence.hold)) && held?.reason == "Unauthorized")
        time.advance(.seconds(6 * 3600))
        #expect(try await answer("/other")?.result == .verdict(.stopApp))
        await provider.close()
    }

    @Test("an authenticated service presents its certificate")
    func certificate() async throws {
        let certificates = try TestDirectory.certificates()
        let own = try TestDirectory.certificates()
        let peer = try HTTPPeer(certificates: certificates, clientRoots: own.file("cert.pem")) { _ in .reply(200) }
        let provider = provider(["127.0.0.1:\(peer.port)"], caFile: certificates.file("cert.pem"))
        let order = requestOrder(
            [peer.url + "/a"], notifications: [try notification()], route: .mpns,
            credential: .mpns(.init(identity: try own.identity())))
        provider.send(order)
        await expectTally(order.flight.completed().tally, ["accepted": 1])
        await provider.close()
    }

    @Test("examines a certificate and its key; without one there is nothing to examine")
    func examine() throws {
        let provider = provider([])
        let directory = try TestDirectory.certificates()
        let identity = try directory.identity()
        let now = SystemTimeOfTest.now
        let examination = try provider.examine(.mpns(.init(identity: identity)), now: now)
        let end = try #require(examination.expiresAt)
        #expect(end > now + .seconds(29 * 24 * 3600) && end < now + .seconds(31 * 24 * 3600))
        #expect(examination.facts["subject"]?.stringValue?.contains("localhost") == true)
        let other = try TestDirectory.certificates().identity()
        let faults: [(Credential.TLSIdentity, Timestamp, String)] = [
            (.init(certificates: "x", privateKey: identity.privateKey), now, "certificate"),
            (.init(certificates: identity.certificates, privateKey: "x"), now, "private_key"),
            (.init(certificates: identity.certificates, privateKey: other.privateKey), now, "private_key"),
            (identity, end + .seconds(1), "certificate"),
        ]
        for (identity, now, field) in faults {
            let error = #expect(throws: PealError.self) {
                try provider.examine(.mpns(.init(identity: identity)), now: now)
            }
            #expect(error?.code == .invalidField && error?.field == field)
        }
        let bare = try provider.examine(.mpns(.init(identity: nil)), now: now)
        #expect(bare.facts.isEmpty && bare.expiresAt == nil && bare.credential.kind == "none")
    }

    @Test("verify sends nothing and says why")
    func verify() async {
        let verification = await provider([]).verify(
            .mpns(.init(identity: nil)), fingerprint: "f", environment: .production)
        #expect(verification.result == .unverifiable)
        #expect(verification.detail.contains("live service has been shut down"))
    }
}

/// Certificates are created with the real clock.
enum SystemTimeOfTest {
    static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
}
