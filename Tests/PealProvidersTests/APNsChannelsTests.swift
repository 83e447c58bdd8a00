import PealCore
import Testing

@testable import PealProviders

@Suite("Broadcast channels against nginx", .serialized)
struct APNsChannelsTests {
    private static let channel = "dHN0LXNyY2gtY2hubA=="
    private static let format =
        "$request_method $uri [$http_apns_channel_id] [$request_body] $server_protocol $http_authorization"

    /// Answers as APNs does; `refusal` is a directive that comes first.
    private func server(_ refusal: String = "") throws -> ForeignServer {
        try ForeignServer.nginx(
            """
            location = /1/apps/com.example.app/channels {
              \(refusal)
              if ($request_method = POST) { add_header apns-channel-id \(Self.channel); return 201; }
              if ($request_method = DELETE) { return 204; }
              return 200 '{"message-storage-policy":1,"push-type":"LiveActivity"}';
            }
            location = /1/apps/com.example.app/all-channels {
              return 200 '{"channels":["a==","b=="]}';
            }
            """, location: "return 404;", logsPaths: true, format: Self.format)
    }

    private func access(_ credential: Credential = .apnsToken(testCredential)) -> ChannelAccess {
        ChannelAccess(credential: credential, fingerprint: "test", environment: .production)
    }

    @Test("are created, shown, listed and deleted", .timeLimit(.minutes(10)))
    func requests() async throws {
        let server = try server()
        let provider = try testProvider(server)
        let channels = provider.channels
        #expect(try await channels.create(.mostRecent, access()) == Self.channel)
        #expect(try await channels.read(Self.channel, access()) == .mostRecent)
        #expect(try await channels.list(access()) == ["a==", "b=="])
        try await channels.delete(Self.channel, access())
        await provider.close()
        let lines = try server.log(lines: 4)
        let start = "/1/apps/com.example.app"
        #expect(lines.map { $0.prefix { $0 != "{" && $0 != "]" } }.count == 4)
        #expect(lines[0].hasPrefix("POST \(start)/channels [-] "))
        #expect(lines[1].hasPrefix("GET \(start)/channels [\(Self.channel)] "))
        #expect(lines[2].hasPrefix("GET \(start)/all-channels [-] "))
        #expect(lines[3].hasPrefix("DELETE \(start)/channels [\(Self.channel)] "))
        #expect(lines.allSatisfy { $0.contains("HTTP/2.0 bearer ey") })
        // One provider token for all of them.
        #expect(Set(lines.map { $0.split(separator: " ").last }).count == 1)
    }

    @Test(
        "refusals become Peal's errors with Apple's reason",
        arguments: [
            (#"return 400 '{"reason":"ChannelNotRegistered"}';"#, .notFound, "ChannelNotRegistered"),
            (#"return 404 '{"reason":"BadPath"}';"#, .notFound, "BadPath"),
            (#"return 400 '{"reason":"BadChannelId"}';"#, .invalidField, "BadChannelId"),
            (#"return 400 '{"reason":"FeatureNotEnabled"}';"#, .conflict, "FeatureNotEnabled"),
            (#"return 400 '{"reason":"SomethingNew"}';"#, .conflict, "SomethingNew"),
            (#"return 403 '{"reason":"TopicMismatch"}';"#, .conflict, "TopicMismatch"),
            (#"return 403 '{"reason":"ExpiredProviderToken"}';"#, .conflict, "ExpiredProviderToken"),
            (#"return 429 '{"reason":"TooManyRequests"}';"#, .rateLimited, "TooManyRequests"),
            (#"return 503 '{"reason":"Service Unavailable"}';"#, .unavailable, "ServiceUnavailable"),
            ("return 500 x;", .unavailable, "500"),
        ] as [(String, PealError.Code, String)])
    func refusals(directive: String, code: PealError.Code, word: String) async throws {
        let server = try server(directive)
        let provider = try testProvider(server)
        do {
            _ = try await provider.channels.read(Self.channel, access())
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.code == code)
            #expect(error.message.contains(word))
            #expect((error.retryAfterSeconds != nil) == (code == .rateLimited))
        }
        await provider.close()
    }

    @Test("too many of them, and no answer", .timeLimit(.minutes(10)))
    func creation() async throws {
        let server = try server(#"return 400 '{"reason":"CannotCreateChannelConfig"}';"#)
        let provider = try testProvider(server)
        await #expect(throws: PealError.self) { _ = try await provider.channels.create(.none, access()) }
        await provider.close()
        do {
            _ = try await provider.channels.list(access())
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.code == .unavailable)
        }
    }

    @Test("are managed with a certificate, without a provider token", .timeLimit(.minutes(10)))
    func certificate() async throws {
        let certificate = try PushCertificate()
        let server = try ForeignServer.nginx(
            """
            ssl_client_certificate \(certificate.directory.file("cert.pem")); ssl_verify_client on;
            location = /1/apps/com.example.app/all-channels { return 200 '{"channels":[]}'; }
            """, location: "return 404;", logsPaths: true, format: "$ssl_client_verify $http_authorization")
        let provider = try testProvider(server)
        #expect(try await provider.channels.list(access(.apnsCertificate(certificate.credential()))) == [])
        await provider.close()
        #expect(try server.log(lines: 1) == ["SUCCESS -"])
    }
}
