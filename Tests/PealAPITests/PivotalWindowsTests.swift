import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Pivotal's Windows blocks")
struct PivotalWindowsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let message: String
        let platform: Platform
        /// nil = nothing of the platform's own.
        let fields: String?
        var testDescription: String { message }
        init(_ message: String, _ platform: Platform, _ fields: String?) {
            (self.message, self.platform, self.fields) = (message, platform, fields)
        }
        static func windows(_ custom: String, _ fields: String) -> Case {
            Case(#"{"custom":{"windows8":\#(custom)}}"#, .windows, fields)
        }
        static func phone(_ custom: String, _ fields: String) -> Case {
            Case(#"{"custom":{"windowsPhone":\#(custom)}}"#, .windowsPhone, fields)
        }
    }

    @Test(
        "come in the native form",
        arguments: [
            Case(#"{"body":"b"}"#, .windows, #"{"type":"toast","template":"ToastText01"}"#),
            Case(#"{"body":"b"}"#, .windowsPhone, #"{"type":"toast","fields":{"title":"b"}}"#),
            Case(#"{"custom":{"android":{"message":"x"}}}"#, .windows, nil),
            Case(#"{"custom":{"android":{"message":"x"}}}"#, .windowsPhone, nil),
            .windows(
                #"{"template_name":"TileSquareBlock","template_fields":{"textField1":"text1","textField2":"text2"},"#
                    + #""options":{},"type":"tile"}"#,
                #"{"type":"tile","template":"TileSquareBlock","fields":{"text":["text1","text2"]}}"#),
            .windows(
                #"{"type":"toast","template_name":"ToastImageAndText04","template_fields":{"textField3":3,"#
                    + #""imageField1":"https://x/i.png","textField1":"a"}}"#,
                #"{"type":"toast","template":"ToastImageAndText04","#
                    + #""fields":{"text":["a",null,"3"],"image":["https://x/i.png"]}}"#),
            .windows(
                #"{"type":"toast","template_fields":{"b":"2","a":true,"textField1":"1","textField99":"3"}}"#,
                #"{"type":"toast","fields":{"text":["1","true","2","3"]}}"#),
            .windows(
                #"{"type":"toast","template_name":"ToastImageAndText01","template_fields":{"textField1":"a","#
                    + #""imgSrc1":"https://x/i.png"},"options":{"launch":"/p","audioSrc":"ms-winsoundevent:x","#
                    + #""audioLoop":"true","audioSilent":false,"duration":"Long","tag":7,"cachePolicy":"no-cache"}}"#,
                #"{"type":"toast","template":"ToastImageAndText01","fields":{"text":["a"],"image":["https://x/i.png"]}"#
                    + #","tag":"7","cache_policy":"no-cache","launch":"/p","duration":"long","#
                    + #""audio":{"src":"ms-winsoundevent:x","loop":true,"silent":false}}"#),
            .windows(
                #"{"type":"tile","template_name":"TileSquareImage","template_fields":{"imgSrc2":"b","imageField1":"a"}"#
                    + #","options":{"launch":"/p","tag":"t","ttl":" 60 "}}"#,
                #"{"type":"tile","template":"TileSquareImage","fields":{"image":["a","b"]},"tag":"t"}"#),
            .phone(
                #"{"template":"cycleTile","template_fields":{"tileId":"/p?a=1","title":"T","#
                    + #""cycleImages":["1","2","3","4","5","6","7","8","9","10"]}}"#,
                #"{"type":"tile","template":"cycleTile","fields":{"id":"/p?a=1","title":"T","CycleImage1":"1","#
                    + #""CycleImage2":"2","CycleImage3":"3","CycleImage4":"4","CycleImage5":"5","CycleImage6":"6","#
                    + #""CycleImage7":"7","CycleImage8":"8","CycleImage9":"9"}}"#),
            // The message's body replaces a missing text of a toast.
            Case(
                #"{"body":"b","custom":{"windows8":{"type":"toast","template_name":"ToastImageAndText01","#
                    + #""template_fields":{"imageField1":"https://x/i.png"}}}}"#, .windows,
                #"{"type":"toast","template":"ToastImageAndText01","#
                    + #""fields":{"text":["b"],"image":["https://x/i.png"]}}"#),
            Case(
                #"{"body":"b","custom":{"windows8":{"template_name":"ToastText01","#
                    + #""template_fields":{"textField1":null}}}}"#,
                .windows, #"{"template":"ToastText01","fields":{"text":["b"]}}"#),
            Case(
                #"{"body":"b","custom":{"windows8":{"type":"tile","template_fields":{"imageField1":"i"}}}}"#, .windows,
                #"{"type":"tile","fields":{"image":["i"]}}"#),
            Case(
                #"{"body":"b","custom":{"windowsPhone":{"template_fields":{"parameter":"/p"}}}}"#, .windowsPhone,
                #"{"type":"toast","fields":{"title":"b","parameter":"/p"}}"#),
            Case(
                #"{"body":"b","custom":{"windowsPhone":{"template_fields":{"subtitle":"s"}}}}"#, .windowsPhone,
                #"{"type":"toast","fields":{"subtitle":"s"}}"#),
            .windows(#"{"type":"badge","template_fields":{"value":7}}"#, #"{"type":"badge","value":7}"#),
            .windows(
                #"{"type":"badge","template_fields":{"badgeField1":"alert"}}"#, #"{"type":"badge","value":"alert"}"#),
            // The vendor has one name for glyphs and one for numbers, and clients leave the other one empty.
            .windows(
                #"{"type":"badge","template_fields":{"badge_value_string":null,"badge_value_integer":7}}"#,
                #"{"type":"badge","value":7}"#),
            .windows(
                #"{"type":"badge","template_fields":{"value":"","badge_value_string":"alert"}}"#,
                #"{"type":"badge","value":"alert"}"#),
            .windows(#"{"type":"Badge","value":"3"}"#, #"{"type":"badge","value":"3"}"#),
            Case(#"{"body":"b","custom":{"windows8":{}}}"#, .windows, #"{"type":"toast","template":"ToastText01"}"#),
            .windows(#"{"template_name":"TileWideText03","template_fields":{}}"#, #"{"template":"TileWideText03"}"#),
            .phone(
                #"{"template_fields":{"subtitle":"text","parameter":"text"},"template":"toast"}"#,
                #"{"type":"toast","fields":{"subtitle":"text","parameter":"text"}}"#),
            .phone(
                #"{"template":"Toast","template_fields":{"title":1,"other":"x"},"options":{}}"#,
                #"{"type":"toast","fields":{"title":"1"}}"#),
            .phone(
                #"{"template":"flipTile","template_fields":{"backTitle":"b","count":3}}"#,
                #"{"type":"tile","template":"flipTile","fields":{"backTitle":"b","count":"3"}}"#),
            .phone(#"{"template":"tile","template_fields":{"title":"t"}}"#, #"{"type":"tile","fields":{"title":"t"}}"#),
            .phone(#"{"template_fields":{"Title":"x"}}"#, #"{"type":"toast","fields":{"title":"x"}}"#),
            .windows(
                #"{"type":"raw","template_fields":{"a":"x","b":1}}"#, #"{"type":"raw","value":"{\"a\":\"x\",\"b\":1}"}"#
            ),
            .phone(#"{"type":"tile","template":"cycleTile"}"#, #"{"type":"tile","template":"cycleTile"}"#),
            // PHP writes an empty object as [].
            Case(
                #"{"body":"b","custom":{"ios":{"extra":[]},"android":[],"#
                    + #""windows8":{"template_fields":[],"options":[]}}}"#,
                .windows, #"{"type":"toast","template":"ToastText01"}"#),
            Case(
                #"{"body":"b","custom":{"windows8":[],"windowsPhone":{"template_fields":[]}}}"#, .windowsPhone,
                #"{"type":"toast","fields":{"title":"b"}}"#),
        ])
    func mapping(_ test: Case) async throws {
        try await Fixture.open { fixture in
            try await fixture.makePivotalKey()
            let reply = try await fixture.pivotal(
                .post, "/v1/push", #"{"message":\#(test.message),"target":{"platform":"all"}}"#)
            let id = try #require(MessageID(reply["receipt_id"]?.stringValue ?? ""), "\(reply.text)")
            #expect(reply.header("Warning") == nil)
            let draft = try #require(await fixture.draft(id))
            let fields = draft.content.platforms[test.platform].map { $0.fields }
            let expected = try test.fields.map { try JSONParser.parse($0) }
            #expect(fields.map { JSON.object($0).sorted } == expected?.sorted)
        }
    }

    @Test(
        "without its options that Windows cannot use, each with a warning",
        arguments: [
            #"{"tag":"seventeen-letters"}"#, #"{"tag":"a b"}"#, #"{"tag":"ä"}"#, #"{"tag":"a\r\nX-B: c"}"#,
            #"{"tag":{}}"#,
            #"{"ttl":-1}"#, #"{"ttl":"soon"}"#, #"{"cachePolicy":"maybe"}"#, #"{"duration":"forever"}"#,
            #"{"launch":[]}"#, #"{"audioSrc":{}}"#, #"{"audioLoop":"often"}"#, #"{"audioSilent":2}"#,
        ])
    func unusable(options: String) async throws {
        try await Fixture.open { fixture in
            try await fixture.makePivotalKey()
            let custom = #"{"windows8":{"type":"toast","template_name":"ToastText01","options":\#(options)}}"#
            let reply = try await fixture.pivotal(
                .post, "/v1/push", #"{"message":{"body":"b","custom":\#(custom)},"target":{"platform":"all"}}"#)
            let name = try #require(try JSONParser.parse(options).objectValue?.names.first)
            #expect(
                reply.header("Warning")?.contains("windows8.options.\(name) is invalid") == true, "\(reply.text)")
            let id = try #require(MessageID(reply["receipt_id"]?.stringValue ?? ""), "\(reply.text)")
            let content = try #require(await fixture.draft(id)?.content.platforms[.windows])
            #expect(content.fields.names.sorted() == ["template", "type"] && content.options == PlatformOptions())
        }
    }

    @Test("without members that must be objects, each with a warning", arguments: ["windows8", "windowsPhone"])
    func noObjects(platform: String) async throws {
        try await Fixture.open { fixture in
            try await fixture.makePivotalKey()
            let custom = #"{"\#(platform)":{"type":"toast","template_fields":["a"],"options":"ttl=5"}}"#
            let reply = try await fixture.pivotal(
                .post, "/v1/push", #"{"message":{"body":"b","custom":\#(custom)},"target":{"platform":"all"}}"#)
            let warning = try #require(reply.header("Warning"), "\(reply.text)")
            #expect(warning.contains("\(platform).template_fields must be an object"), "\(warning)")
            #expect(warning.contains("windows8.options must be an object") == (platform == "windows8"))
        }
    }
}
