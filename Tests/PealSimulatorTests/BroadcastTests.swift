import Testing

@testable import PealSimulator

@Suite("Broadcast channels of APNs")
struct BroadcastTests {
    private static let bundle = "/1/apps/com.example.demo"
    private let fixture: SimulatorFixture
    private let account = SigningAccount()

    init() throws {
        fixture = try SimulatorFixture()
        try account.enroll(in: fixture.apns.keys)
    }

    private func manage(
        _ method: String, _ path: String = bundle + "/channels", body: String = "", _ changes: [String: String?] = [:],
        on listener: ListenerName = .apnsManagement
    ) throws -> HTTPAnswer {
        var headers = ["authorization": "bearer \(try account.providerToken())"]
        for (name, value) in changes { headers[name] = value }
        return try fixture.answer(listener, SimulatorFixture.request(path, method: method, body: body.utf8, headers))
    }

    private func make(keepsNewest: Bool = false) throws -> String {
        let body = #"{"message-storage-policy":\#(keepsNewest ? 1 : 0),"push-type":"LiveActivity"}"#
        let answer = try manage("POST", body: body)
        #expect(answer.status == 201)
        return try #require(answer.header("apns-channel-id"))
    }

    private func send(
        _ channel: String?, _ changes: [String: String?] = [:], bundle: String = "com.example.demo",
        body: String = #"{"aps":{"event":"update","timestamp":1,"content-state":{"a":1}}}"#
    ) throws -> HTTPAnswer {
        var headers = [
            "authorization": "bearer \(try account.providerToken())", "apns-push-type": "liveactivity",
            "apns-priority": "5", "apns-expiration": "0",
        ]
        headers["apns-channel-id"] = channel
        for (name, value) in changes { headers[name] = value }
        return try fixture.answer(
            .apns, SimulatorFixture.request("/4/broadcasts/apps/\(bundle)", body: body.utf8, headers))
    }

    @Test("are created, read, listed and deleted, separately for each environment")
    func life() throws {
        let id = try make(keepsNewest: true)
        let read = try manage("GET", ["apns-channel-id": id])
        #expect(read.value == JSONValue(bytes: #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#.utf8))
        #expect(try manage("GET", Self.bundle + "/all-channels").value?["channels"] == .array([.string(id)]))
        let sandbox = try manage("GET", Self.bundle + "/all-channels", on: .apnsSandboxManagement)
        #expect(sandbox.value?["channels"] == .array([]))
        #expect(try manage("DELETE", ["apns-channel-id": id]).status == 204)
        #expect(try manage("DELETE", ["apns-channel-id": id]).value?["reason"]?.string == "ChannelNotRegistered")
    }

    private func manage(_ method: String, _ headers: [String: String?]) throws -> HTTPAnswer {
        try manage(method, Self.bundle + "/channels", headers)
    }

    @Test("return the sender's request id, and refuse one that is not a UUID")
    func requestID() throws {
        let id = "01234567-89ab-cdef-0123-456789abcdef"
        let path = Self.bundle + "/all-channels"
        #expect(try manage("GET", path, ["apns-request-id": id]).header("apns-request-id") == id)
        #expect(try manage("GET", path).header("apns-request-id")?.utf8.count == 36)
        #expect(try manage("GET", path, ["apns-request-id": "x"]).value?["reason"]?.string == "BadRequestParams")
    }

    @Test(
        "report what is wrong with a request for management",
        arguments: [
            ("POST", bundle + "/channels", "{", "BadRequestPayload"),
            ("PUT", bundle + "/channels", "", "MethodNotAllowed"),
            (
                "POST", bundle + "/channels", #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#,
                "BadRequestPayload"
            ),
            ("POST", bundle + "/channels", #"{"message-storage-policy":0}"#, "MissingPushType"),
            ("POST", bundle + "/channels", #"{"message-storage-policy":0,"push-type":"alert"}"#, "InvalidPushType"),
            ("GET", bundle + "/channels", "", "MissingChannelId"), ("GET", bundle + "/nothing", "", "BadPath"),
            ("GET", "/1/apps/com.example.other/all-channels", "", "TopicDisallowed"),
        ])
    func mistakes(method: String, path: String, body: String, reason: String) throws {
        #expect(try manage(method, path, body: body).value?["reason"]?.string == reason)
    }

    @Test("are limited to the number that an app may have")
    func limit() throws {
        for number in 0..<SimulatorLimits.channelsPerAppMax {
            _ = fixture.apns.channels.add(
                "\(number)", keepsNewest: false, environment: .production, bundleID: "com.example.demo")
        }
        let body = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
        #expect(try manage("POST", body: body).value?["reason"]?.string == "CannotCreateChannelConfig")
    }

    @Test("take a broadcast, which the inbox shows by its channel")
    func broadcast() throws {
        let id = try make()
        let answer = try send(id)
        #expect((answer.status, answer.header("apns-request-id")?.utf8.count) == (200, 36))
        let item = try #require(try fixture.items().first)
        #expect((item["device"]?.string, item["channel"]) == (id, .truth(true)))
        #expect(item["apns_id"]?.string == answer.header("apns-request-id"))
    }

    @Test(
        "report what is wrong with a broadcast",
        arguments: [
            ("apns-channel-id", nil, "MissingChannelId"), ("apns-channel-id", "?", "BadChannelId"),
            ("apns-channel-id", "AAAA", "ChannelNotRegistered"), ("apns-push-type", nil, "MissingPushType"),
            ("apns-push-type", "alert", "InvalidPushType"), ("apns-expiration", "1800000060", "BadExpirationDate"),
            ("apns-priority", "7", "BadPriority"), ("authorization", nil, "MissingProviderToken"),
        ] as [(String, String?, String)])
    func broadcastMistakes(name: String, value: String?, reason: String) throws {
        let answer = try send(try make(), [name: value])
        #expect(answer.value?["reason"]?.string == reason)
    }

    @Test("keep to the app and to 5,120 bytes, and start nothing")
    func broadcastContent() throws {
        let id = try make(keepsNewest: true)
        #expect(try send(id, ["apns-expiration": "1800000060"]).status == 200)
        let suffixed = try send(id, bundle: "com.example.demo.push-type.liveactivity")
        #expect(suffixed.value?["reason"]?.string == "TopicDisallowed")
        #expect(try send(id, body: #"{"aps":{"event":"start","timestamp":1}}"#).status == 400)
        let large = #"{"aps":{"event":"end","timestamp":1},"a":"\#(String(repeating: "x", count: 5_120))"}"#
        #expect(try send(id, body: large).status == 413)
    }
}
