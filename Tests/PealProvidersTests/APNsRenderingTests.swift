import PealCore
import Testing

@testable import PealProviders

/// A message and the request that APNs gets.
struct RenderingCase: Sendable, CustomTestStringConvertible {
    let name: String
    var content = Content()
    var options = MessageOptions()
    var locale: String?
    let body: String
    var headers: [String] = ["com.example.app", "alert", "10", "1800002000"]

    var testDescription: String { name }

    init(_ name: String, body: String, headers: [String]? = nil, _ change: (inout RenderingCase) -> Void) {
        self.name = name
        self.body = body
        if let headers { self.headers = headers }
        change(&self)
    }
}

@Suite("Rendering for APNs")
struct APNsRenderingTests {
    static func order(_ content: Content, _ options: MessageOptions = .init(), locale: String? = nil) -> RenderOrder {
        RenderOrder(
            message: MessageID(high: 1, low: 2), content: content, options: options, locale: locale,
            route: .apnsProduction, providerAppID: "com.example.app", expiresAt: Timestamp(seconds: 1_800_002_000),
            now: Timestamp(seconds: 1_800_000_000))
    }

    static let cases: [RenderingCase] = [
        .init("body alone", body: #"{"aps":{"alert":{"body":"Hi \"you\""}}}"#) {
            $0.content.body = .plain("Hi \"you\"")
        },
        .init(
            "every common field",
            body:
                #"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"},"badge":0,"sound":"default","#
                + #""thread-id":"th","category":"c","mutable-content":1},"k":{"n":1.0},"ctx_image_url":"https://x/i.png"}"#
        ) {
            $0.content.title = .plain("T")
            $0.content.subtitle = .plain("S")
            $0.content.body = .plain("B")
            $0.content.badge = 0
            $0.content.sound = "default"
            $0.content.threadID = "th"
            $0.content.category = "c"
            $0.content.imageURL = "https://x/i.png"
            $0.content.data = JSON.Members([("k", .object(JSON.Members([("n", .number("1.0"))])))])
        },
        .init("in the content's locale", body: #"{"aps":{"alert":{"title":"T","body":"Hallo"}}}"#) {
            $0.content.title = .plain("T")
            $0.content.body = .localized(["de": "Hallo", "en": "Hello"])
            $0.locale = "de"
        },
        .init("in the default locale", body: #"{"aps":{"alert":{"body":"Hello"}}}"#) {
            $0.content.body = .localized(["de": "Hallo", "en": "Hello"])
            $0.content.defaultLocale = "en"
            $0.locale = "fr"
        },
        .init(
            "own payload deep-merged over the common fields",
            body:
                #"{"aps":{"alert":{"body":"own","title-loc-key":"K"},"badge":5,"interruption-level":"passive"},"#
                + #""a":1,"b":[2]}"#
        ) {
            $0.content.body = .plain("common")
            $0.content.badge = 5
            $0.content.data = JSON.Members([("a", 1)])
            $0.content.set(
                #"{"payload":{"aps":{"alert":{"body":"own","title-loc-key":"K"},"#
                    + #""interruption-level":"passive"},"b":[2]}}"#, on: .ios
            )
        },
        .init("a string alert replaces", body: #"{"aps":{"alert":"plain"}}"#) {
            $0.content.body = .plain("common")
            $0.content.set(#"{"payload":{"aps":{"alert":"plain"}}}"#, on: .ios)
        },
        .init(
            "background", body: #"{"aps":{"content-available":1},"k":1}"#,
            headers: ["com.example.app", "background", "5", "1800002000"]
        ) {
            $0.options.isBackground = true
            $0.options.priority = .high
            $0.content.body = .plain("not shown")
            $0.content.data = JSON.Members([("k", 1)])
        },
        .init(
            "background by the author's push type, with texts for other platforms",
            body: #"{"aps":{"content-available":1},"k":1}"#,
            headers: ["com.example.app", "background", "5", "1800002000"]
        ) {
            $0.content.title = .plain("T")
            $0.content.body = .plain("B")
            $0.content.badge = 3
            $0.content.sound = "default"
            $0.content.data = JSON.Members([("k", 1)])
            $0.content.set(#"{"push_type":"background"}"#, on: .ios)
        },
        .init(
            "background by the author's payload", body: #"{"aps":{"content-available":1}}"#,
            headers: ["com.example.app", "background", "5", "1800002000"]
        ) { $0.content.set(#"{"payload":{"aps":{"content-available":1}}}"#, on: .ios) },
        .init(
            "a live activity by its event", body: #"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#,
            headers: ["com.example.app.push-type.liveactivity", "liveactivity", "10", "1800002000"]
        ) { $0.content.set(#"{"payload":{"aps":{"event":"update","timestamp":1,"content-state":{}}}}"#, on: .ios) },
        .init(
            "voip", body: #"{"aps":{"alert":{"body":"call"}}}"#,
            headers: ["com.example.app.voip", "voip", "10", "1800002000"]
        ) {
            $0.content.body = .plain("call")
            $0.content.set(#"{"push_type":"voip"}"#, on: .ios)
        },
        .init(
            "normal priority and a collapse key", body: #"{"aps":{"alert":{"body":"x"}}}"#,
            headers: ["com.example.app", "alert", "5", "1800002000", "key"]
        ) {
            $0.content.body = .plain("x")
            $0.options.priority = .normal
            $0.options.collapseKey = "key"
        },
        .init(
            "low priority, tried once", body: #"{"aps":{"alert":{"body":"x"}}}"#,
            headers: ["com.example.app", "alert", "1", "0"]
        ) {
            $0.content.body = .plain("x")
            $0.options.priority = .low
            $0.options.life = .seconds(0)
        },
        .init("nothing at all", body: "{}") { _ in },
    ]

    @Test("produces these requests", arguments: cases)
    func golden(_ golden: RenderingCase) throws {
        let notification = try APNsRendering.notification(
            Self.order(golden.content, golden.options, locale: golden.locale))
        #expect(String(decoding: notification.body.prefix, as: UTF8.self) == golden.body)
        #expect(notification.headers.map(\.value) == golden.headers)
        let names = ["apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-collapse-id"]
        #expect(notification.headers.map(\.name) == Array(names.prefix(golden.headers.count)))
        #expect(notification.path == .init(Array("/3/device/".utf8), gap: .addressHex))
    }

    @Test("every push type has its topic", arguments: APNsPushType.allCases)
    func topics(type: APNsPushType) throws {
        var content = Content()
        content.set(#"{"push_type":"\#(type.rawValue)"}"#, on: .ios)
        let notification = try APNsRendering.notification(Self.order(content))
        #expect(notification.headers[0].value == "com.example.app" + type.topicSuffix)
        #expect(notification.headers[1].value == type.rawValue)
    }

    @Test(
        "the payload limit is exact and names the largest field",
        arguments: [
            ("alert", 4096, true), ("alert", 4097, false), ("voip", 5120, true), ("voip", 5121, false),
        ])
    func limit(type: String, bytes: Int, isLegal: Bool) throws {
        var content = Content()
        content.set(#"{"push_type":"\#(type)"}"#, on: .ios)
        let frame = #"{"aps":{"alert":{"body":""}}}"#.utf8.count
        content.body = .plain(String(repeating: "x", count: bytes - frame))
        if isLegal {
            #expect(try APNsRendering.notification(Self.order(content)).body.prefix.count == bytes)
        } else {
            let error = #expect(throws: ContentRefusal.self) { try APNsRendering.notification(Self.order(content)) }
            #expect(error?.code == .payloadTooLarge)
            #expect(error?.field.description == "body")
        }
    }

    @Test(
        "refuses invalid content with the field",
        arguments: [
            (#"{"push_type":"loud"}"#, "ios.push_type"), (#"{"push_type":5}"#, "ios.push_type"),
            (#"{"payload":[1]}"#, "ios.payload"), (#"{"payload":{"aps":"x"}}"#, "ios.payload.aps"),
        ])
    func faults(ios: String, field: String) {
        var content = Content()
        content.set(ios, on: .ios)
        let error = #expect(throws: ContentRefusal.self) { try APNsRendering.notification(Self.order(content)) }
        #expect(error?.code == .invalidField)
        #expect(error?.field.description == field)
    }

    @Test("data cannot set aps")
    func dataNamedAPS() {
        var content = Content()
        content.data = JSON.Members([("aps", ["badge": 1])])
        let error = #expect(throws: ContentRefusal.self) { try APNsRendering.notification(Self.order(content)) }
        #expect(error?.field.description == "data.aps")
    }

    @Test(
        "a collapse key has at most 64 bytes, no line ends, and no space at either end",
        arguments: [
            String(repeating: "k", count: 65), String(repeating: "ä", count: 33), "", "a\r\nb: c", " a", "a ", " ",
            " \u{301}a",
        ])
    func collapseKey(key: String) {
        var options = MessageOptions()
        options.collapseKey = key
        let error = #expect(throws: ContentRefusal.self) {
            try APNsRendering.notification(Self.order(Content(), options))
        }
        #expect(error?.field.description == "collapse_key")
    }

    @Test("a message contains its id for the SDK if required, unless the author's data has one")
    func reference() throws {
        var content = Content()
        content.body = .plain("B")
        content.namesMessage = true
        let id = MessageID(high: 1, low: 2)
        func payload() throws -> JSON {
            try JSONParser.parse(try APNsRendering.notification(Self.order(content)).body.prefix)
        }
        #expect(try payload()["peal"] == ["message": .string(id.description)])
        content.data["peal"] = "mine"
        #expect(try payload()["peal"] == "mine")
    }

    @Test(
        "an alert that names its message starts the app's notification service extension",
        arguments: [
            ("{}", true, true), ("{}", false, false), (#"{"payload":{"aps":{"alert":"own"}}}"#, true, true),
            (#"{"payload":{"aps":{"alert":null}}}"#, true, false), (#"{"push_type":"voip"}"#, true, false),
            (#"{"payload":{"aps":{"event":"update"}}}"#, true, false),
        ])
    func extended(own: String, namesMessage: Bool, isMutable: Bool) throws {
        var content = Content()
        content.body = .plain("B")
        content.namesMessage = namesMessage
        content.set(own, on: .ios)
        let payload = try JSONParser.parse(try APNsRendering.notification(Self.order(content)).body.prefix)
        #expect((payload["aps"]?["mutable-content"] == 1) == isMutable)
    }

    @Test(
        "an alert that names its message has the category with which iOS reports a dismissal, unless it has another",
        arguments: [
            (nil, "{}", true, "peal"), (nil, "{}", false, nil), ("offer", "{}", true, "offer"),
            (nil, #"{"payload":{"aps":{"category":"own"}}}"#, true, "own"),
            (nil, #"{"payload":{"aps":{"alert":null}}}"#, true, nil),
        ] as [(String?, String, Bool, String?)])
    func category(category: String?, own: String, namesMessage: Bool, expected: String?) throws {
        var content = Content()
        content.body = .plain("B")
        content.category = category
        content.namesMessage = namesMessage
        content.set(own, on: .ios)
        let payload = try JSONParser.parse(try APNsRendering.notification(Self.order(content)).body.prefix)
        #expect(payload["aps"]?["category"]?.stringValue == expected)
    }

    @Test("the author's own mutable-content, and a message without an alert, stay as they are")
    func notExtended() throws {
        var content = Content()
        content.namesMessage = true
        content.badge = 3
        func aps() throws -> JSON? {
            try JSONParser.parse(try APNsRendering.notification(Self.order(content)).body.prefix)["aps"]
        }
        #expect(try aps() == ["badge": 3])
        content.body = .plain("B")
        content.set(#"{"payload":{"aps":{"mutable-content":0}}}"#, on: .ios)
        #expect(try aps()?["mutable-content"] == 0)
    }

    @Test("a wake-up is a background push that is never stored and replaces the last")
    func wake() throws {
        let device = Device(
            id: DeviceID(high: 1, low: 1), key: 1, address: Address(route: .apnsProduction, bytes: [1]), userID: "ann",
            topics: [], locale: nil, timeZone: nil, detail: .init(), isInteractive: true,
            registeredAt: Timestamp(seconds: 0), retirement: nil)
        let entries = (0..<60).map { number in
            WakeOrder.Entry(
                message: MessageID(high: 1, low: UInt64(number)), rev: 3,
                campaignID: number == 0 ? nil : String(repeating: "c", count: number),
                fallbackAt: Timestamp(milliseconds: 1_769_309_940_000))
        }
        let order = WakeOrder(app: 1, device: device, number: 42, asksForSync: false, entries: Array(entries.prefix(2)))
        let notification = try APNsRendering.notification(Self.order(order.content(), WakeOrder.options))
        let headers = Dictionary(uniqueKeysWithValues: notification.headers.map { ($0.name, $0.value) })
        #expect(headers["apns-push-type"] == "background" && headers["apns-priority"] == "5")
        #expect(headers["apns-expiration"] == "0" && headers["apns-collapse-id"] == "w")
        #expect(
            String(decoding: notification.body.prefix, as: UTF8.self)
                == #"{"aps":{"content-available":1},"w":42,"m":[["00000000-0000-0001-0000-000000000000",3,"","#
                + #"1769309940000],["00000000-0000-0001-0000-000000000001",3,"c",1769309940000]]}"#)
        let many = WakeOrder(app: 1, device: device, number: 43, asksForSync: true, entries: entries)
        #expect(many.content().data["m"]?.arrayValue?.count == 32)
        let short = try APNsRendering.notification(Self.order(many.content(isShort: true), WakeOrder.options))
        #expect(
            String(decoding: short.body.prefix, as: UTF8.self)
                == #"{"aps":{"content-available":1},"w":43,"a":1,"m":[]}"#)
    }
}
