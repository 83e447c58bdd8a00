import Foundation
import PealCore
import Testing

@testable import PealProviders

/// A provider whose every URL is the server's.
func testProvider(_ server: ForeignServer, time: any TimeSource = RealTime()) throws -> APNsProvider {
    let urls = APNsConfiguration.URLs(send: server.url, management: server.url)
    return try APNsProvider(
        APNsConfiguration(
            production: urls, sandbox: urls, caFile: server.directory.file("cert.pem"), connectionsPerPoolMax: 2),
        .test(time))
}

@Suite("Certificates, channels and verification against nginx", .serialized)
struct APNsConnectionTests {
    /// Accepts every client that presents the certificate.
    private func server(_ certificate: PushCertificate, location: String = "return 200;", format: String) throws
        -> ForeignServer
    {
        try ForeignServer.nginx(
            """
            ssl_client_certificate \(certificate.directory.file("cert.pem")); ssl_verify_client optional;
            if ($ssl_client_verify != SUCCESS) { return 403 '{"reason":"BadCertificate"}'; }
            """, location: location, logsPaths: true, format: format)
    }

    @Test("a certificate is presented, without a provider token", .timeLimit(.minutes(10)))
    func certificate() async throws {
        let certificate = try PushCertificate()
        let server = try server(certificate, format: "$ssl_client_verify [$http_authorization] $http_apns_topic")
        let provider = try testProvider(server)
        let order = testOrder(count: 500, credential: .apnsCertificate(certificate.credential()))
        provider.send(order)
        await expectTally(order.flight.completed().tally, ["accepted": 500])
        await provider.close()
        #expect(Set(try server.log(lines: 500)) == ["SUCCESS [-] com.example.app"])
    }

    @Test("another certificate is refused, and stops the order", .timeLimit(.minutes(10)))
    func wrongCertificate() async throws {
        let server = try server(try PushCertificate(), format: "x")
        let provider = try testProvider(server)
        // A certificate that the server does not request is never presented: nginx names the authorities that it
        // accepts.
        let order = testOrder(count: 100, credential: .apnsToken(testCredential))
        provider.send(order)
        await expectTally(order.flight.completed().tally, ["verdict BadCertificate": 1, "unsent RouteStopped": 99])
        await provider.close()
    }

    @Test("a topic that the certificate lacks is refused by Peal, and stops nothing", .timeLimit(.minutes(10)))
    func topics() async throws {
        let certificate = try PushCertificate()
        let server = try server(certificate, format: "$http_apns_topic")
        let provider = try testProvider(server)
        let credential = Credential.apnsCertificate(certificate.credential())
        let calls = testOrder(
            count: 3, notifications: [testNotification(topic: "com.example.app.voip")], credential: credential)
        let alerts = testOrder(count: 3, credential: credential)
        for order in [calls, alerts] { provider.send(order) }
        await expectTally(calls.flight.completed().tally, ["verdict TopicNotInCertificate": 3])
        #expect(calls.flight.answers.exceptions[0]?.result == .verdict(.rejectMessage))
        await expectTally(alerts.flight.completed().tally, ["accepted": 3])
        await provider.close()
    }

    @Test("a broadcast names its channel", .timeLimit(.minutes(10)))
    func broadcast() async throws {
        let server = try ForeignServer.nginx(
            "location = /4/broadcasts/apps/com.example.app { add_header apns-unique-id abc-1; return 200; }",
            location: #"return 404 '{"reason":"BadPath"}';"#, logsPaths: true,
            format:
                "$uri $http_apns_channel_id $http_apns_push_type $http_apns_expiration "
                + "[$http_apns_topic$http_apns_id] $http_apns_request_id"
        )
        let provider = try testProvider(server)
        let rendered = try provider.render(
            RenderOrder(
                message: MessageID(high: 1, low: 2), content: Content(), options: .init(), locale: nil,
                route: .apnsBroadcastProduction, providerAppID: "com.example.app",
                expiresAt: Timestamp(seconds: 1_900_000_000), now: Timestamp(seconds: 1_800_000_000)))
        let channel = "dHN0LXNyY2gtY2hubA=="
        let order = testOrder(
            count: 1, notifications: [rendered], lane: .direct, route: .apnsBroadcastProduction,
            address: Array(channel.utf8))
        provider.send(order)
        _ = await order.flight.completed()
        // The remark of a small message is kept.
        #expect(
            order.flight.answers.exceptions[0]
                == ProviderAnswer(.verdict(.accepted), reason: "apns-unique-id abc-1", status: 200))
        await provider.close()
        let id = NotificationID.make(message: order.slice.message, inAddresses: false, key: 1)
        #expect(
            try server.log(lines: 1) == ["/4/broadcasts/apps/com.example.app \(channel) liveactivity 0 [--] \(id)"])
    }

    @Test(
        "verification reports what APNs answered",
        arguments: [
            ("return 200;", .accepted, "", 200),
            (#"return 400 '{"reason":"BadDeviceToken"}';"#, .accepted, "BadDeviceToken", 400),
            (#"return 410 '{"reason":"Unregistered"}';"#, .accepted, "Unregistered", 410),
            (#"return 403 '{"reason":"InvalidProviderToken"}';"#, .refused, "InvalidProviderToken", 403),
            (#"return 403 '{"reason":"ExpiredProviderToken"}';"#, .refused, "ExpiredProviderToken", 403),
            (#"return 400 '{"reason":"TopicDisallowed"}';"#, .refused, "TopicDisallowed", 400),
            (#"return 503 '{"reason":"ServiceUnavailable"}';"#, .unreachable, "ServiceUnavailable", 503),
            ("return 404 nothing;", .unreachable, "Status404", 404),
        ] as [(String, CredentialVerification.Result, String, Int)])
    func verify(location: String, result: CredentialVerification.Result, reason: String, status: Int) async throws {
        let server = try ForeignServer.nginx(
            "", location: location, logsPaths: true,
            format: "$uri $http_apns_push_type $http_apns_priority $http_apns_topic")
        let provider = try testProvider(server, time: RealTime.ofSystem)
        let found = await provider.verify(.apnsToken(testCredential), fingerprint: "v", environment: .sandbox)
        #expect(found.result == result, "\(found)")
        #expect(found.reason == reason)
        #expect(found.status == status)
        await provider.close()
        let zeros = String(repeating: "0", count: 64)
        #expect(try server.log(lines: 1) == ["/3/device/\(zeros) background 5 com.example.app"])
    }

    @Test("verification under a certificate, and without a server", .timeLimit(.minutes(10)))
    func verifyCertificate() async throws {
        let certificate = try PushCertificate(.init(userID: "com.example.app.voip"))
        let server = try server(certificate, format: "$http_apns_push_type $http_apns_topic")
        let provider = try testProvider(server)
        let credential = Credential.apnsCertificate(certificate.credential())
        let found = await provider.verify(credential, fingerprint: "v", environment: .production)
        #expect(found.result == .accepted)
        await provider.close()
        #expect(try server.log(lines: 1) == ["voip com.example.app.voip"])
        let closed = await provider.verify(credential, fingerprint: "v", environment: .production)
        #expect(closed.result == .unreachable && closed.reason == "Draining")
    }

    @Test("a signing key is released with its last connection", .timeLimit(.minutes(10)))
    func keys() async throws {
        let server = try ForeignServer.nginx("")
        let provider = try testProvider(server)
        let order = testOrder(count: 10)
        provider.send(order)
        await expectTally(order.flight.completed().tally, ["accepted": 10])
        #expect(provider.signingKeyCount == 1)
        provider.drain(fingerprint: "test")
        for _ in 0..<3000 where provider.signingKeyCount > 0 { LoopbackPort.pause() }
        #expect(provider.signingKeyCount == 0)
        await provider.close()
    }
}
