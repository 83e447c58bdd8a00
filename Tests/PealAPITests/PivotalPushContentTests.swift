import PealCore
import PealTesting
import Testing

@Suite("The content of a Pivotal push")
struct PivotalPushContentTests {
    @Test(
        "without a body has content only for the platforms with their own content",
        arguments: [
            (#"{"custom":{"ios":{"alert":"a"}}}"#, [Platform.ios]), (#"{"custom":{"android":{"a":1}}}"#, [.android]),
            (
                #"{"custom":{"ios":{"badge":0},"windows8":{"type":"badge","value":1},"android":null}}"#,
                [.ios, .windows]
            ),
            (#"{"custom":{"ios":{"extra":{"a":1}}}}"#, [.ios]),
            (#"{"custom":{"ios":{"content-available":true}}}"#, [.ios]),
            (#"{"custom":{"ios":{},"android":{"a":1},"windows8":{},"windowsPhone":{"template":null}}}"#, [.android]),
            (#"{"custom":{"ios":{"alert":{"title":""},"sound":null,"extra":{},"content-available":false}}}"#, []),
            (#"{"custom":{"android":{"from":"x","collapse_key":"k"}}}"#, []),
            (#"{"custom":{"windows8":{"type":"toast"},"windowsPhone":{"template":"toast"}}}"#, []),
            (#"{"custom":{"windows8":{"options":{"tag":"a"},"template_fields":{"textField1":""}}}}"#, []),
            (#"{"custom":{"windowsPhone":{"template_fields":{"Title":"x"}}}}"#, [.windowsPhone]),
            (#"{"custom":{"android":{}}}"#, []), (#"{"custom":{"ios":{"alert":""}}}"#, []),
            (#"{"body":"b","custom":{"ios":{"alert":"a"}}}"#, nil),
        ] as [(String, [Platform]?)])
    func absent(message: String, named: [Platform]?) async throws {
        try await PivotalPushFixture.open { fixture, push in
            let reply = try await push(#"{"message":\#(message),"target":{"platform":"all"}}"#)
            let content = try await PivotalPushFixture.draft(fixture, reply).content
            #expect(content.absentPlatforms == named.map { Set(Platform.allCases).subtracting($0) } ?? [])
            if let named { #expect(Set(content.platforms.keys) == Set(named)) }
        }
    }

    @Test("counts an empty Android message and collapse key as absent")
    func emptyAndroid() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let reply = try await push(
                #"""
                {"message":{"body":"B","custom":{"android":{"message":"","collapse_key":"","own":""}}},
                 "target":{"platform":"all"}}
                """#)
            let draft = try await PivotalPushFixture.draft(fixture, reply)
            let android = draft.content.platforms[.android]
            let receipt = JSON.string(draft.id.description)
            #expect(android?.fields["data"] == ["message": "B", "own": "", "receiptId": receipt])
            #expect(android?.options.collapseKey == nil)
        }
    }

    @Test("leaves out names that FCM reserves, with a warning")
    func reserved() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let reply = try await push(
                #"""
                {"message":{"custom":{"android":
                   {"from":"x","message_type":"y","google.a":1,"gcm.notification.b":2,"k":3}}},
                 "target":{"platform":"all"}}
                """#)
            #expect(reply.status == 200 && reply.header("Warning")?.contains("4 members") == true, "\(reply.text)")
            let draft = try await PivotalPushFixture.draft(fixture, reply)
            let data = draft.content.platforms[.android]?.fields["data"]
            #expect(data == ["k": "3", "receiptId": .string(draft.id.description)])
        }
    }

    @Test("makes the complete iOS payload, with the receipt at the top level, which extra members do not overwrite")
    func payload() async throws {
        try await PivotalPushFixture.open { fixture, push in
            let reply = try await push(
                """
                {"message":{"body":"default","custom":{"ios":{"alert":{"action-loc-key":"k","loc-args":["a",null,2],
                "title":"T","title-loc-args":null,"launch-image":"Default.png"},"category":"C","badge":"0",
                "sound":"default","content-available":true,"extra":{"story":"u","aps":{"x":1},"receiptId":"evil"}},
                "android":{"n":1,"o":{"a":[true]},"collapse_key":"ck"},
                "windows8":{"template_name":"TileSquareBlock","template_fields":{"textField2":"b","textField1":"a"},
                "type":"tile"},"windowsPhone":{"template":"toast","template_fields":{"subtitle":"s"}}}},
                "target":{"platform":"all"}}
                """)
            let draft = try await PivotalPushFixture.draft(fixture, reply)
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text
                    == """
                    {"story":"u","aps":{"alert":{"action-loc-key":"k","loc-args":["a","","2"],"title":"T",\
                    "launch-image":"Default.png","body":"default"},"category":"C","badge":0,"sound":"default",\
                    "content-available":1},"receiptId":"\(draft.id)"}
                    """)
            let android = try #require(draft.content.platforms[.android])
            #expect(
                JSON.object(android.fields).text
                    == """
                    {"data":{"message":"default","n":"1","o":"{\\"a\\":[true]}","receiptId":"\(draft.id)"},\
                    "data_only":true}
                    """)
            #expect(android.options.collapseKey == "ck")
            #expect(draft.content.platforms[.windows]?.fields["fields"] == ["text": ["a", "b"]])
            #expect(draft.content.platforms[.windowsPhone]?.fields["type"] == "toast")
            #expect(
                draft.content.platforms[.ios]?.options.life == .until(Timestamp(seconds: 2_147_483_647)))
            #expect(draft.expiresAt == fixture.clock.now + .seconds(28 * 24 * 3600))
        }
        try await PivotalPushFixture.open(settings: ["send_receipt": false]) { fixture, push in
            let reply = try await push(
                #"{"message":{"custom":{"ios":{"content-available":1}}},"target":{"platforms":["ios"]}}"#)
            let draft = try await PivotalPushFixture.draft(fixture, reply)
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text == #"{"aps":{"content-available":1}}"#)
            #expect(draft.content.platforms[.ios]?.options.isBackground == true)
        }
    }
}
