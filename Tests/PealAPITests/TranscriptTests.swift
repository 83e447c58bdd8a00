import HTTPTypes
import HummingbirdTesting
import PealCore
import Testing

/// Requests as the vendor's clients write them, over a real socket.
@Suite("Transcripts", .serialized)
struct TranscriptTests {
    private static func open(_ body: @escaping @Sendable (Fixture, Int) async throws -> Void) async throws {
        try await Fixture.open(over: .live) { fixture in
            try await fixture.makePivotalKey()
            for platform in ["ios", "android"] {
                _ = try await fixture.key(
                    "pivotal-platform",
                    [
                        ("platform_uuid", .string("p-\(platform)")), ("platform_secret", "a-secret-for-tests"),
                        ("platform", .string(platform)),
                    ])
            }
            try await body(fixture, try #require(fixture.client.port))
        }
    }

    private static func chunked(_ text: String) -> String {
        let (first, second) = (text.prefix(7), text.dropFirst(7))
        return [first, second].map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
    }

    @Test("of the iOS SDK: two spaces after Basic, an upper-case device token, no trailing slash")
    func iOS() async throws {
        try await Self.open { fixture, port in
            let body = #"""
                {"registration_token":"\#(Fixture.deviceToken.uppercased())","device_manufacturer":"Apple",\#
                "os":"ios","os_version":"10.3.1","device_model":"iPhone 6S","tags":["cheese"]}
                """#
            let answer = try await RawConnection.exchange(
                "POST /v1/registration HTTP/1.1\r\nHost: push.example.com\r\nAccept: application/json\r\n"
                    + "Authorization: \(fixture.basic("p-ios", "a-secret-for-tests", spaces: "  "))\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "User-Agent: Example/1 CFNetwork/811.5.4 Darwin/16.6.0\r\nConnection: close\r\n\r\n\(body)",
                port: port)
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(answer)")
            #expect(answer.contains(#""registration_token":"\#(Fixture.deviceToken.uppercased())""#))
            #expect(try await fixture.census()["devices"] == 1)
        }
    }

    @Test("of the Android SDK: a chunked body under v1 twice")
    func android() async throws {
        try await Self.open { fixture, port in
            let body = #"""
                {"device_alias":"","device_manufacturer":"LGE","device_model":"Nexus 5","os":"android-fcm",\#
                "os_version":"7.0","registration_token":"fcm-1","custom_user_id":"","tags":[]}
                """#
            let answer = try await RawConnection.exchange(
                "POST /v1/v1/registration HTTP/1.1\r\nHost: push.example.com\r\n"
                    + "Authorization: \(fixture.basic("p-android", "a-secret-for-tests", spaces: "  "))\r\n"
                    + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nAccept-Encoding: gzip\r\n"
                    + "Connection: close\r\n\r\n\(Self.chunked(body))", port: port)
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(answer)")
            #expect(try await fixture.census()["devices"] == 1)
        }
    }

    @Test("of curl: HEAD without a body, a body that is too large, and a request that is not HTTP")
    func others() async throws {
        try await Self.open { fixture, port in
            let head = try await RawConnection.exchange(
                "HEAD /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port: port)
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(head)")
            #expect(head.lowercased().contains("content-length: 19\r\n"), "\(head)")
            #expect(head.hasSuffix("\r\n\r\n"))
            let large = try await RawConnection.exchange(
                "POST /v1/push HTTP/1.1\r\nHost: x\r\nAuthorization: \(fixture.pivotalBackend)\r\n"
                    + "Content-Length: 99999999\r\nConnection: close\r\n\r\n{", port: port)
            #expect(large.hasPrefix("HTTP/1.1 413 "), "\(large)")
            let wrong = try await RawConnection.exchange("nonsense\r\n\r\n", port: port)
            #expect(wrong.hasPrefix("HTTP/1.1 400 "), "\(wrong)")
        }
    }
}
