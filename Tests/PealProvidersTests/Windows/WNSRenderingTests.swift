import PealCore
import Testing

@testable import PealProviders

@Suite("Rendering for WNS")
struct WNSRenderingTests {
    private static func visual(_ bindings: String, _ attributes: String = "") -> String {
        "<visual\(attributes)>\(bindings)</visual>"
    }

    private static func toast(_ template: String, _ inner: String, launch: String? = nil, after: String = "") -> String
    {
        let attribute = launch.map { " launch=\"\($0)\"" } ?? ""
        return "<toast\(attribute)>" + visual("<binding template=\"\(template)\">\(inner)</binding>") + after
            + "</toast>"
    }

    private static let plainToast = toast("ToastGeneric", "<text>B</text>")
    private static let isToast: [String: String?] = [
        "x-wns-type": "wns/toast", "content-type": "text/xml", "x-wns-ttl": "2000", "x-wns-cache-policy": nil,
        "x-wns-tag": nil, "x-wns-group": nil, "x-wns-priority": "1", "x-wns-requestforstatus": "true",
    ]
    private static let isRaw: [String: String?] = [
        "x-wns-type": "wns/raw", "content-type": "application/octet-stream", "x-wns-cache-policy": "cache",
    ]

    static let toasts: [WindowsCase] = [
        .init("a body alone", on: .windows, body: plainToast, headers: isToast) { $0.content.body = .plain("B") },
        .init(
            "every common field", on: .windows,
            body: toast(
                "ToastGeneric",
                "<text>T</text><text>S</text><text>B &lt;&amp;&gt;</text><image src=\"https://x/i.png?a=1&amp;b\"/>",
                launch: "{&quot;k&quot;:1.0}", after: "<audio src=\"ms-winsoundevent:Notification.Mail\"/>")
        ) {
            $0.content.title = .plain("T")
            $0.content.subtitle = .plain("S")
            $0.content.body = .plain("B <&>")
            $0.content.imageURL = "https://x/i.png?a=1&b"
            $0.content.data = JSON.Members([("k", .number("1.0"))])
            $0.content.sound = "ms-winsoundevent:Notification.Mail"
        },
        .init(
            "the author's sound, duration and cache policy", on: .windows,
            #"{"type":"toast","launch":"/p","duration":"long","cache_policy":"no-cache","#
                + #""audio":{"src":"ms-winsoundevent:x","loop":true,"silent":false}}"#,
            body: "<toast launch=\"/p\" duration=\"long\">"
                + visual("<binding template=\"ToastGeneric\"><text>B</text></binding>")
                + "<audio src=\"ms-winsoundevent:x\" loop=\"true\" silent=\"false\"/></toast>",
            headers: ["x-wns-cache-policy": "no-cache"]
        ) { $0.content.body = .plain("B") },
        .init("another platform's sound", on: .windows, body: plainToast) {
            $0.content.body = .plain("B")
            $0.content.sound = "ping.aiff"
        },
        .init("in the content's locale", on: .windows, body: toast("ToastGeneric", "<text>Hallo</text>")) {
            $0.content.body = .localized(["de": "Hallo", "en": "Hello"])
            $0.locale = "de"
        },
        .init(
            "the author's own launch", on: .windows, #"{"launch":"page=1&id=\"2\""}"#,
            body: toast("ToastGeneric", "<text>B</text>", launch: "page=1&amp;id=&quot;2&quot;")
        ) {
            $0.content.body = .plain("B")
            $0.content.data = JSON.Members([("k", 1)])
        },
        .init(
            "adaptive by fields", on: .windows, #"{"type":"toast","fields":{"text":["1","2"],"image":["u"]}}"#,
            body: toast("ToastGeneric", "<text>1</text><text>2</text><image src=\"u\"/>")
        ) { $0.content.body = .plain("B") },
        .init(
            "Windows 8, one text: the body", on: .windows, #"{"template":"ToastText01"}"#,
            body: toast("ToastText01", "<text id=\"1\">B</text>")
        ) {
            $0.content.title = .plain("T")
            $0.content.body = .plain("B")
        },
        .init(
            "Windows 8, two texts: title and body", on: .windows, #"{"template":"ToastText02"}"#,
            body: toast("ToastText02", "<text id=\"1\">T</text><text id=\"2\">B</text>")
        ) {
            $0.content.title = .plain("T")
            $0.content.subtitle = .plain("S")
            $0.content.body = .plain("B")
        },
        .init(
            "Windows 8, three texts of which one is given", on: .windows,
            #"{"template":"ToastText04","fields":{"text":[null,"2"]}}"#,
            body: toast("ToastText04", "<text id=\"1\"></text><text id=\"2\">2</text><text id=\"3\"></text>")),
        .init(
            "Windows 8 with an image and its words", on: .windows,
            #"{"template":"ToastImageAndText03","fields":{"text":["1","2"],"image":[{"src":"a&b","alt":"c"}]}}"#,
            body: toast(
                "ToastImageAndText03",
                "<image id=\"1\" src=\"a&amp;b\" alt=\"c\"/><text id=\"1\">1</text><text id=\"2\">2</text>")),
        .init(
            "the author's own document", on: .windows,
            #"{"xml":"<toast launch='a'><visual><binding template='ToastGeneric'/></visual></toast>"}"#,
            body: "<toast launch='a'><visual><binding template='ToastGeneric'/></visual></toast>", headers: isToast
        ) { $0.content.body = .plain("not used") },
        .init(
            "line ends and quotes", on: .windows,
            body: toast("ToastGeneric", "<text>a\nb &quot;c&quot; &apos;d&apos;</text>")
        ) { $0.content.body = .plain("a\nb \"c\" 'd'") },
    ]

    static let others: [WindowsCase] = [
        .init(
            "a tile in every size", on: .windows, #"{"type":"tile"}"#,
            body: "<tile>"
                + visual(
                    "<binding template=\"TileSmall\"><image placement=\"background\" src=\"u\"/>"
                        + "<text hint-style=\"caption\">T</text></binding>"
                        + ["TileMedium", "TileWide", "TileLarge"].map { size in
                            "<binding template=\"\(size)\"><image placement=\"background\" src=\"u\"/>"
                                + "<text hint-style=\"caption\">T</text>"
                                + "<text hint-style=\"captionSubtle\" hint-wrap=\"true\">B</text></binding>"
                        }.joined()) + "</tile>",
            headers: ["x-wns-type": "wns/tile", "content-type": "text/xml", "x-wns-cache-policy": "cache"]
        ) {
            $0.content.title = .plain("T")
            $0.content.body = .plain("B")
            $0.content.imageURL = "u"
        },
        .init(
            "a tile in one size", on: .windows, #"{"template":"TileWide","fields":{"text":["1"]}}"#,
            body: "<tile>"
                + visual("<binding template=\"TileWide\"><text hint-style=\"caption\">1</text></binding>") + "</tile>",
            headers: ["x-wns-type": "wns/tile"]),
        .init(
            "a tile of the catalogue", on: .windows,
            #"{"type":"tile","template":"TileSquare150x150PeekImageAndText02","#
                + #""fields":{"text":["1","2"],"image":["u"]}}"#,
            body: "<tile>"
                + visual(
                    "<binding template=\"TileSquare150x150PeekImageAndText02\" "
                        + "fallback=\"TileSquarePeekImageAndText02\">"
                        + "<image id=\"1\" src=\"u\"/><text id=\"1\">1</text><text id=\"2\">2</text></binding>",
                    " version=\"2\"") + "</tile>"),
        .init(
            "a tile of the catalogue by its first name", on: .windows,
            #"{"type":"tile","template":"TileWideText03","fields":{"text":["1"]}}"#,
            body: "<tile>"
                + visual(
                    "<binding template=\"TileWide310x150Text03\" fallback=\"TileWideText03\">"
                        + "<text id=\"1\">1</text></binding>", " version=\"2\"") + "</tile>"),
        .init(
            "a large tile, which has no first version", on: .windows,
            #"{"type":"tile","template":"TileSquare310x310Text09","fields":{"text":["1"]}}"#,
            body: "<tile>"
                + visual(
                    "<binding template=\"TileSquare310x310Text09\"><text id=\"1\">1</text></binding>",
                    " version=\"2\"") + "</tile>"),
        .init(
            "a badge from the common field", on: .windows, #"{"type":"badge"}"#, body: "<badge value=\"7\"/>",
            headers: ["x-wns-type": "wns/badge", "content-type": "text/xml", "x-wns-cache-policy": "cache"]
        ) { $0.content.badge = 7 },
        .init(
            "a badge where the message holds nothing else", on: .windows, body: "<badge value=\"7\"/>",
            headers: ["x-wns-type": "wns/badge"]
        ) { $0.content.badge = 7 },
        .init("a badge that clears", on: .windows, #"{"type":"badge","value":0}"#, body: "<badge value=\"0\"/>"),
        .init("a glyph", on: .windows, #"{"value":"newMessage"}"#, body: "<badge value=\"newMessage\"/>"),
        .init("more than 99", on: .windows, #"{"type":"badge","value":"99+"}"#, body: "<badge value=\"100\"/>"),
        .init("a number as text", on: .windows, #"{"type":"badge","value":"12"}"#, body: "<badge value=\"12\"/>"),
        .init(
            "a number between blanks", on: .windows, #"{"type":"badge","value":" 1e1 "}"#, body: "<badge value=\"10\"/>"
        ),
        .init("raw text", on: .windows, #"{"type":"raw","value":"<any>\u0001"}"#, body: "<any>\u{1}", headers: isRaw),
        .init("raw octets", on: .windows, #"{"type":"raw","value":{"base64":"aGkK"}}"#, body: "hi\n", headers: isRaw),
        .init("data alone goes raw", on: .windows, body: #"{"data":{"k":1}}"#, headers: isRaw) {
            $0.content.data = JSON.Members([("k", 1)])
        },
        .init(
            "background goes raw", on: .windows, body: #"{"title":"T","body":"B","image":"u","data":{"k":1}}"#,
            headers: ["x-wns-type": "wns/raw", "x-wns-priority": "2"]
        ) {
            $0.options.isBackground = true
            $0.content.title = .plain("T")
            $0.content.body = .plain("B")
            $0.content.imageURL = "u"
            $0.content.data = JSON.Members([("k", 1)])
        },
        .init(
            "own type by the document's root", on: .windows, #"{"xml":"<tile><visual/></tile>"}"#,
            body: "<tile><visual/></tile>", headers: ["x-wns-type": "wns/tile"]),
    ]

    @Test("produces these requests", arguments: toasts + others)
    func golden(_ golden: WindowsCase) throws {
        let notification = try WNSRendering.notification(
            WindowsOrders.order(golden.content, golden.options, on: .wns, locale: golden.locale))
        #expect(notification.text == golden.body)
        for (name, value) in golden.headers { #expect(notification.header(name) == value, "\(name)") }
        if notification.header("content-type") == "text/xml" {
            #expect(XMLReader.read(notification.body.prefix) != nil)
        }
    }

    @Test(
        "priority and lifetime become headers",
        arguments: [
            (MessageOptions.Priority?.none, false, "1"), (.high, false, "1"), (.normal, false, "2"), (.low, false, "3"),
            (nil, true, "2"), (.high, true, "1"),
        ])
    func priority(priority: MessageOptions.Priority?, isBackground: Bool, value: String) throws {
        var options = MessageOptions()
        options.priority = priority
        options.isBackground = isBackground
        let notification = try WNSRendering.notification(WindowsOrders.order(Content(), options, on: .wns))
        #expect(notification.header("x-wns-priority") == value)
    }

    @Test("a message with one attempt is never cached")
    func oneAttempt() throws {
        var options = MessageOptions()
        options.life = .seconds(0)
        var content = Content()
        content.body = .plain("B")
        let notification = try WNSRendering.notification(WindowsOrders.order(content, options, on: .wns))
        #expect(notification.header("x-wns-ttl") == "0")
        #expect(notification.header("x-wns-cache-policy") == "no-cache")
        #expect(notification.expiresAt == nil)
    }

    @Test(
        "a collapse key becomes a tag",
        arguments: [
            ("order17", true), (String(repeating: "k", count: 16), true), ("order-17", false),
            (String(repeating: "k", count: 17), false), ("ä", false),
        ])
    func collapseKey(key: String, isKept: Bool) throws {
        var options = MessageOptions()
        options.collapseKey = key
        var content = Content()
        content.body = .plain("B")
        let notification = try WNSRendering.notification(WindowsOrders.order(content, options, on: .wns))
        let made = try #require(notification.header("x-wns-tag"))
        #expect(made.utf8.count <= 16 && made.utf8.allSatisfy(\.isASCIIAlphanumeric))
        #expect((made == key) == isKept)
        content.set(#"{"tag":"own","group":"g1"}"#, on: .windows)
        let own = try WNSRendering.notification(WindowsOrders.order(content, options, on: .wns))
        #expect(own.header("x-wns-tag") == "own" && own.header("x-wns-group") == "g1")
    }

    @Test(
        "refuses invalid content with the field",
        arguments: [
            (#"{"type":"poster"}"#, "type"), (#"{"type":1}"#, "type"), (#"{"xml":1}"#, "xml"),
            (#"{"xml":"<toast>"}"#, "xml"), (#"{"type":"tile","xml":"<toast/>"}"#, "xml"),
            (#"{"xml":"<poster/>"}"#, "xml"), (#"{"xml":"<!DOCTYPE toast><toast/>"}"#, "xml"),
            (#"{"xml":"<toast>\u0007</toast>"}"#, "xml"), (#"{"xml":"<toast/>","launch":"a"}"#, "launch"),
            (#"{"xml":"<toast/>","fields":{}}"#, "fields"), (#"{"xml":"<badge/>","value":1}"#, "value"),
            (#"{"template":"ToastText05"}"#, "template"), (#"{"type":"toast","template":"TileWide"}"#, "template"),
            (#"{"type":"tile","template":"ToastText01"}"#, "template"),
            (#"{"type":"tile","template":"TileSquare150x150"}"#, "template"),
            (#"{"type":"tile","template":"TileWideText\"01"}"#, "template"),
            (#"{"type":"tile","template":"TileRound100Text01"}"#, "template"),
            (#"{"template":"ToastText01","fields":{"text":["1","2"]}}"#, "fields.text"),
            (#"{"template":"ToastText01","fields":{"image":["u"]}}"#, "fields.image"),
            (#"{"fields":{"text":["1","2","3","4"]}}"#, "fields.text"), (#"{"fields":[]}"#, "fields"),
            (#"{"type":"toast","fields":{"text":"1"}}"#, "fields.text"),
            (#"{"type":"toast","fields":{"text":[1]}}"#, "fields.text[0]"),
            (#"{"type":"toast","fields":{"text":["a\u0000"]}}"#, "fields.text[0]"),
            (#"{"type":"toast","fields":{"image":[{"alt":"a"}]}}"#, "fields.image[0].src"),
            (#"{"type":"toast","launch":"\u001b"}"#, "launch"), (#"{"launch":5,"type":"toast"}"#, "launch"),
            (#"{"type":"badge"}"#, "value"), (#"{"type":"badge","value":-1}"#, "value"),
            (#"{"type":"badge","value":"loud"}"#, "value"), (#"{"type":"badge","value":1.5}"#, "value"),
            (#"{"type":"badge","value":"+1"}"#, "value"), (#"{"type":"badge","value":""}"#, "value"),
            (#"{"type":"badge","value":99999999999}"#, "value"), (#"{"type":"badge","value":[1]}"#, "value"),
            (#"{"type":"raw","value":5}"#, "value"), (#"{"type":"raw","value":""}"#, "value"),
            (#"{"type":"raw","value":{"base64":"%%"}}"#, "value"), (#"{"tag":"has space"}"#, "tag"),
            (#"{"tag":"12345678901234567"}"#, "tag"), (#"{"tag":""}"#, "tag"), (#"{"group":"a-b"}"#, "group"),
            (#"{"tag":"a\r\nX-Evil: 1"}"#, "tag"),
        ])
    func faults(own: String, field: String) {
        var content = Content()
        content.set(own, on: .windows)
        let error = #expect(throws: ContentRefusal.self) {
            try WNSRendering.notification(WindowsOrders.order(content, on: .wns))
        }
        #expect(error?.field.description == "windows." + field)
    }

    @Test("control characters of the common fields are refused", arguments: ["title", "subtitle", "body", "image_url"])
    func controls(field: String) {
        var content = Content()
        switch field {
        case "title": content.title = .plain("a\u{7}")
        case "subtitle": content.subtitle = .plain("a\u{0}")
        case "body": content.body = .localized(["de": "a\u{B}"])
        default:
            content.body = .plain("b")
            content.imageURL = "https://x/\u{1}"
        }
        let error = #expect(throws: ContentRefusal.self) {
            try WNSRendering.notification(WindowsOrders.order(content, on: .wns, locale: "de"))
        }
        #expect(error?.code == .invalidField && error?.field.description == "\(field)")
    }

    @Test("a payload has at most 5,000 bytes, and the largest field is named", arguments: [true, false])
    func limit(isLegal: Bool) throws {
        var content = Content()
        let frame = Self.toast("ToastGeneric", "<text></text>").utf8.count
        content.body = .plain(String(repeating: "x", count: 5000 - frame + (isLegal ? 0 : 1)))
        if isLegal {
            #expect(try WNSRendering.notification(WindowsOrders.order(content, on: .wns)).body.prefix.count == 5000)
            return
        }
        let error = #expect(throws: ContentRefusal.self) {
            try WNSRendering.notification(WindowsOrders.order(content, on: .wns))
        }
        #expect(error?.code == .payloadTooLarge && error?.field.description == "body")
        content.set(#"{"xml":"<toast>\#(String(repeating: "x", count: 5000))</toast>"}"#, on: .windows)
        let own = #expect(throws: ContentRefusal.self) {
            try WNSRendering.notification(WindowsOrders.order(content, on: .wns))
        }
        #expect(own?.code == .payloadTooLarge && own?.field.description == "windows.xml")
    }

    @Test(
        "a document that is too long is refused before it is read, with and without a type", arguments: [true, false])
    func longDocument(hasType: Bool) {
        let attributes = (0..<200_000).map { " a\($0)=''" }.joined()
        let type = hasType ? #""type":"toast","# : ""
        var content = Content()
        content.set(#"{\#(type)"xml":"<toast\#(attributes)/>"}"#, on: .windows)
        let begun = ContinuousClock.now
        let error = #expect(throws: ContentRefusal.self) {
            try WNSRendering.notification(WindowsOrders.order(content, on: .wns))
        }
        #expect(error?.code == .payloadTooLarge && error?.field.description == "windows.xml")
        #expect(ContinuousClock.now - begun < .seconds(30))
    }
}
