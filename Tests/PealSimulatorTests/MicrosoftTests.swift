import Testing

@testable import PealSimulator

@Suite("The judges of WNS and MPNS")
struct MicrosoftTests {
    private static let tile =
        #"<tile><visual version="2"><binding template="T"><text id="1">a</text></binding></visual></tile>"#
    private static let toast = """
        <?xml version="1.0" encoding="utf-8"?>
        <wp:Notification xmlns:wp="WPNotification"><wp:Toast><wp:Text1>a</wp:Text1></wp:Toast></wp:Notification>
        """
    private let fixture: SimulatorFixture

    init() throws { fixture = try SimulatorFixture() }

    private func wns(_ changes: [String: String?] = [:], body: String = tile, path: String = "/?token=a%2fb") throws
        -> HTTPAnswer
    {
        var headers: [String: String] = [
            "authorization": "Bearer \(fixture.accessToken(.wns, scopes: []))", "content-type": "text/xml",
            "content-length": "\(body.utf8.count)", "x-wns-type": "wns/tile",
        ]
        for (name, value) in changes { headers[name] = value }
        return try fixture.answer(.wns, SimulatorFixture.request(path, body: body.utf8, headers))
    }

    @Test("WNS takes a tile, and says which message it was")
    func takesTile() throws {
        let answer = try wns(["x-wns-tag": "abcDEF0123456789", "x-wns-priority": "4", "x-wns-ttl": "60", "ms-cv": "v"])
        #expect((answer.status, answer.header("x-wns-status"), answer.header("ms-cv")) == (200, "received", "v"))
        let item = try #require(try fixture.items().first)
        #expect(item["device"]?.string == "https://\(SimulatorFixture.host)/?token=a%2fb")
        #expect(item["id"]?.string == answer.header("x-wns-msg-id"))
        #expect(item["payload"]?["text"]?.string == Self.tile)
    }

    @Test(
        "WNS checks each header",
        arguments: [
            ("authorization", nil, 401), ("authorization", "Bearer x", 401), ("content-length", nil, 400),
            ("transfer-encoding", "chunked", 400), ("expect", "100-continue", 400), ("x-wns-type", nil, 400),
            ("x-wns-type", "wns/toast", 400), ("content-type", "application/octet-stream", 400),
            ("content-type", "text/xml; charset=utf-8", 200), ("x-wns-cache-policy", "never", 400),
            ("x-wns-requestforstatus", "maybe", 400), ("x-wns-priority", "0", 400), ("x-wns-tag", "a-b", 400),
            ("x-wns-tag", "abcdefghijklmnopq", 400), ("x-wns-ttl", "-1", 400), ("x-wns-ttl", "0", 400),
            ("x-wns-suppresspopup", "true", 400), ("x-wns-group", "g", 400),
        ] as [(String, String?, Int)])
    func headers(name: String, value: String?, status: Int) throws {
        let answer = try wns([name: value])
        #expect(answer.status == status)
        #expect((answer.header("x-wns-error-description") != nil) == (status != 200))
    }

    @Test(
        "WNS checks path, payload and badges",
        arguments: [
            ("/", tile, 404), ("/?token=", tile, 404), ("/other?token=a", tile, 404), ("/?token=a", "", 400),
            ("/?token=a", "<tile><a></tile>", 400), ("/?token=a", "<tile/>", 400),
            ("/?token=a", tile + String(repeating: " ", count: 5_000), 413),
        ])
    func payload(path: String, body: String, status: Int) throws {
        #expect(try wns(body: body, path: path).status == status)
    }

    @Test(
        "WNS knows the values of badges",
        arguments: [("7", 200), ("newMessage", 200), ("none", 200), ("-1", 400), ("", 400)])
    func badges(value: String, status: Int) throws {
        #expect(try wns(["x-wns-type": "wns/badge"], body: "<badge value=\"\(value)\"/>").status == status)
    }

    @Test("WNS accepts any raw bytes")
    func raw() throws {
        let changes = ["x-wns-type": "wns/raw", "content-type": "application/octet-stream"]
        #expect(try wns(changes, body: "{not xml").status == 200)
        #expect(try fixture.items().first?["payload"]?["text"]?.string == "{not xml")
    }

    private func mpns(_ changes: [String: String?] = [:], body: String = toast) throws -> HTTPAnswer {
        var headers: [String: String] = [
            "content-type": "text/xml", "x-windowsphone-target": "toast", "x-notificationclass": "2",
            "x-messageid": "01234567-89ab-cdef-0123-456789abcdef",
        ]
        for (name, value) in changes { headers[name] = value }
        var request = SimulatorFixture.request("/throttledthirdparty/01.00/a", body: body.utf8, headers)
        request.scheme = "http"
        return try fixture.answer(.mpns, request)
    }

    @Test(
        "MPNS checks target and class",
        arguments: [
            ("toast", "12", 200), ("toast", "22", 200), ("toast", "1", 400), ("toast", "x", 400), ("toast", nil, 200),
            ("token", "1", 400), ("poster", "2", 400), (nil, "3", 200), (nil, "11", 400), (nil, "31", 200),
        ] as [(String?, String?, Int)])
    func classes(target: String?, number: String?, status: Int) throws {
        #expect(try mpns(["x-windowsphone-target": target, "x-notificationclass": number]).status == status)
    }

    @Test("MPNS reports the state of notification, device and subscription, and returns the message's id")
    func states() throws {
        let answer = try mpns()
        let names = ["x-notificationstatus", "x-deviceconnectionstatus", "x-subscriptionstatus", "x-messageid"]
        #expect(
            names.map { answer.header($0) ?? "" } == [
                "Received", "Connected", "Active", "01234567-89ab-cdef-0123-456789abcdef",
            ])
        let yaml = "rules: [{match: {provider: mpns}, status: 200, reason: QueueFull}]"
        fixture.parts.shared.faults.load(try FaultScript(yaml: yaml))
        #expect(try mpns().header("x-notificationstatus") == "QueueFull")
        #expect(try fixture.items().count == 1)
    }

    @Test("MPNS accepts 500 notifications a day for a channel without a certificate")
    func quota() throws {
        for _ in 0..<SimulatorLimits.mpnsNotificationsPerDayMax { #expect(try mpns().status == 200) }
        #expect(try mpns().status == 406)
        fixture.time.advance(seconds: 86_400)
        #expect(try mpns().status == 200)
    }

    @Test("the attributes of the root are read")
    func attributes() {
        let outline = XMLOutline(Array("<a b='c' d=\"&lt;&#65;\"/>".utf8))
        #expect(outline?.root?.attributes == ["b": "c", "d": "&lt;&#65;"])
    }

    @Test(
        "XML is parsed, or refused if it is invalid",
        arguments: [
            ("<a/>", "a"),
            ("<?xml version='1.0'?><!-- x --><p:a b='c' d=\"&lt;&#65;\">&amp;<![CDATA[<]]></p:a> ", "a"),
            ("<a><b/><b></b></a>", "a b b"), ("<a>", nil), ("<a></b>", nil), ("<a b=c/>", nil), ("<a b='' b=''/>", nil),
            ("<a>&nope;</a>", nil), ("<a>& </a>", nil), ("<a/><b/>", nil), ("x<a/>", nil), ("<!DOCTYPE a><a/>", nil),
            ("<a b='<'/>", nil), ("", nil), ("<a>\u{1}</a>", nil),
        ] as [(String, String?)])
    func xml(text: String, names: String?) {
        let outline = XMLOutline(Array(text.utf8))
        let found = outline.map { $0.elements.map(\.name).joined(separator: " ") }
        #expect(found == names)
    }
}
