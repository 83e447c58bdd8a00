import PealCore
import Testing

@testable import PealProviders

@Suite("FCM rendering")
struct FCMRenderingTests {
    static let now = Timestamp(seconds: 1_800_000_000)

    private func render(
        _ content: Content, options: MessageOptions = .init(), locale: String? = nil, seconds: Int64 = 3600
    ) throws -> Notification {
        let order = RenderOrder(
            message: MessageID(high: 1, low: 2), content: content, options: options, locale: locale, route: .fcm,
            providerAppID: "example-project", expiresAt: Self.now + .seconds(seconds), now: Self.now)
        return try FCMRendering.notification(order, path: "/v1/projects/example-project/messages:send")
    }

    /// The message as FCM would read it, for the device `DEVICE`.
    private func message(
        _ content: Content, options: MessageOptions = .init(), locale: String? = nil, seconds: Int64 = 3600
    ) throws -> JSON {
        let body = try render(content, options: options, locale: locale, seconds: seconds).body
        #expect(body.gap == .addressText)
        let document = try JSONParser.parse(body.prefix + Array("DEVICE".utf8) + body.suffix)
        #expect(document.objectValue?.names == ["message"])
        return try #require(document["message"])
    }

    private func content(_ android: String? = nil, _ change: (inout Content) -> Void = { _ in }) throws -> Content {
        var content = Content()
        content.title = .plain("Title")
        content.body = .plain("Body")
        if let android {
            let fields = try #require(try JSONParser.parse(Array(android.utf8)).objectValue)
            content.platforms[.android] = .init(fields: fields)
        }
        change(&content)
        return content
    }

    @Test("the request names the project, the body the device")
    func request() throws {
        let notification = try render(try content())
        #expect(notification.path == .init(Array("/v1/projects/example-project/messages:send".utf8)))
        #expect(notification.headers == [.init("content-type", "application/json")])
        #expect(notification.addressHeader == nil)
        #expect(
            String(decoding: notification.body.prefix + notification.body.suffix, as: UTF8.self)
                == #"{"message":{"token":"","notification":{"title":"Title","body":"Body"},"#
                + #""android":{"priority":"HIGH","ttl":"3600s"}}}"#)
    }

    @Test("common fields become FCM's own")
    func common() throws {
        let content = try content { content in
            content.title = .localized(["en": "Hello", "de": "Hallo"])
            content.subtitle = .plain("not known to FCM")
            content.imageURL = "https://example.com/i.png"
            content.badge = 7
            content.sound = "chime"
            content.category = "OPEN"
            content.threadID = "not known to FCM"
            content.data = JSON.Members([
                ("text", "x"), ("number", .number("1.5")), ("list", ["a", 1]), ("flag", true),
            ])
        }
        var options = MessageOptions()
        options.collapseKey = "score"
        #expect(
            try message(content, options: options, locale: "de") == [
                "token": "DEVICE",
                "notification": ["title": "Hallo", "body": "Body", "image": "https://example.com/i.png"],
                "data": ["text": "x", "number": "1.5", "list": #"["a",1]"#, "flag": "true"],
                "android": [
                    "priority": "HIGH", "ttl": "3600s", "collapseKey": "score",
                    "notification": ["sound": "chime", "clickAction": "OPEN", "notificationCount": 7],
                ],
            ])
    }

    @Test("background and data_only messages show nothing", arguments: [true, false])
    func silent(isBackground: Bool) throws {
        var options = MessageOptions()
        options.isBackground = isBackground
        let content = try content(isBackground ? nil : #"{"data_only": true}"#) { content in
            content.sound = "chime"
            content.data = JSON.Members([("k", "v")])
        }
        #expect(
            try message(content, options: options) == [
                "token": "DEVICE", "data": ["k": "v"],
                "android": ["priority": isBackground ? "NORMAL" : "HIGH", "ttl": "3600s"],
            ])
    }

    @Test("a message with only data has no visible fields")
    func dataAlone() throws {
        var content = Content()
        content.data = JSON.Members([("k", "v")])
        content.badge = 3
        #expect(
            try message(content)
                == ["token": "DEVICE", "data": ["k": "v"], "android": ["priority": "HIGH", "ttl": "3600s"]])
    }

    @Test(
        "there are two priorities",
        arguments: [(MessageOptions.Priority.high, "HIGH"), (.normal, "NORMAL"), (.low, "NORMAL")])
    func priority(priority: MessageOptions.Priority, expected: String) throws {
        var options = MessageOptions()
        options.priority = priority
        #expect(try message(content(), options: options)["android"]?["priority"]?.stringValue == expected)
    }

    @Test(
        "ttl is the remaining lifetime, within FCM's bounds",
        arguments: [(3600, "3600s"), (0, "0s"), (-5, "0s"), (2_419_200, "2419200s"), (2_419_201, "2419200s")])
    func ttl(seconds: Int64, expected: String) throws {
        #expect(try message(content(), seconds: seconds)["android"]?["ttl"]?.stringValue == expected)
    }

    @Test("a message with a lifetime of 0 seconds is delivered now or never")
    func oneAttempt() throws {
        var options = MessageOptions()
        options.life = .seconds(0)
        #expect(try message(content(), options: options, seconds: 900)["android"]?["ttl"] == "0s")
    }

    @Test("the author's object overrides all that, and unknown members are passed on")
    func own() throws {
        let content = try content(
            """
            {"notification": {"title": "Own", "brandNew": 1}, "data": {"k": 5, "deep": {"a": [true]}},
             "android": {"priority": "normal", "ttl": "3.5s", "collapse_key": "own", "brand_new": {"x_y": null},
                         "notification": {"channel_id": "c", "color": "#aabbCC", "light_settings":
                            {"light_on_duration": "1s"}, "vibrate_timings": ["0.5s"]}},
             "apns": {"headers": {"apns-priority": 5}, "payload": {"aps": {"content-available": 1, "collapse_key": 1}}},
             "webpush": {"headers": {"TTL": 60}, "notification": {"collapse_key": 2},
                         "fcm_options": {"link": "https://e"}},
             "fcm_options": {"analytics_label": "a"}, "someday": [1]}
            """
        ) { content in
            content.data = JSON.Members([("k", "common"), ("other", "o")])
        }
        var options = MessageOptions()
        options.collapseKey = "common"
        #expect(
            try message(content, options: options) == [
                "token": "DEVICE", "notification": ["title": "Own", "body": "Body", "brandNew": 1],
                "data": ["k": "5", "other": "o", "deep": #"{"a":[true]}"#],
                "android": [
                    "priority": "NORMAL", "ttl": "3.5s", "collapseKey": "own",
                    "brand_new": ["x_y": JSON.null],
                    "notification": [
                        "channelId": "c", "color": "#aabbCC", "lightSettings": ["lightOnDuration": "1s"],
                        "vibrateTimings": ["0.5s"],
                    ],
                ],
                "apns": [
                    "headers": ["apns-priority": "5"],
                    "payload": ["aps": ["content-available": 1, "collapse_key": 1]],
                ],
                "webpush": [
                    "headers": ["TTL": "60"], "notification": ["collapse_key": 2], "fcmOptions": ["link": "https://e"],
                ],
                "fcmOptions": ["analyticsLabel": "a"], "someday": [1],
            ])
    }

    @Test("the second form of Android's part replaces the first")
    func secondForm() throws {
        let content = try content(#"{"android_v2": {"remote_notification": {"notification": {"id": 4}}}}"#) {
            $0.sound = "chime"
        }
        #expect(
            try message(content) == [
                "token": "DEVICE", "notification": ["title": "Title", "body": "Body"],
                "androidV2": ["ttl": "3600s", "remoteNotification": ["notification": ["id": 4]]],
            ])
    }

    @Test("a device may be named by its installation id")
    func installation() throws {
        let body = try render(try content(#"{"target": "fid"}"#)).body
        #expect(String(decoding: body.prefix, as: UTF8.self) == #"{"message":{"fid":""#)
        #expect(!String(decoding: body.suffix, as: UTF8.self).contains("target"))
    }

    @Test(
        "what FCM would refuse is refused with the field",
        arguments: [
            (#"{"data": {"from": "x"}}"#, "data.from"), (#"{"data": {"message_type": 1}}"#, "data.message_type"),
            (#"{"data": {"google.x": 1}}"#, "data.google.x"),
            (#"{"android": {"data": {"gcm.notification.x": 1}}}"#, "android.data.gcm.notification.x"),
            (#"{"data": []}"#, "data"), (#"{"notification": "x"}"#, "notification"), (#"{"android": 1}"#, "android"),
            (#"{"android": {"notification": []}}"#, "android.notification"), (#"{"apns": true}"#, "apns"),
            (#"{"webpush": {"headers": 1}}"#, "webpush.headers"),
            (#"{"android": {"ttl": 3600}}"#, "android.ttl"), (#"{"android": {"ttl": "3600"}}"#, "android.ttl"),
            (#"{"android": {"ttl": "-1s"}}"#, "android.ttl"), (#"{"android": {"ttl": "2419201s"}}"#, "android.ttl"),
            (#"{"android": {"ttl": "1.s"}}"#, "android.ttl"), (#"{"android": {"ttl": "1e3s"}}"#, "android.ttl"),
            (#"{"android": {"notification": {"color": "red"}}}"#, "android.notification.color"),
            (##"{"android": {"notification": {"color": "#aabbccdd"}}}"##, "android.notification.color"),
            (#"{"token": "x"}"#, "token"), (#"{"topic": "x"}"#, "topic"), (#"{"condition": "x"}"#, "condition"),
            (#"{"fid": "x"}"#, "fid"), (#"{"name": "x"}"#, "name"), (#"{"target": "topic"}"#, "target"),
            (#"{"data_only": "yes"}"#, "data_only"),
        ])
    func faults(android: String, field: String) throws {
        let content = try content(android)
        let error = #expect(throws: ContentRefusal.self) { try render(content) }
        #expect(error?.code == .invalidField)
        #expect(error?.field.description == "android.\(field)")
    }

    @Test("keys that FCM reserves are refused in the common data")
    func reserved() throws {
        let content = try content { $0.data = JSON.Members([("google.a", 1)]) }
        let error = #expect(throws: ContentRefusal.self) { try render(content) }
        #expect(error?.field.description == "data.google.a")
        // Only the whole prefix is reserved.
        let legal = try self.content { $0.data = JSON.Members([("googly", 1), ("gcm.x", 1), ("from_me", 1)]) }
        #expect(try message(legal)["data"]?.objectValue?.count == 3)
    }

    /// Names and values of what reaches the device: `title`, `Title`, `body` and a text.
    @Test("4,096 bytes are accepted, and one more is not", arguments: [(4096 - 14, true), (4096 - 13, false)])
    func size(bytes: Int, fits: Bool) throws {
        let content = try content { $0.body = .plain(String(repeating: "x", count: bytes)) }
        if fits {
            _ = try render(content)
        } else {
            let error = #expect(throws: ContentRefusal.self) { try render(content) }
            #expect(error?.code == .payloadTooLarge)
            #expect(error?.field.description == "body")
        }
    }

    @Test(
        "the largest field is named",
        arguments: [
            (#"{"data": {"k": "LONG"}}"#, "android.data"),
            (#"{"android": {"data": {"k": "LONG"}}}"#, "android.android.data"),
            (#"{"android": {"notification": {"ticker": "LONG"}}}"#, "android.android.notification"),
            (#"{"notification": {"body": "LONG"}}"#, "android.notification"),
        ])
    func largest(android: String, field: String) throws {
        let long = String(repeating: "x", count: 5000)
        let content = try content(android.replacing("LONG", with: long))
        let error = #expect(throws: ContentRefusal.self) { try render(content) }
        #expect(error?.code == .payloadTooLarge)
        #expect(error?.field.description == field)
    }

    @Test("what goes to other networks through FCM does not count")
    func others() throws {
        let long = String(repeating: "x", count: 3000)
        let android = #"{"apns": {"payload": {"k": "LONG"}}, "webpush": {"data": {"k": "LONG"}}}"#
        _ = try render(try content(android.replacing("LONG", with: long)))
    }

    @Test("a wake-up is a data message with texts, and a message contains its id for the SDK if required")
    func devices() throws {
        var content = Content()
        content.data = JSON.Members([("w", 42), ("a", 1), ("m", [["id", 3, "", 5]])])
        let wake = try message(content, options: WakeOrder.options)
        #expect(wake["data"] == ["w": "42", "a": "1", "m": #"[["id",3,"",5]]"#])
        #expect(
            wake["notification"] == nil && wake["android"]?["ttl"] == "0s" && wake["android"]?["collapseKey"] == "w")
        var named = try self.content()
        named.namesMessage = true
        let peal = try message(named)["data"]?["peal"]?.stringValue
        #expect(peal == #"{"message":"\#(MessageID(high: 1, low: 2))"}"#)
    }

    @Test("the time to read a member's name grows with its length, not with its square")
    func longName() throws {
        let name = "a" + String(repeating: "_a", count: 500_000)
        let content = try content("{\"android\": {\"\(name)\": 1}}")
        let begun = ContinuousClock.now
        #expect(try message(content)["android"]?[name] == 1)
        #expect(ContinuousClock.now - begun < .seconds(30))
    }
}
