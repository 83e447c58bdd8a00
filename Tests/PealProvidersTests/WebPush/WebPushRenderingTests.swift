import PealCore
import Testing

@testable import PealProviders

/// A message and the text that browsers read.
struct WebRenderingCase: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let headers: [String]
    let change: @Sendable (inout Content, inout MessageOptions) -> Void

    var testDescription: String { name }

    init(
        _ name: String, text: String, headers: [String] = ["3600", "high"],
        _ change: @escaping @Sendable (inout Content, inout MessageOptions) -> Void
    ) {
        self.name = name
        self.text = text
        self.headers = headers
        self.change = change
    }
}

@Suite("Rendering for Web Push")
struct WebPushRenderingTests {
    static let cases: [WebRenderingCase] = [
        .init("title and body", text: #"{"title":"Hello","body":"World"}"#) { _, _ in },
        .init(
            "every common field",
            text: #"{"title":"Hello","body":"World","image":"https://x/i.png","data":{"n":1.0}}"#
        ) { content, _ in
            content.imageURL = "https://x/i.png"
            content.data = JSON.Members([("n", .number("1.0"))])
        },
        .init(
            "the message's own id for the SDK",
            text: #"{"title":"Hello","body":"World","peal":{"message":"\#(MessageID(high: 1, low: 2))"}}"#
        ) { content, _ in content.namesMessage = true },
        .init("an own payload in place of them", text: #"{"a":[1,2.50]}"#) { content, _ in
            content.data = JSON.Members([("n", 1)])
            content.set(#"{"payload":{"a":[1,2.50]}}"#, on: .web)
        },
        .init("an own text as it is", text: "plain \"text\"") { content, _ in
            content.set(#"{"payload":"plain \"text\""}"#, on: .web)
        },
        .init("an own payload of another kind", text: "[1]") { content, _ in
            content.set(#"{"payload":[1]}"#, on: .web)
        },
        .init("an own payload that is empty", text: "{}") { content, _ in content.set(#"{"payload":{}}"#, on: .web) },
        .init("null for none", text: #"{"title":"Hello","body":"World"}"#) { content, _ in
            content.set(#"{"payload":null,"topic":null,"urgency":null}"#, on: .web)
        },
        .init(
            "further members merged over it", text: #"{"title":"Own","body":"World","actions":[{"action":"a"}]}"#
        ) { content, _ in content.set(#"{"title":"Own","actions":[{"action":"a"}]}"#, on: .web) },
        .init("a background message with data", text: #"{"data":{"k":1}}"#, headers: ["3600", "normal"]) {
            content, options in
            options.isBackground = true
            content.imageURL = "https://x/i.png"
            content.data = JSON.Members([("k", 1)])
        },
        .init("a background message with nothing to say", text: "", headers: ["3600", "normal"]) { _, options in
            options.isBackground = true
        },
        .init("low priority", text: #"{"title":"Hello","body":"World"}"#, headers: ["3600", "low"]) { _, options in
            options.priority = .low
        },
        .init("an own urgency", text: #"{"title":"Hello","body":"World"}"#, headers: ["3600", "very-low"]) {
            content, _ in content.set(#"{"urgency":"very-low"}"#, on: .web)
        },
        .init("one attempt", text: #"{"title":"Hello","body":"World"}"#, headers: ["0", "high"]) { _, options in
            options.life = .seconds(0)
        },
        .init("a collapse key", text: #"{"title":"Hello","body":"World"}"#, headers: ["3600", "high", "a-B_9"]) {
            _, options in options.collapseKey = "a-B_9"
        },
        .init(
            "a collapse key that is no topic", text: #"{"title":"Hello","body":"World"}"#,
            headers: ["3600", "high", "eGBJboGJRgomTO1_65JLvDRIzRIAx2TS"]
        ) { _, options in options.collapseKey = "order 66" },
        .init("an own topic", text: #"{"title":"Hello","body":"World"}"#, headers: ["3600", "high", "own"]) {
            content, options in
            options.collapseKey = "key"
            content.set(#"{"topic":"own"}"#, on: .web)
        },
    ]

    @Test("produces these requests", arguments: cases)
    func golden(_ golden: WebRenderingCase) throws {
        let notification = try testWebNotification(golden.change)
        #expect(String(decoding: notification.body.prefix, as: UTF8.self) == golden.text)
        let hasTopic = golden.headers.count == 3
        let encoding = golden.text.isEmpty ? [] : ["content-encoding", "content-type"]
        #expect(notification.headers.map(\.name) == ["ttl", "urgency"] + (hasTopic ? ["topic"] : []) + encoding)
        let values = golden.text.isEmpty ? [] : ["aes128gcm", "application/octet-stream"]
        #expect(notification.headers.map(\.value) == golden.headers + values)
    }

    @Test("reads the content's locale")
    func locale() throws {
        var content = Content()
        content.body = .localized(["de": "Hallo", "en": "Hello"])
        content.defaultLocale = "en"
        func body(_ locale: String?) throws -> String {
            let order = RenderOrder(
                message: MessageID(high: 1, low: 2), content: content, options: .init(), locale: locale,
                route: .webPush,
                providerAppID: "", expiresAt: Timestamp(seconds: 10), now: Timestamp(seconds: 0))
            return String(decoding: try WebPushRendering.notification(order).body.prefix, as: UTF8.self)
        }
        #expect(try body("de") == #"{"body":"Hallo"}"#)
        #expect(try body("fr") == #"{"body":"Hello"}"#)
    }

    @Test(
        "the limit is exact and names the largest field",
        arguments: [("body", 3993, true), ("body", 3994, false), ("web.payload", 3994, false)])
    func limit(field: String, bytes: Int, isLegal: Bool) throws {
        let frame = #"{"title":"Hello","body":""}"#.utf8.count
        func rendered() throws -> Notification {
            try testWebNotification { content, _ in
                if field == "body" {
                    content.body = .plain(String(repeating: "x", count: bytes - frame))
                } else {
                    content.body = .plain(String(repeating: "y", count: 5000))
                    content.set(#"{"payload":"\#(String(repeating: "x", count: bytes))"}"#, on: .web)
                }
            }
        }
        if isLegal {
            #expect(try rendered().body.prefix.count == bytes)
        } else {
            let error = #expect(throws: ContentRefusal.self) { try rendered() }
            #expect(error?.code == .payloadTooLarge)
            #expect(error?.field.description == field)
        }
    }

    @Test("data that is too large is named")
    func largeData() {
        let error = #expect(throws: ContentRefusal.self) {
            try testWebNotification { content, _ in
                content.data = JSON.Members([("k", .string(String(repeating: "x", count: 4000)))])
            }
        }
        #expect(error?.field.description == "data")
    }

    @Test(
        "refuses invalid content with the field",
        arguments: [
            (#"{"urgency":"loud"}"#, "web.urgency"), (#"{"urgency":5}"#, "web.urgency"),
            (#"{"topic":""}"#, "web.topic"), (#"{"topic":"a b"}"#, "web.topic"),
            (#"{"topic":7}"#, "web.topic"),
            (#"{"topic":"123456789012345678901234567890123"}"#, "web.topic"),
        ])
    func faults(web: String, field: String) {
        let error = #expect(throws: ContentRefusal.self) {
            try testWebNotification { content, _ in content.set(web, on: .web) }
        }
        #expect(error?.code == .invalidField)
        #expect(error?.field.description == field)
    }

    @Test(
        "any collapse key becomes a valid topic",
        arguments: [
            "", "ä", "a\r\nb: c", "with blanks", "12345678901234567890123456789012",
            "123456789012345678901234567890123",
            String(repeating: "x", count: 5000),
        ])
    func topics(key: String) throws {
        let notification = try testWebNotification { _, options in options.collapseKey = key }
        let topic = try #require(notification.headers.first { $0.name == "topic" }?.value)
        #expect(topic.wholeMatch(of: #/[A-Za-z0-9_-]{32}/#) != nil)
        #expect((topic == key) == (key.count == 32))
    }

    @Test(
        "states a lifetime in whole seconds, within bounds",
        arguments: [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (-5000, 0), (2_592_000_001, 2_592_000)])
    func life(milliseconds: Int64, seconds: Int64) {
        let now = Timestamp(milliseconds: 5)
        let end = Timestamp(milliseconds: 5 + milliseconds)
        #expect(WebPushRendering.lifeSeconds(until: end, now: now) == seconds)
        #expect(WebPushRendering.lifeSeconds(until: nil, now: now) == 0)
    }
}
