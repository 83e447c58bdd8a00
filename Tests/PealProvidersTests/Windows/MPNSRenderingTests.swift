import NIOHTTP1
import PealCore
import Testing

@testable import PealProviders

@Suite("Rendering for MPNS")
struct MPNSRenderingTests {
    private static func document(_ inner: String, version: String = "") -> String {
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><wp:Notification xmlns:wp=\"WPNotification\"\(version)>\(inner)"
            + "</wp:Notification>"
    }

    private static func toast(_ parts: String) -> String { document("<wp:Toast>\(parts)</wp:Toast>") }
    private static func tile(_ attributes: String, _ parts: String) -> String {
        document("<wp:Tile\(attributes)>\(parts)</wp:Tile>", version: " Version=\"2.0\"")
    }
    private static let isToast: [String: String?] = [
        "x-windowsphone-target": "toast", "x-notificationclass": "2", "content-type": "text/xml",
    ]
    private static let isTile: [String: String?] = ["x-windowsphone-target": "token", "x-notificationclass": "1"]
    private static let isRaw: [String: String?] = ["x-windowsphone-target": nil, "x-notificationclass": "3"]

    static let cases: [WindowsCase] = [
        .init(
            "a body alone", on: .windowsPhone, body: toast("<wp:Text1>B &amp; C</wp:Text1>"), headers: isToast
        ) { $0.content.body = .plain("B & C") },
        .init(
            "title and body", on: .windowsPhone, body: toast("<wp:Text1>T</wp:Text1><wp:Text2>B</wp:Text2>")
        ) {
            $0.content.title = .plain("T")
            $0.content.subtitle = .plain("S")
            $0.content.body = .plain("B")
        },
        .init(
            "a toast by fields", on: .windowsPhone,
            #"{"type":"toast","fields":{"title":"1","subtitle":"2","parameter":"/Page.xaml?a=1&b"}}"#,
            body: toast(
                "<wp:Text1>1</wp:Text1><wp:Text2>2</wp:Text2><wp:Param>/Page.xaml?a=1&amp;b</wp:Param>")),
        .init(
            "a tile of Windows Phone 7", on: .windowsPhone, #"{"type":"tile"}"#,
            body: document(
                "<wp:Tile><wp:BackgroundImage>u</wp:BackgroundImage><wp:Count>99</wp:Count><wp:Title>T</wp:Title>"
                    + "<wp:BackContent>B</wp:BackContent></wp:Tile>"), headers: isTile
        ) {
            $0.content.title = .plain("T")
            $0.content.body = .plain("B")
            $0.content.badge = 120
            $0.content.imageURL = "u"
        },
        .init(
            "a flip tile, in the schema's order, whatever the names' case", on: .windowsPhone,
            #"{"template":"flipTile","fields":{"back_title":"bt","Title":"t","count":7,"id":"/","#
                + #""wideBackContent":null}}"#,
            body: tile(
                " Id=\"/\" Template=\"FlipTile\"",
                "<wp:WideBackContent Action=\"Clear\"/><wp:Count>7</wp:Count><wp:Title>t</wp:Title>"
                    + "<wp:BackTitle>bt</wp:BackTitle>"), headers: isTile),
        .init(
            "a cycle tile", on: .windowsPhone,
            #"{"type":"tile","template":"cycle","fields":{"cycle_image2":"b","CycleImage1":"a"}}"#,
            body: tile(
                " Template=\"CycleTile\"", "<wp:CycleImage1>a</wp:CycleImage1><wp:CycleImage2>b</wp:CycleImage2>")),
        .init(
            "a tile that is called by its template", on: .windowsPhone,
            #"{"type":"cycleTile","fields":{"title":"t"}}"#,
            body: tile(" Template=\"CycleTile\"", "<wp:Title>t</wp:Title>")),
        .init(
            "an iconic tile from the common fields", on: .windowsPhone, #"{"type":"tile","template":"IconicTile"}"#,
            body: tile(
                " Template=\"IconicTile\"",
                "<wp:IconImage>u</wp:IconImage><wp:WideContent1>B</wp:WideContent1><wp:Title>T</wp:Title>")
        ) {
            $0.content.title = .plain("T")
            $0.content.body = .plain("B")
            $0.content.imageURL = "u"
        },
        .init(
            "unknown parts are passed on, last", on: .windowsPhone,
            #"{"type":"tile","fields":{"NewPart":"n","Title":"t"}}"#,
            body: document("<wp:Tile><wp:Title>t</wp:Title><wp:NewPart>n</wp:NewPart></wp:Tile>")),
        .init(
            "raw by fields", on: .windowsPhone, #"{"type":"raw","fields":{"a":1}}"#, body: #"{"a":1}"#, headers: isRaw),
        .init("raw by value", on: .windowsPhone, #"{"type":"raw","value":"any"}"#, body: "any", headers: isRaw),
        .init("data alone goes raw", on: .windowsPhone, body: #"{"data":{"k":1}}"#, headers: isRaw) {
            $0.content.data = JSON.Members([("k", 1)])
        },
    ]

    @Test("produces these requests", arguments: cases)
    func golden(_ golden: WindowsCase) throws {
        let notification = try MPNSRendering.notification(
            WindowsOrders.order(golden.content, golden.options, on: .mpns, locale: golden.locale))
        #expect(notification.text == golden.body)
        for (name, value) in golden.headers { #expect(notification.header(name) == value, "\(name)") }
        if notification.header("x-windowsphone-target") != nil {
            #expect(XMLReader.read(notification.body.prefix) != nil)
        }
    }

    @Test(
        "the class determines the delay, which never exceeds the lifetime",
        arguments: [
            ("toast", MessageOptions.Priority.high, 100_000, "2"), ("tile", .high, 100_000, "1"),
            ("raw", .high, 100_000, "3"), ("toast", .normal, 100_000, "12"), ("tile", .normal, 100_000, "11"),
            ("raw", .normal, 100_000, "13"), ("toast", .low, 100_000, "22"), ("tile", .low, 100_000, "21"),
            ("raw", .low, 100_000, "23"), ("toast", .low, 901, "22"), ("toast", .low, 900, "12"),
            ("toast", .low, 451, "12"), ("toast", .low, 450, "2"), ("toast", .normal, 451, "12"),
            ("toast", .normal, 450, "2"), ("toast", .normal, 1, "2"), ("toast", .normal, 0, "2"),
        ] as [(String, MessageOptions.Priority, Int64, String)])
    func classes(type: String, priority: MessageOptions.Priority, life: Int64, number: String) throws {
        var content = Content()
        content.set(#"{"type":"\#(type)"}"#, on: .windowsPhone)
        var options = MessageOptions()
        options.priority = priority
        let notification = try MPNSRendering.notification(
            WindowsOrders.order(content, options, on: .mpns, life: .seconds(life)))
        #expect(notification.header("x-notificationclass") == number)
    }

    @Test(
        "without a priority the author's expiry chooses the class, and without an expiry it is immediate",
        arguments: [
            (60, "2"), (450, "2"), (451, "12"), (600, "12"), (900, "12"), (901, "22"), (3600, "22"), (0, "2"),
            (nil, "2"),
        ] as [(Int64?, String)])
    func classesOfExpiry(life: Int64?, number: String) throws {
        var content = Content()
        content.body = .plain("B")
        var options = MessageOptions()
        options.life = life.map { .seconds($0) }
        let notification = try MPNSRendering.notification(
            WindowsOrders.order(content, options, on: .mpns, life: .seconds(life ?? 100_000)))
        #expect(notification.header("x-notificationclass") == number)
        options.life = life.map { .until(WindowsOrders.now + .seconds($0)) }
        let until = try MPNSRendering.notification(
            WindowsOrders.order(content, options, on: .mpns, life: .seconds(life ?? 100_000)))
        #expect(until.header("x-notificationclass") == number)
    }

    @Test("the class is chosen again when the request is sent")
    func lateClass() throws {
        var content = Content()
        content.body = .plain("B")
        var options = MessageOptions()
        options.priority = .low
        let notification = try MPNSRendering.notification(WindowsOrders.order(content, options, on: .mpns))
        for (after, number) in [(0, "22"), (1000, "22"), (1100, "12"), (1549, "12"), (1550, "2"), (3000, "2")] {
            let headers = MPNSExchange.headers(notification, now: WindowsOrders.now + .seconds(after))
            #expect(headers.first(name: "x-notificationclass") == number)
        }
        options.life = .seconds(0)
        let once = try MPNSRendering.notification(WindowsOrders.order(content, options, on: .mpns))
        #expect(once.header("x-notificationclass") == "2")
    }

    @Test(
        "refuses invalid content with the field",
        arguments: [
            (#"{"type":"poster"}"#, "type"), (#"{"type":"tile","template":"round"}"#, "template"),
            (#"{"type":"tile","template":1}"#, "template"), (#"{"type":"tile","fields":"x"}"#, "fields"),
            (#"{"type":"tile","fields":{"Count":100}}"#, "fields.Count"),
            (#"{"type":"tile","fields":{"count":"x"}}"#, "fields.count"),
            (#"{"type":"tile","fields":{"Title":["x"]}}"#, "fields.Title"),
            (#"{"type":"tile","fields":{"Title":"\u0007"}}"#, "fields.Title"),
            (#"{"type":"tile","fields":{"a b":"x"}}"#, "fields.a b"),
            (#"{"type":"tile","fields":{"x><y":"x"}}"#, "fields.x><y"),
            (#"{"type":"toast","fields":{"title":"\u0001"}}"#, "fields.title"),
            (#"{"type":"raw","value":1}"#, "value"),
        ])
    func faults(own: String, field: String) {
        var content = Content()
        content.set(own, on: .windowsPhone)
        let error = #expect(throws: ContentRefusal.self) {
            try MPNSRendering.notification(WindowsOrders.order(content, on: .mpns))
        }
        #expect(error?.code == .invalidField && error?.field.description == "windows_phone." + field)
    }

    @Test(
        "raw notifications have at most 1,024 bytes, others 3,072",
        arguments: [("raw", 1024, true), ("raw", 1025, false), ("toast", 3072, true), ("toast", 3073, false)])
    func limits(type: String, bytes: Int, isLegal: Bool) throws {
        var content = Content()
        if type == "raw" {
            content.set(#"{"type":"raw","value":"\#(String(repeating: "x", count: bytes))"}"#, on: .windowsPhone)
        } else {
            let frame = Self.toast("<wp:Text1></wp:Text1>").utf8.count
            content.body = .plain(String(repeating: "x", count: bytes - frame))
        }
        if isLegal {
            #expect(try MPNSRendering.notification(WindowsOrders.order(content, on: .mpns)).body.prefix.count == bytes)
            return
        }
        let error = #expect(throws: ContentRefusal.self) {
            try MPNSRendering.notification(WindowsOrders.order(content, on: .mpns))
        }
        #expect(error?.code == .payloadTooLarge)
        #expect(error?.field.description == (type == "raw" ? "windows_phone.value" : "body"))
    }
}
