import HTTPTypes
import PealCore
import Testing

@Suite("Richie payloads")
struct RichieContentTests {
    struct Form: Sendable, CustomTestStringConvertible {
        let sent: String
        let expected: String
        var testDescription: String { sent }
        init(_ sent: String, _ expected: String) { (self.sent, self.expected) = (sent, expected) }
    }

    @Test(
        "of iOS stay as they were sent, with the task's id in aps",
        arguments: [
            Form(#"{"aps":{"alert":{"body":"b"}}}"#, #"{"aps":{"alert":{"body":"b"},"task_id":"ID"}}"#),
            Form(#"{"aps":{"alert":"b"}}"#, #"{"aps":{"alert":"b","task_id":"ID"}}"#),
            Form(#"{"aps":{"body":"b","issue-page":"10"}}"#, #"{"aps":{"body":"b","issue-page":"10","task_id":"ID"}}"#),
            Form(
                #"{"alert":{"body":"b","issue-page":1}}"#,
                #"{"alert":{"body":"b","issue-page":1},"aps":{"task_id":"ID"}}"#),
            Form(#"{"alert":"b","aps":{"badge":1}}"#, #"{"alert":"b","aps":{"badge":1,"task_id":"ID"}}"#),
            Form(#"{"body":"b","tab-id":"t"}"#, #"{"body":"b","tab-id":"t","aps":{"task_id":"ID"}}"#),
            Form(
                #"{"x":[1.0,{"y":null}],"aps":{"alert":{"n":1e1,"body":"b","a_b":1.10},"sound":"s"}}"#,
                #"{"x":[1.0,{"y":null}],"aps":{"alert":{"n":1e1,"body":"b","a_b":1.10},"sound":"s","task_id":"ID"}}"#
            ),
            Form(
                #"{"aps":{"alert":{"title":5,"body":true,"publisher-item-id":100200}}}"#,
                #"{"aps":{"alert":{"title":"5","body":"true","publisher-item-id":100200},"task_id":"ID"}}"#),
            Form(
                #"{"aps":{"alert":{"title":null,"body":"b","tab-id":"","issue-page":null,"own":""},"issue-guid":""}}"#,
                #"{"aps":{"alert":{"body":"b","own":""},"task_id":"ID"}}"#),
            Form(
                #"{"aps":{"alert":"b","content-available":"1"}}"#,
                #"{"aps":{"alert":"b","content-available":1,"task_id":"ID"}}"#),
            Form(
                #"{"aps":{"alert":"b","content-available":true}}"#,
                #"{"aps":{"alert":"b","content-available":1,"task_id":"ID"}}"#),
            Form(
                #"{"aps":{"alert":"b","content-available":0}}"#,
                #"{"aps":{"alert":"b","content-available":0,"task_id":"ID"}}"#),
            Form(#"{"aps":{"alert":"b","badge":" 3 "}}"#, #"{"aps":{"alert":"b","badge":3,"task_id":"ID"}}"#),
            Form(#"{"aps":{"alert":"b","badge":""}}"#, #"{"aps":{"alert":"b","task_id":"ID"}}"#),
            Form(#"{"aps":{"alert":"b","content-available":null}}"#, #"{"aps":{"alert":"b","task_id":"ID"}}"#),
            Form(#"{"aps":{"alert":"b","task_id":"mine"}}"#, #"{"aps":{"alert":"b","task_id":"ID"}}"#),
            Form(#"{"aps":{"alert":"b","event":7}}"#, #"{"aps":{"alert":"b","event":7,"task_id":"ID"}}"#),
        ])
    func apple(form: Form) async throws {
        try await RichieFixture.open { richie in
            let draft = try await richie.draft(try await richie.send(#"{"ios":\#(form.sent)}"#))
            #expect(RichieFixture.fields(draft, .ios) == #"{"payload":\#(form.expected)}"#)
            #expect(draft.audience.platforms == [.ios])
        }
    }

    @Test(
        "of iOS never belong to a Live Activity, even if the app has a key of its own that those use",
        arguments: [
            Form(#""alert":{"body":"b"},"event":"start""#, "alert"), Form(#""body":"b","event":"start""#, "alert"),
            Form(#""body":"b","content-available":1,"event":"start""#, "background"),
            Form(#""alert":"b","content-available":1,"event":"start""#, "alert"),
            Form(#""body":"b","content-available":0,"event":"start""#, "alert"),
        ])
    func event(form: Form) async throws {
        try await RichieFixture.open { richie in
            let draft = try await richie.draft(try await richie.send(#"{"ios":{"aps":{\#(form.sent)}}}"#))
            let payload = #"{"aps":{\#(form.sent),"task_id":"ID"}}"#
            #expect(
                RichieFixture.fields(draft, .ios) == #"{"payload":\#(payload),"push_type":"\#(form.expected)"}"#)
        }
    }

    @Test(
        "of Android come flat, as alert, and both at once",
        arguments: [
            Form(#"{"body":"b"}"#, #"{"body":"b","alert":"{\"body\":\"b\"}","task_id":"ID"}"#),
            Form(#"{"alert":{"body":"b"}}"#, #"{"body":"b","alert":"{\"body\":\"b\"}","task_id":"ID"}"#),
            Form(#"{"alert":"b"}"#, #"{"body":"b","alert":"{\"body\":\"b\"}","task_id":"ID"}"#),
            Form(
                #"{"title":"flat","body":"b","alert":{"title":"nested","issue-page":7}}"#,
                #"{"title":"nested","body":"b","issue-page":"7","#
                    + #""alert":"{\"title\":\"nested\",\"body\":\"b\",\"issue-page\":7}","task_id":"ID"}"#),
            Form(
                #"{"body":"b","price":1.10,"on":true,"none":null,"deep":{"a":[1]}}"#,
                #"{"body":"b","price":"1.10","on":"true","deep":"{\"a\":[1]}","#
                    + #""alert":"{\"body\":\"b\",\"price\":1.10,\"on\":true,\"none\":null,\"deep\":{\"a\":[1]}}","#
                    + #""task_id":"ID"}"#),
            Form(
                #"{"body":"b","from":"x","google.a":"y"}"#,
                #"{"body":"b","alert":"{\"body\":\"b\",\"from\":\"x\",\"google.a\":\"y\"}","task_id":"ID"}"#),
            Form(
                #"{"body":"b","title":"","tab-id":null}"#,
                #"{"body":"b","alert":"{\"body\":\"b\"}","task_id":"ID"}"#),
        ])
    func android(form: Form) async throws {
        try await RichieFixture.open { richie in
            let draft = try await richie.draft(try await richie.send(#"{"android":{"data":\#(form.sent)}}"#))
            #expect(RichieFixture.fields(draft, .android) == #"{"data":\#(form.expected),"data_only":true}"#)
            #expect(draft.audience.platforms == [.android])
        }
    }

    @Test("of Android are sent in the received form if both forms are too large, and without the id if that one is")
    func sizes() async throws {
        try await RichieFixture.open { richie in
            let (half, most) = (String(repeating: "x", count: 2100), String(repeating: "x", count: 4060))
            for (data, expected) in [
                (#"{"body":"\#(half)"}"#, ["body", "task_id"]),
                (#"{"alert":{"body":"\#(half)"}}"#, ["alert", "task_id"]),
                (#"{"title":"t","alert":"\#(half)"}"#, ["title", "alert", "task_id"]),
                (#"{"body":"\#(most)"}"#, ["body"]),
                (#"{"alert":{"body":"x"}}"#, ["body", "alert", "task_id"]),
            ] {
                let draft = try await richie.draft(try await richie.send(#"{"android":{"data":\#(data)}}"#))
                let names = draft.content.platforms[.android]?.fields["data"]?.objectValue?.names
                #expect(names == expected)
            }
        }
    }

    @Test(
        "give the same message as the native API's spelling of them",
        arguments: [
            (#""topics":["a","b"]"#, #""topics":["a","b"]"#), (#""topics":["x","all_users"]"#, #""all":true"#),
            (#""external_user_ids":["u",5],"topics":["a"]"#, #""users":["u","5"],"topics":["a"]"#),
        ])
    func oneTruth(target: String, audience: String) async throws {
        try await RichieFixture.open { richie in
            let alert = #"{"title":"t","body":"b","count":1.0}"#
            let theirs = try await richie.draft(
                try await richie.post(
                    #"{"app_id":"an-app",\#(target),"payloads":{"ios":{"aps":{"alert":\#(alert)}},"#
                        + #""android":{"data":\#(alert)}}}"#))
            let reply = try await richie.fixture.adminText(
                .post, "…/messages",
                """
                {"audience":{\(audience),"platforms":["ios","android"]},"content":{
                "ios":{"payload":{"aps":{"alert":\(alert),"task_id":"\(theirs.id)"}}},
                "android":{"data":{"title":"t","body":"b","count":"1.0","alert":\(JSON.string(alert).text),
                "task_id":"\(theirs.id)"},"data_only":true}}}
                """)
            let id = try #require(MessageID(reply["id"]?.stringValue ?? ""), "\(reply.text)")
            var ours = try #require(await richie.fixture.draft(id))
            // Only the native API names the platforms without content; neither message reaches them.
            ours.content.absentPlatforms = []
            #expect(theirs.content == ours.content)
            #expect(theirs.audience == ours.audience)
            #expect(theirs.options == ours.options)
            #expect(theirs.expiresAt == ours.expiresAt)
        }
    }
}
