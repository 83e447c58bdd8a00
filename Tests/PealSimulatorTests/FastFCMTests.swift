import Testing

@testable import PealSimulator

@Suite("A fast connection that plays FCM")
struct FastFCMTests {
    private static func request(_ stream: UInt32, path: String, body: String) -> [UInt8] {
        let head = [0x83] + FastClient.literal(":path", path)
        return FastClient.frame(1, flags: 4, stream: stream, head)
            + FastClient.frame(0, flags: 1, stream: stream, Array(body.utf8))
    }

    private func begun(yaml: String? = nil) throws -> FastClient {
        let client = try FastClient(yaml: yaml, provider: .fcm, service: FastFCM())
        _ = client.send(FastClient.preface + FastClient.frame(4, stream: 0))
        return client
    }

    private func text(_ frames: [FastClient.Frame]) -> String {
        String(decoding: frames.filter { $0.kind == 0 }.flatMap(\.payload), as: UTF8.self)
    }

    @Test("answers with a name, and finds the recipient of a message")
    func success() throws {
        let client = try begun()
        let body = #"{"message":{"data":{"a":"b"}, "token" : "Abc:d_E","notification":{"title":"x"}}}"#
        let frames = client.send(Self.request(1, path: "/v1/projects/p/messages:send", body: body))
        #expect(frames.map(\.kind) == [1, 0])
        #expect(frames[0].payload == [0x88, 0x0F, 0x10, 16] + Array("application/json".utf8))
        #expect(JSONValue(bytes: text(frames).utf8)?["name"]?.string == "projects/x/messages/0")
        let items = JSONValue(bytes: client.inbox.itemsJSON(after: 0, limit: 9).utf8)?["items"]
        guard case .array(let list)? = items, let item = list.first else {
            Issue.record("nothing in the inbox")
            return
        }
        #expect((item["device"]?.string, item["provider"]?.string) == ("Abc:d_E", "fcm"))
        #expect(item["payload"]?["notification"]?["title"]?.string == "x")
    }

    @Test(
        "requires a token, an installation or a topic",
        arguments: [
            (#"{"message":{"token":"a"}}"#, "a"), (#"{"message":{"fid":"b"}}"#, "b"), (#"{"topic":"c"}"#, "c"),
            (#"{"message":{"condition":"d"}}"#, ""), (#""token""#, ""), (#"{"token":5}"#, ""), ("", ""),
            (#"{"token":"a"#, ""),
        ])
    func devices(body: String, device: String) {
        let found = Array(body.utf8).withUnsafeBytes { String(decoding: FastFCM.device($0), as: UTF8.self) }
        #expect(found == device)
    }

    @Test("gives everyone an access token, without counting it")
    func authorization() throws {
        let client = try begun()
        let frames = client.send(Self.request(1, path: "/token", body: "grant_type=x"))
        #expect(JSONValue(bytes: text(frames).utf8)?["expires_in"]?.integer == 3_599)
        client.inbox.count { ledger, _ in #expect(ledger.total.received == 0) }
    }

    @Test("puts faults into Google's envelope")
    func faults() throws {
        let client = try begun(yaml: "rules: [{match: {provider: fcm}, error_code: QUOTA_EXCEEDED, retry_after: 7}]")
        let body = #"{"message":{"token":"t"}}"#
        let frames = client.send(Self.request(1, path: "/v1/projects/p/messages:send", body: body))
        #expect(text(frames).contains(#""errorCode":"QUOTA_EXCEEDED""#))
        #expect(String(decoding: frames[0].payload, as: UTF8.self).contains("retry-after"))
    }
}
