import HTTPTypes
import PealCore
import PealTesting
import Testing

/// The translation of a push for each platform, in the native API's form.
@Suite("A devtodev payload")
struct DevtodevPayloadTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let given: String
        let made: String
        var testDescription: String { given }
        init(_ given: String, _ made: String) { (self.given, self.made) = (given, made) }
    }

    /// `payload` of `ios` and the APNs payload without `_k`.
    static let appleCases = [
        Case(#"{"text":"b"}"#, #"{"aps":{"alert":{"body":"b"}}}"#),
        Case(
            #"{"title":"t","text":"b","badge":"11","sound":"s"}"#,
            #"{"aps":{"alert":{"title":"t","body":"b"},"badge":11,"sound":"s"}}"#),
        Case(#"{"text":"b","badge":0,"sound":"","title":null}"#, #"{"aps":{"alert":{"body":"b"},"badge":0}}"#),
        Case(
            #"{"loc-key":"K","loc-args":["a",1],"title-loc-key":"T","title-loc-args":"x","action-loc-key":"A","#
                + #""launch-image":"l"}"#,
            #"{"aps":{"alert":{"title-loc-key":"T","action-loc-key":"A","loc-key":"K","launch-image":"l","#
                + #""title-loc-args":["x"],"loc-args":["a","1"]}}}"#),
        Case(
            #"{"loc-key":"K","loc-args":["a",null,"c"]}"#,
            #"{"aps":{"alert":{"loc-key":"K","loc-args":["a","","c"]}}}"#),
        Case(
            #"{"text":"b","data":{"a":15,"b":"15","_k":"no","aps":1,"c":{"d":[null]}}}"#,
            #"{"aps":{"alert":{"body":"b"}},"a":15,"b":"15","c":{"d":[null]}}"#),
        Case(#"{"text":"b","action":{"url":"http://u"}}"#, #"{"aps":{"alert":{"body":"b"}},"_u":"http://u"}"#),
        Case(#"{"text":"b","action":{"deeplink":"d://x"}}"#, #"{"aps":{"alert":{"body":"b"}},"_d":"d://x"}"#),
        Case(#"{"text":"b","action":{"share":"Hi"}}"#, #"{"aps":{"alert":{"body":"b"}},"_s":"Hi"}"#),
        Case(#"{"text":"b","action":{}}"#, #"{"aps":{"alert":{"body":"b"}}}"#),
        Case(
            #"{"text":"b","attachment":{"type":"image","url":"https://d/p.gif"}}"#,
            #"{"aps":{"alert":{"body":"b"},"mutable-content":1},"#
                + #""_mediaAttachments":[{"type":"image","url":"https://d/p.gif"}]}"#),
        Case(
            #"{"text":"b","attachment":{"type":"Video","url":"https://d/v"}}"#,
            #"{"aps":{"alert":{"body":"b"},"mutable-content":1},"#
                + #""_mediaAttachments":[{"type":"video","url":"https://d/v"}]}"#),
        Case(
            #"{"text":"b","interactive":{"template":"dtd_accept.open_decline.dismiss","buttons":["#
                + #"{"id":"accept","action":{"url":"http://a"}}]}}"#,
            #"{"aps":{"alert":{"body":"b"},"category":"dtd_accept.open_decline.dismiss"},"#
                + #""_interactive":{"buttons":[{"id":"accept","_u":"http://a"}]}}"#),
        Case(
            #"{"text":"b","interactive":{"template":"dtd_like.open"}}"#,
            #"{"aps":{"alert":{"body":"b"},"category":"dtd_like.open"}}"#),
        Case(
            #"{"text":"b","interactive":{"template":"dtd_yes.open_no.dismiss","buttons":["#
                + #"{"id":"no","action":{"url":"http://a"}},{"id":"yes","action":{"share":"s"}}]}}"#,
            #"{"aps":{"alert":{"body":"b"},"category":"dtd_yes.open_no.dismiss"},"#
                + #""_interactive":{"buttons":[{"id":"yes","_s":"s"}]}}"#),
    ]

    @Test("for iOS holds Apple's members and the SDK's", arguments: appleCases)
    func ios(one: Case) async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await devtodev.push(#""ios":{"payload":\#(one.given)}"#)
            #expect(reply.status == 200, "\(reply.text)")
            let draft = try await devtodev.draft(reply)
            let payload = draft.content.platforms[.ios]?.fields["payload"]
            #expect(payload?["_k"] == .string(draft.id.description))
            #expect(payload?.text == one.made.dropLast() + #","_k":"\#(draft.id)"}"#)
            let isWarned = one.given.contains(#""_k""#) || one.given.contains(#""id":"no""#)
            #expect((reply.header("Warning") != nil) == isWarned)
        }
    }

    /// `payload` of `android` and the data message without `_k`.
    static let androidCases = [
        Case(#"{"title":"t","text":"b"}"#, #"{"title":"t","alert":"b"}"#),
        Case(
            ##"{"text":"b","small_icon":"i","icon":"l","image":"https://p","sound":"s","badge":"3","vibration":1,"##
                + ##""led_color":"#ff0000","color":"#00ff00","action":{"url":"u"}}"##,
            ##"{"alert":"b","icon":"i","_largeIcon":"l","color":"#00ff00","sound":"s","_banner":"https://p","##
                + ##""_led":"#ff0000","badge":"3","_vibration":"true","_u":"u"}"##),
        Case(
            #"{"text":"b","data":{"key":15,"o":{"a":1},"n":null,"alert":"x"}}"#,
            #"{"key":"15","o":"{\"a\":1}","alert":"b","data":"{\"key\":15,\"o\":{\"a\":1},"#
                + #"\"n\":null,\"alert\":\"x\"}"}"#
        ),
        Case(
            #"{"text":"b","interactive":{"buttons":[{"id":"a","text":"Yes","handling":"background","icon":"i","#
                + #""action":{"deeplink":"d"}},{"id":"b"}]}}"#,
            #"{"alert":"b","_interactive":"{\"buttons\":[{\"id\":\"a\",\"icon\":\"i\",\"text\":\"Yes\","#
                + #"\"activationMode\":\"background\",\"_d\":\"d\"},"#
                + #"{\"id\":\"b\",\"activationMode\":\"foreground\"}]}"}"#
        ),
        Case(
            #"{"text":"b","interactive":{"buttons":[{"id":"a","handling":"Background"}]}}"#,
            #"{"alert":"b","_interactive":"{\"buttons\":[{\"id\":\"a\",\"activationMode\":\"background\"}]}"}"#),
    ]

    @Test("for Android is a data message of texts under the SDK's keys", arguments: androidCases)
    func android(one: Case) async throws {
        try await DevtodevFixture.open { devtodev in
            let draft = try await devtodev.draft(try await devtodev.push(#""android":{"payload":\#(one.given)}"#))
            let fields = try #require(draft.content.platforms[.android]?.fields)
            #expect(fields["data_only"] == true)
            var data = try #require(fields["data"]?.objectValue)
            #expect(data["_k"] == .string(draft.id.description))
            data["_k"] = nil
            #expect(data == (try JSONParser.parse(one.made).objectValue), "\(JSON.object(data).text)")
        }
    }

    /// A Windows object, and its native form.
    static let windowsCases = [
        Case(
            #""uwp":{"toast":{"title":"t","text":"b","image":"https://i","launch":"l"}}"#,
            #"{"type":"toast","fields":{"text":["t","b"],"image":["https://i"]},"launch":"l"}"#),
        Case(
            #""uwp":{"toast":{"text":"b","data":{"k":1},"action":{"url":"u"}}}"#,
            #"{"type":"toast","fields":{"text":["b"]},"launch":"{\"k\":1,\"_u\":\"u\"}"}"#),
        Case(#""uwp":{"toast":"<toast/>"}"#, #"{"type":"toast","xml":"<toast/>"}"#),
        Case(
            #""uwp":{"toast":{"scenario":"reminder","text":"a & b","image":"i"}}"#,
            #"{"type":"toast","xml":"<toast scenario=\"reminder\"><visual><binding template=\"ToastGeneric\">"#
                + #"<text>a &amp; b</text><image src=\"i\"/></binding></visual></toast>"}"#),
        Case(
            #""win":{"toast":{"title":"t","text":"b","text2":"c"}}"#,
            #"{"type":"toast","template":"ToastText04","fields":{"text":["t","b","c"]}}"#),
        Case(
            #""windows":{"toast":{"title":"t","text":"b","image":"i"}}"#,
            #"{"type":"toast","template":"ToastImageAndText02","fields":{"text":["t","b"],"image":["i"]}}"#),
        Case(#""uwp":{"tile":{"title":"t","text":"b"}}"#, #"{"type":"tile","fields":{"text":["t","b"]}}"#),
        Case(
            #""uwp":{"tile":{"small":{"text":"a"},"wide":{"title":"b","image":"i"}}}"#,
            #"{"type":"tile","xml":"<tile><visual><binding template=\"TileSmall\"><text hint-style=\"caption\">a"#
                + #"</text></binding><binding template=\"TileWide\"><image placement=\"background\" src=\"i\"/>"#
                + #"<text hint-style=\"caption\">b</text></binding></visual></tile>"}"#),
        Case(
            #""win":{"tile":{"image":"i","text":"b"}}"#,
            #"{"type":"tile","template":"TileSquare150x150PeekImageAndText02","#
                + #""fields":{"text":["b"],"image":["i"]}}"#),
        Case(#""uwp":{"badge":{"value":"7"}}"#, #"{"type":"badge","value":"7"}"#),
        Case(#""uwp":{"badge":"newMessage"}"#, #"{"type":"badge","value":"newMessage"}"#),
        Case(#""uwp":{"badge":"<badge value='1'/>"}"#, #"{"type":"badge","xml":"<badge value='1'/>"}"#),
        Case(#""uwp":{"raw":"hello"}"#, #"{"type":"raw","value":"hello"}"#),
        Case(#""win":{"raw":{"data":{"a":1}}}"#, #"{"type":"raw","value":"{\"data\":{\"a\":1}}"}"#),
    ]

    @Test("for Windows is put into the native form", arguments: windowsCases)
    func windows(one: Case) async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await devtodev.push(one.given)
            let fields = try await devtodev.draft(reply).content.platforms[.windows]?.fields
            #expect(fields.map { JSON.object($0).text } == one.made)
        }
    }

    @Test("leaves out names that FCM reserves, with a warning")
    func reserved() async throws {
        try await DevtodevFixture.open { devtodev in
            let reply = try await devtodev.push(
                #""android":{"payload":{"text":"a","data":{"from":"x","gcm.notification.a":1,"k":2}}}"#)
            #expect(reply.status == 200 && reply.header("Warning")?.contains("2 members") == true, "\(reply.text)")
            let data = try await devtodev.draft(reply).content.platforms[.android]?.fields["data"]
            #expect(data?["from"] == nil && data?["k"] == "2")
        }
    }

    @Test("that is hidden wakes the app and sets its badge")
    func hidden() async throws {
        try await DevtodevFixture.open { devtodev in
            let message = #"{"payload":{"data":{"key1":"v"},"badge":"11","sound":"s"},"options":{"hidden":"1"}}"#
            let ios = try await devtodev.draft(try await devtodev.push(#""ios":\#(message)"#))
            let payload = ios.content.platforms[.ios]?.fields["payload"]?.text
            #expect(payload == #"{"aps":{"content-available":1,"badge":11},"key1":"v","_k":"\#(ios.id)"}"#)
            #expect(ios.content.platforms[.ios]?.options.isBackground == true)
            let android = try await devtodev.content(.android, #""android":\#(message)"#)
            #expect(android.fields["data"]?["_h"] == "1")
            #expect(android.fields["data"]?["badge"] == "11")
        }
    }
}
