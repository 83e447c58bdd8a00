import Testing

@testable import PealSimulator

@Suite("The judge of FCM messages")
struct FCMMessageTests {
    private let fixture: SimulatorFixture

    init() throws { fixture = try SimulatorFixture() }

    private func send(
        _ body: String, project: String = "peal-demo", accessToken: String? = nil
    ) throws -> HTTPAnswer {
        let path = "/v1/projects/\(project)/messages:send"
        let headers = ["authorization": "Bearer \(accessToken ?? fixture.accessToken(.fcm))"]
        return try fixture.answer(.fcm, SimulatorFixture.request(path, body: body.utf8, headers))
    }

    /// The error code of FCM in an answer, and the fields that are wrong.
    private func details(_ answer: HTTPAnswer) -> (code: String?, fields: [String]) {
        guard case .array(let details)? = answer.value?["error"]?["details"] else { return (nil, []) }
        let code = details.lazy.compactMap { $0["errorCode"]?.string }.first
        let fields = details.lazy.compactMap { detail -> [String]? in
            guard case .array(let violations)? = detail["fieldViolations"] else { return nil }
            return violations.compactMap { $0["field"]?.string }
        }.first
        return (code, fields ?? [])
    }

    @Test(
        "accepts what the schema allows, in either spelling",
        arguments: [
            (#"{"token":"t","notification":{"title":"a","body":"b"}}"#, "t"),
            (#"{"fid":"f","data":{"a":"b"}}"#, "f"), (#"{"topic":"a-b_c.d~e%"}"#, "/topics/a-b_c.d~e%"),
            (#"{"token":"t","android":{"ttl":"3.5s","priority":"high","collapseKey":"k"},"apns":null}"#, "t"),
            (#"{"token":"t","android":{"collapse_key":"k","notification":{"notification_count":"3"}}}"#, "t"),
            (#"{"token":"t","androidV2":{"remoteNotification":{"notification":{"id":7}},"ttl":"0s"}}"#, "t"),
            (
                #"{"fid":"t","android":{"notification":{"lightSettings":{"color":{"red":1},"lightOnDuration":"1s"}}}}"#,
                "t"
            ),
            (#"{"token":"t","apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"badge":1},"x":[1]}}}"#, "t"),
            (#"{"token":"t","webpush":{"headers":{"TTL":"5"},"notification":{"any":true}}}"#, "t"),
            (#"{"token":"t","android":{"notification":{"eventTime":"2026-05-04T10:00:00.5Z","sticky":true}}}"#, "t"),
        ])
    func good(message: String, device: String) throws {
        let answer = try send(#"{"message":\#(message)}"#)
        #expect(answer.status == 200)
        #expect(answer.value?["name"]?.string?.hasPrefix("projects/peal-demo/messages/") == true)
        let item = try #require(try fixture.items().first)
        #expect(item["device"]?.string == device)
        #expect(item["payload"] == JSONValue(bytes: Array(message.utf8)))
    }

    @Test(
        "finds what cannot be read, without an error of FCM's own",
        arguments: [
            (#"{"message":{"token":"t","notifcation":{}}}"#, "message"), (#"{"messages":{}}"#, ""),
            (#"{"message":{"token":5}}"#, "message.token"),
            (#"{"message":{"token":"t","data":{"a":1}}}"#, "message.data[0].value"),
            (#"{"message":{"token":"t","android":{"ttl":"5"}}}"#, "message.android.ttl"),
            (#"{"message":{"token":"t","android":{"ttl":5}}}"#, "message.android.ttl"),
            (#"{"message":{"token":"t","android":{"priority":"LOUD"}}}"#, "message.android.priority"),
            (#"{"message":{"token":"t","android":{"directBootOk":"true"}}}"#, "message.android.directBootOk"),
            (
                #"{"message":{"token":"t","android":{"notification":{"bodyLocArgs":[1]}}}}"#,
                "message.android.notification.bodyLocArgs[0]"
            ),
            (
                #"{"message":{"token":"t","android":{"notification":{"eventTime":"soon"}}}}"#,
                "message.android.notification.eventTime"
            ),
            (#"{"message":{"token":"t","fcm_options":{"a":1},"notification":[]}}"#, "message.fcm_options"),
            (#"{"message":{"token":"t","fcmOptions":{},"fcm_options":{}}}"#, "message.fcm_options"),
            (#"{"message":{"token":"t","apns":{"payload":"x"}}}"#, "message.apns.payload"),
            (#"{"message":{"token":"t"},"validateOnly":1}"#, "validateOnly"),
        ])
    func malformed(body: String, field: String) throws {
        let answer = try send(body)
        #expect((answer.status, details(answer).code) == (400, nil))
        #expect(answer.value?["error"]?["status"]?.string == "INVALID_ARGUMENT")
        #expect(details(answer).fields.first == field)
    }

    @Test(
        "finds what makes no sense, as an error of FCM",
        arguments: [
            (#"{}"#, "message"), (#"{"token":"a","topic":"b"}"#, "message"), (#"{"token":""}"#, "message.token"),
            (#"{"token":"a b"}"#, "message.token"), (#"{"topic":"/topics/a"}"#, "message.topic"),
            (#"{"condition":"a"}"#, "message.condition"),
            (#"{"token":"t","data":{"from":"x"}}"#, "message.data"),
            (#"{"token":"t","data":{"google.x":"x"}}"#, "message.data"),
            (#"{"token":"t","android":{"data":{"gcm.notification.x":"x"}}}"#, "message.android.data"),
            (#"{"token":"t","android":{"ttl":"2419201s"}}"#, "message.android.ttl"),
            (#"{"token":"t","android":{"ttl":"-1s"}}"#, "message.android.ttl"),
            (#"{"token":"t","android":{"notification":{"color":"red"}}}"#, "message.android.notification.color"),
            (#"{"token":"t","android":{},"androidV2":{}}"#, "message.android_v2"),
            (#"{"token":"t","webpush":{"fcmOptions":{"link":"http://a.b"}}}"#, "message.webpush.fcm_options.link"),
            (#"{"token":"t","data":{"a":"\#(String(repeating: "x", count: 4_096))"}}"#, "message"),
            (#"{"topic":"t","data":{"a":"\#(String(repeating: "x", count: 2_048))"}}"#, "message"),
        ])
    func senseless(message: String, field: String) throws {
        let answer = try send(#"{"message":\#(message)}"#)
        #expect((answer.status, details(answer).code) == (400, "INVALID_ARGUMENT"))
        #expect(details(answer).fields == [field])
        #expect(try fixture.items().isEmpty)
    }

    @Test("lets names and values have 4,096 bytes")
    func size() throws {
        let text = String(repeating: "x", count: 4_095)
        #expect(try send(#"{"message":{"token":"t","data":{"a":"\#(text)"}}}"#).status == 200)
    }

    @Test("requires an access token that is valid for sending, and its own project")
    func authorization() throws {
        let body = #"{"message":{"token":"t"}}"#
        #expect(try send(body, accessToken: "x").status == 401)
        #expect(try send(body, accessToken: fixture.accessToken(.wns, scopes: [])).status == 403)
        let accessToken = fixture.accessToken(.fcm)
        let wrong = try send(body, project: "other", accessToken: accessToken)
        #expect((wrong.status, details(wrong).code) == (404, nil))
        #expect(try send(body, accessToken: accessToken).status == 200)
        fixture.time.advance(seconds: 3_600)
        #expect(try send(body, accessToken: accessToken).value?["error"]?["status"]?.string == "UNAUTHENTICATED")
    }

    @Test("delivers nothing when asked to validate only")
    func trial() throws {
        #expect(try send(#"{"message":{"token":"t"},"validate_only":true}"#).status == 200)
        #expect(try fixture.items().isEmpty)
    }
}
