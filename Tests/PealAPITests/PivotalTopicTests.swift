import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Pivotal topics")
struct PivotalTopicTests {
    private typealias Caller = @Sendable (HTTPRequest.Method, String, String?) async throws -> Fixture.Reply

    private static func open(_ body: @escaping @Sendable (Fixture, _ call: Caller) async throws -> Void) async throws {
        try await Fixture.open { fixture in
            try await fixture.makePivotalKey()
            try await body(fixture, fixture.pivotal)
        }
    }

    private static func register(_ fixture: Fixture, _ number: Int, topics: [JSON]) async throws {
        let reply = try await fixture.admin(
            .put, "…/devices/10000000-0000-4000-8000-00000000000\(number)",
            [
                "platform": "ios", "address": .string(String(repeating: "0\(number)", count: 32)),
                "topics": .array(topics),
            ])
        try #require(reply.status == 201, "\(reply.text)")
    }

    /// The time of the tests' clock.
    private static let now: Int64 = 1_795_219_200_000

    @Test("are created once, in lower case, and shown with their numbers")
    func make() async throws {
        try await Self.open { _, call in
            let made = try await call(.post, "/v2/topics/", #"{"name":"Cheese"}"#)
            #expect(made.status == 201)
            #expect(made.text == #"{"id":1,"name":"cheese"}"#)
            let dated = try await call(.post, "/v2/topics", #"{"name":"fair","expireAt":\#(Self.now + 5000)}"#)
            #expect(dated.text == #"{"id":2,"name":"fair","expireAt":\#(Self.now + 5000)}"#)
            let again = try await call(.post, "/v2/topics", #"{"name":"FAIR","timeToLive":"60"}"#)
            #expect(again.status == 201)
            #expect(again.text == dated.text, "an existing topic stays as it is")
            let lasting = try await call(.post, "/v2/topics", #"{"name":"week","timeToLive":60}"#)
            #expect(lasting["expireAt"]?.integerValue == Self.now + 60_000)
        }
    }

    @Test(
        "are refused where they say nothing or too much",
        arguments: [
            "{}", #"{"name":""}"#, #"{"name":"a","timeToLive":59}"#, #"{"name":"a","timeToLive":0}"#,
            #"{"name":"a","expireAt":\#(now)}"#, #"{"name":"a","expireAt":\#(now + 90_000),"timeToLive":60}"#,
            #"{"name":"a","expireAt":"soon"}"#, #"{"name":{}}"#, "[]", "", #"{"name":"a\u0007"}"#,
            #"{"name":"a","timeToLive":9223372036854775807}"#,
        ])
    func refused(body: String) async throws {
        try await Self.open { fixture, call in
            let reply = try await call(.post, "/v2/topics", body)
            #expect(reply.status == 400, "\(reply.text)")
            #expect(reply["path"] == "/v2/topics")
            #expect(try await fixture.census()["topics"] == 0)
        }
    }

    @Test(
        "have at most 255 characters, as natively, in lower case too",
        arguments: [(255, "ä", 201), (256, "ä", 400), (127, "İ", 201), (128, "İ", 400)])
    func length(count: Int, letter: String, status: Int) async throws {
        try await Self.open { fixture, call in
            let name = String(repeating: letter, count: count)
            let made = try await call(.post, "/v2/topics", #"{"name":"\#(name)"}"#)
            #expect(made.status == status, "\(made.text)")
            guard let stored = made["name"]?.stringValue else { return }
            let path = "…/topics/\(PercentCoding.encode(stored))"
            #expect(try await fixture.admin(.get, path).status == 200)
            #expect(try await fixture.admin(.delete, path).status == 204)
        }
    }

    @Test("are listed by pages, by a part of the name and by whether they expire")
    func list() async throws {
        try await Self.open { _, call in
            for index in 0..<5 {
                let life = index < 2 ? #","timeToLive":100"# : ""
                _ = try await call(.post, "/v2/topics", #"{"name":"topic-\#(index)"\#(life)}"#)
            }
            let first = try await call(.get, "/v2/topics?size=2", nil)
            #expect(
                first.text == """
                    {"topics":[{"id":1,"name":"topic-0","expireAt":\(Self.now + 100_000)},{"id":2,"name":"topic-1",\
                    "expireAt":\(Self.now + 100_000)}],"totalTopics":5,"totalPages":3,"page":1,"size":2}
                    """)
            let last = try await call(.get, "/v2/topics?size=2&page=3", nil)
            #expect(last["topics.0.name"] == "topic-4" && last["topics"]?.arrayValue?.count == 1)
            let beyond = try await call(.get, "/v2/topics?page=2", nil)
            #expect(beyond["topics"] == [] && beyond["totalTopics"] == 5 && beyond["size"] == 20)
            #expect(try await call(.get, "/v2/topics?q=C-4", nil)["totalTopics"] == 1)
            #expect(try await call(.get, "/v2/topics?q=topic&size=2&page=2", nil)["topics.0.name"] == "topic-2")
            #expect(try await call(.get, "/v2/topics?hasExpiry=true", nil)["totalTopics"] == 2)
            #expect(try await call(.get, "/v2/topics?hasExpiry=false&q=3", nil)["totalTopics"] == 1)
            #expect(try await call(.get, "/v2/topics?hasExpiry=true&q=3", nil)["totalTopics"] == 0)
            for query in ["size=0", "size=51", "page=0", "page=x", "hasExpiry=perhaps", "page=99999999999"] {
                #expect(try await call(.get, "/v2/topics?\(query)", nil).status == 400, "\(query)")
            }
        }
    }

    @Test("that have expired are not listed, targetable or shown on devices, and can be created again")
    func expiry() async throws {
        try await Self.open { fixture, call in
            _ = try await call(.post, "/v2/topics", #"{"name":"fair","timeToLive":60}"#)
            try await Self.register(fixture, 1, topics: ["fair", "news"])
            let push = #"{"message":{"body":"x"},"target":{"topics":["fair"]}}"#
            #expect(try await Self.devices(fixture, try await call(.post, "/v1/push", push)) == 1)
            fixture.clock.advance(by: .seconds(60))
            let list = try await call(.get, "/v2/topics", nil)
            #expect(list["totalTopics"] == 1 && list["topics.0.name"] == "news", "\(list.text)")
            #expect(try await Self.devices(fixture, try await call(.post, "/v1/push", push)) == 0)
            let path = "…/devices/10000000-0000-4000-8000-000000000001"
            #expect(try await fixture.admin(.get, path)["topics"] == ["news"])
            #expect(try await call(.get, "/v1/tags/all/news", nil)["0.tags"] == [["text": "news"]])
            #expect(try await call(.get, "/v1/tags/all/fair", nil).text == "[]")
            #expect(try await call(.get, "/v1/tags/count/fair", nil).text == "0")
            #expect(try await call(.get, "/v2/registrations?topic=fair", nil)["totalRegistrations"] == 0)
            #expect(try await call(.delete, "/v2/topics/1", nil).status == 404)
            // No device of the former topic is in the new one until it subscribes again.
            let again = try await call(.post, "/v2/topics", #"{"name":"fair"}"#)
            #expect(again.text == #"{"id":3,"name":"fair"}"#)
            #expect(try await Self.devices(fixture, try await call(.post, "/v1/push", push)) == 0)
            _ = try await fixture.admin(.patch, path, ["topics": ["fair", "news"]])
            #expect(try await Self.devices(fixture, try await call(.post, "/v1/push", push)) == 1)
        }
    }

    /// How many devices an accepted push has at this instant.
    private static func devices(_ fixture: Fixture, _ reply: Fixture.Reply) async throws -> Int {
        let id = try #require(MessageID(reply["receipt_id"]?.stringValue ?? ""), "\(reply.text)")
        let draft = try #require(await fixture.draft(id))
        let now = fixture.clock.now
        return try await fixture.store.read {
            try $0.audienceCount(app: draft.app, draft.audience, environment: nil, now: now)
        }.values.reduce(0, +)
    }

    @Test("are created and removed in batches")
    func batches() async throws {
        try await Self.open { fixture, call in
            _ = try await call(.post, "/v2/topics", #"{"name":"old"}"#)
            let made = try await call(
                .post, "/v2/topics/batch/",
                """
                {"topics":[{"name":"A"},{"name":"old"},{"name":"a"},{"name":"b","timeToLive":60}],"returnTopics":true}
                """)
            #expect(made.status == 201)
            #expect(
                made.text == """
                    {"numTopicsCreated":2,"numTopicsExisted":2,"topics":[{"id":2,"name":"a"},\
                    {"id":3,"name":"b","expireAt":\(Self.now + 60_000)}]}
                    """)
            let silent = try await call(.post, "/v2/topics/batch", #"{"topics":[{"name":"c"}]}"#)
            #expect(silent.text == #"{"numTopicsCreated":1,"numTopicsExisted":0}"#)
            let named = try await call(.post, "/v2/topics/batch", #"{"topics":["E","c"],"returnTopics":1}"#)
            #expect(named["numTopicsCreated"] == 1 && named["topics.0.name"] == "e", "\(named.text)")
            let bad = try await call(.post, "/v2/topics/batch", #"{"topics":[{"name":"d"},{"name":""}]}"#)
            #expect(bad.status == 400)
            #expect(bad["message"]?.stringValue?.contains("topics[1].name") == true, "\(bad.text)")
            try await Self.register(fixture, 1, topics: ["a"])
            let gone = try await call(.delete, "/v2/topics/batch", #"{"topicIds":[2,"3",2,99]}"#)
            #expect(gone.status == 200)
            #expect(gone.text == #"{"numTopicsDeleted":2}"#)
            #expect(try await call(.get, "/v2/topics", nil)["totalTopics"] == 3)
            let path = "…/devices/10000000-0000-4000-8000-000000000001"
            #expect(try await fixture.admin(.get, path)["topics"] == [])
            #expect(try await call(.delete, "/v2/topics/1", nil).status == 204)
            for path in ["/v2/topics/1", "/v2/topics/x", "/v2/topics/99"] {
                #expect(try await call(.delete, path, nil).status == 404, "\(path)")
            }
        }
    }

    @Test("are limited to 1024 in a batch", arguments: [(1024, 201, 200), (1025, 400, 400)])
    func batchLimit(count: Int, made: Int, gone: Int) async throws {
        try await Self.open { _, call in
            let topics = (0..<count).map { #"{"name":"t\#($0)"}"# }.joined(separator: ",")
            let making = try await call(.post, "/v2/topics/batch", #"{"topics":[\#(topics)]}"#)
            #expect(making.status == made)
            let numbers = (1...count).map(String.init).joined(separator: ",")
            let deleting = try await call(.delete, "/v2/topics/batch", #"{"topicIds":[\#(numbers)]}"#)
            #expect(deleting.status == gone)
        }
    }
}
