import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("The target of a Pivotal push")
struct PivotalPushTargetTests {
    struct Target: Sendable, CustomTestStringConvertible {
        let text: String
        /// nil = refused.
        let devices: Int64?
        var testDescription: String { text }
        init(_ text: String, _ devices: Int64?) { (self.text, self.devices) = (text, devices) }
    }

    private static let first = "10000000-0000-4000-8000-000000000001"

    private static func topics(_ count: Int) -> String {
        "[\((0..<count).map { "\"t\($0)\"" }.joined(separator: ","))]"
    }

    @Test(
        "selects devices as documented",
        arguments: [
            Target(#"{"devices":["\#(first)","111-222-333444"]}"#, 1),
            Target(#"{"devices":["111-222-333444"]}"#, 0),
            Target(#"{"devices":["\#(first)"],"topics":["other"],"platforms":["android"]}"#, 1),
            Target(#"{"devices":["\#(first)"],"platforms":["platform1"],"platform":"platform2"}"#, 1),
            // `devices` overrides the others, whatever they are.
            Target(#"{"devices":["\#(first)"],"topics":"other","tags":[{}],"custom_user_ids":5}"#, 1),
            Target(#"{"devices":["\#(first)"],"topics":\#(topics(1025)),"custom_user_ids":\#(topics(4097))}"#, 1),
            Target(#"{"devices":["\#(first)"],"topics":\#(topics(1024)),"tags":["one more"]}"#, 1),
            Target(#"{"devices":[],"topics":["other"],"custom_user_ids":5}"#, nil),
            Target(#"{"devices":["\#(String(repeating: "x", count: 300))","a\u0007","\#(first)",null,7]}"#, 1),
            Target(#"{"custom_user_ids":["\#(String(repeating: "x", count: 1021))","u1","a\n"]}"#, 1),
            Target(#"{"custom_user_ids":["\#(String(repeating: "x", count: 1021))"]}"#, 0),
            Target(#"{"topics":["\#(String(repeating: "x", count: 1021))","OTHER"],"tags":["local_seminars"]}"#, 3),
            Target(#"{"topics":["\#(String(repeating: "x", count: 1021))"]}"#, 0),
            Target(#"{"topics":["Local_Seminars","other"]}"#, 3), Target(#"{"tags":["OTHER"]}"#, 1),
            Target(#"{"topics":["other"],"platforms":["android"]}"#, 0),
            Target(#"{"topics":["other"],"platforms":["android"],"platform":"ios"}"#, 1),
            Target(#"{"topics":["other"],"platforms":["android"],"platform":"all"}"#, 1),
            Target(#"{"platforms":["ios","android-fcm","windowsPhone"]}"#, 3),
            Target(#"{"platform":"all"}"#, 3), Target(#"{"platform":"all","interactive-only":true}"#, 2),
            Target(#"{"platform":"all","interactive_only":"1"}"#, 2),
            Target(#"{"custom_user_ids":["u1","u9"]}"#, 1),
            Target(#"{"custom_user_ids":["u1","u3"],"topics":["local_seminars"]}"#, 3),
            Target(#"{"custom_user_ids":["u1"],"platforms":["android"]}"#, 0),
            Target(#"{"devices":[],"topics":[],"platforms":[],"platform":""}"#, nil),
            Target(#"{"interactive-only":true}"#, nil), Target("{}", nil), Target("[]", nil),
            Target(#"{"platforms":["amiga"]}"#, nil), Target(#"{"topics":"other"}"#, nil),
            Target(#"{"topics":[{}]}"#, nil),
            // Lists without a valid name address no devices, whatever else the target contains.
            Target(#"{"devices":[""],"platforms":["ios"]}"#, 0), Target(#"{"devices":[null],"platform":"all"}"#, 0),
            Target(#"{"custom_user_ids":[""],"platforms":["ios"]}"#, 0), Target(#"{"custom_user_ids":[""]}"#, 0),
            Target(#"{"topics":["",null],"platform":"all"}"#, 0), Target(#"{"tags":[""],"platform":"all"}"#, 0),
            Target(#"{"custom_user_ids":[],"topics":[],"platforms":["ios"]}"#, 3),
        ])
    func targets(target: Target) async throws {
        try await PivotalPushFixture.open { fixture, push in
            let reply = try await push(#"{"message":{"body":"x"},"target":\#(target.text)}"#)
            guard let devices = target.devices else {
                #expect(reply.status == 400, "\(reply.text)")
                #expect(try await fixture.census()["messages"] == 0)
                return
            }
            let draft = try await PivotalPushFixture.draft(fixture, reply)
            let shown = try await fixture.admin(.get, "…/messages/\(draft.id)")
            #expect(shown["audience.devices"]?.integerValue ?? 0 >= 0)
            let (app, now) = (draft.app, fixture.clock.now)
            let count = try await fixture.store.read { store in
                try store.audienceCount(app: app, draft.audience, environment: nil, now: now)
            }
            #expect(Int64(count.values.reduce(0, +)) == devices)
        }
    }

    @Test(
        "takes up to 4096 devices, 4096 users and 1024 topics",
        arguments: [
            ("devices", 4096, 200), ("devices", 4097, 400), ("custom_user_ids", 4096, 200),
            ("custom_user_ids", 4097, 400), ("topics", 1024, 200), ("topics", 1025, 400),
        ])
    func limits(name: String, count: Int, status: Int) async throws {
        try await PivotalPushFixture.open { _, push in
            let elements = (0..<count).map { #""e\#($0)""# }.joined(separator: ",")
            let reply = try await push(#"{"message":{"body":"x"},"target":{"\#(name)":[\#(elements)]}}"#)
            #expect(reply.status == status)
        }
    }

    @Test("counts topics and tags together")
    func topicsAndTags() async throws {
        try await PivotalPushFixture.open { _, push in
            let names = { (prefix: String) in (0..<1024).map { "\"\(prefix)\($0)\"" }.joined(separator: ",") }
            let both = #"{"topics":[\#(names("a"))],"tags":["a1","b"]}"#
            let refused = try await push(#"{"message":{"body":"x"},"target":\#(both)}"#)
            #expect(refused.status == 400)
            let alike = #"{"topics":[\#(names("a"))],"tags":["a1","a2"]}"#
            let taken = try await push(#"{"message":{"body":"x"},"target":\#(alike)}"#)
            #expect(taken.status == 200)
        }
    }
}
