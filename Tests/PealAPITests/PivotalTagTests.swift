import HTTPTypes
import PealAPI
import PealCore
import PealTesting
import Testing

@Suite("Pivotal tags and registrations")
struct PivotalTagTests {
    private typealias Caller = @Sendable (HTTPRequest.Method, String, String?) async throws -> Fixture.Reply

    private static func uuid(_ number: Int) -> String { "10000000-0000-4000-8000-00000000000\(number)" }

    private static func address(_ number: Int) -> String { String(repeating: "A\(number)", count: 32) }

    /// Three phones of two kinds: 1 and 2 in `news`, 2 of a sandbox, 3 an Android one.
    private static func open(
        options: APIOptions = APIOptions(), _ body: @escaping @Sendable (Fixture, _ call: Caller) async throws -> Void
    ) async throws {
        try await Fixture.open(options: options) { fixture in
            try await fixture.makePivotalKey()
            _ = try await fixture.key(
                "pivotal-platform",
                [("platform_uuid", "p-ios"), ("platform_secret", "a-secret-for-tests"), ("platform", "ios")])
            for number in 1...3 {
                let reply = try await fixture.admin(
                    .put, "…/devices/\(uuid(number))",
                    [
                        "platform": number < 3 ? "ios" : "android", "address": .string(address(number)),
                        "environment": number == 2 ? "sandbox" : "production", "topics": number < 3 ? ["news"] : [],
                        "user_id": .string("User-\(number)"), "alias": .string("Phone of Ann \(number)"),
                    ])
                try #require(reply.status == 201, "\(reply.text)")
            }
            try await body(fixture, fixture.pivotal)
        }
    }

    @Test("show registrations as documented, with totals")
    func shape() async throws {
        try await Self.open { _, call in
            let reply = try await call(.get, "/v2/registrations?size=1&platform=android", nil)
            #expect(
                reply.text == """
                    {"registrations":[{"os":"android","os_version":"","device_model":"","device_manufacturer":"",\
                    "device_alias":"Phone of Ann 3","registration_token":"\(Self.address(3))",\
                    "device_uuid":"\(Self.uuid(3))","active":true}],"totalRegistrations":1,"totalPages":1,"page":1,\
                    "size":1}
                    """)
            let none = try await call(.get, "/v2/registrations/?size=0", nil)
            #expect(none["registrations"] == [] && none["totalRegistrations"] == 3 && none["totalPages"] == 0)
            let pages = try await [1, 2, 3].asyncMap { page in
                try await call(.get, "/v2/registrations?size=2&page=\(page)", nil)["registrations"]?.arrayValue ?? []
            }
            #expect(pages.map(\.count) == [2, 1, 0])
            #expect(Set(pages.joined().compactMap { $0["device_uuid"] }).count == 3)
        }
    }

    @Test("show a browser by the endpoint of its subscription")
    func browser() async throws {
        try await Self.open { fixture, call in
            let endpoint = "https://fcm.googleapis.com/fcm/send/x"
            let reply = try await fixture.adminText(
                .post, "…/devices",
                """
                {"platform":"web","topics":["web"],"address":{"endpoint":"\(endpoint)",\
                "keys":{"p256dh":"\(String(repeating: "A", count: 87))",\
                "auth":"\(String(repeating: "A", count: 22))"}}}
                """)
            #expect(reply.status == 201, "\(reply.text)")
            let found = try await call(.get, "/v2/registrations?q=fcm.googleapis.com", nil)
            #expect(found["registrations.0.registration_token"] == .string(endpoint), "\(found.text)")
            let tagged = try await call(.get, "/v1/tags/all/web", nil)
            #expect(tagged["0.registration_token"] == .string(endpoint), "\(tagged.text)")
        }
    }

    @Test(
        "find registrations by parts of their names",
        arguments: [
            ("", "123"), ("platform=all", "123"), ("platform=ios", "12"), ("platform=windows8", ""),
            ("platform=android-fcm", "3"), ("platformUuid=p-ios", "1"), ("platformUuid=nobody", ""),
            ("platformUuid=p-ios&platform=android", ""), ("topic=NEWS", "12"), ("topic=other", ""),
            ("topic=news&q=user-2", "2"), ("q=user-", "123"), ("q=USER-3", "3"), ("q=ann+2", "2"), ("q=a1a1a1", "1"),
            ("q=A3A3&platform=ios", ""), ("q=0-4000-8000-000000000001", "1"),
            ("q=10000000-0000-4000-8000-000000000002", "2"), ("q=%25", ""), ("q=zzz", ""),
            ("q=10000000-0000-4000-8000-000000000009", ""), ("q=10000000-0000-4000-8000-000000000002&topic=x", ""),
        ])
    func search(query: String, numbers: String) async throws {
        try await Self.open { _, call in
            let reply = try await call(.get, "/v2/registrations?\(query)", nil)
            let found = reply["registrations"]?.arrayValue?.compactMap { $0["device_uuid"]?.stringValue?.last } ?? []
            #expect(String(found.sorted()) == numbers, "\(reply.text)")
            #expect(reply["totalRegistrations"]?.integerValue == Int64(numbers.count))
        }
    }

    @Test("find users and aliases whose names are UUIDs, and the device with that id first")
    func uuids() async throws {
        try await Self.open { fixture, call in
            let user = "30000000-0000-4000-8000-000000000007"
            for (number, name, value) in [(1, "user_id", user), (3, "alias", user), (2, "user_id", Self.uuid(3))] {
                _ = try await fixture.admin(
                    .put, "…/devices/\(Self.uuid(number))",
                    [
                        "platform": number < 3 ? "ios" : "android", "address": .string(Self.address(number)),
                        "environment": number == 2 ? "sandbox" : "production", name: .string(value),
                    ])
            }
            func found(_ query: String) async throws -> [JSON?] {
                let reply = try await call(.get, "/v2/registrations?q=\(query)", nil)
                return reply["registrations"]?.arrayValue?.map { $0["device_uuid"] } ?? []
            }
            #expect(try await found(user) == [.string(Self.uuid(1)), .string(Self.uuid(3))])
            #expect(try await found(Self.uuid(3)) == [.string(Self.uuid(3)), .string(Self.uuid(2))])
            #expect(try await found("\(Self.uuid(3))&size=1&page=2") == [.string(Self.uuid(2))])
        }
    }

    @Test(
        "refuse parameters that no listing has",
        arguments: ["size=51", "size=-1", "page=0", "platform=amiga", "size=x"])
    func refused(query: String) async throws {
        try await Self.open { _, call in
            let reply = try await call(.get, "/v2/registrations?\(query)", nil)
            #expect(reply.status == 400)
        }
    }

    @Test("a retired device is no registration, unless it is asked for by its whole id")
    func retired() async throws {
        try await Self.open { fixture, call in
            // Its address moves to another device.
            _ = try await fixture.admin(
                .put, "…/devices/\(Self.uuid(1))", ["platform": "ios", "address": .string(Self.address(9))])
            _ = try await fixture.admin(
                .put, "…/devices/\(Self.uuid(2))", ["platform": "ios", "address": .string(Self.address(9))])
            let all = try await call(.get, "/v2/registrations", nil)
            #expect(all["totalRegistrations"] == 2, "\(all.text)")
            let one = try await call(.get, "/v2/registrations?q=\(Self.uuid(1))", nil)
            #expect(one["registrations.0.active"] == false, "\(one.text)")
        }
    }

    @Test(
        "list users with a device", arguments: [("", "123"), ("?q=", "123"), ("?q=user-2", "2"), ("?q=zzz", "")])
    func users(query: String, numbers: String) async throws {
        try await Self.open { _, call in
            let reply = try await call(.get, "/v2/custom_user_ids\(query)", nil)
            #expect(reply["custom_user_ids"] == .array(numbers.map { .string("User-\($0)") }), "\(reply.text)")
        }
    }

    @Test("tags are topics by their older name")
    func tags() async throws {
        try await Self.open { _, call in
            let made = try await call(.post, "/v1/tags/Beta%20Test", nil)
            #expect(made.text == #"{"text":"beta test"}"#)
            #expect(try await call(.post, "/v1/tags/beta%20test", nil).status == 200)
            #expect(try await call(.get, "/v1/tags/", nil).text == #"{"tags":["beta test","news"]}"#)
            let all = try await call(.get, "/v1/tags/all/NEWS", nil)
            #expect(all["0.device_uuid"] == .string(Self.uuid(1)), "\(all.text)")
            #expect(all["1.tags"] == [["text": "news"]])
            for (path, count) in [
                ("news", "2"), ("News", "2"), ("ios/news", "2"), ("android/news", "0"), ("p-ios/news", "1"),
                ("nobody/news", "0"), ("none", "0"),
            ] {
                #expect(try await call(.get, "/v1/tags/count/\(path)", nil).text == count, "\(path)")
            }
            #expect(try await call(.delete, "/v1/tags/news", nil).status == 204)
            #expect(try await call(.delete, "/v1/tags/news", nil).status == 404)
            _ = try await call(.post, "/v2/topics", #"{"name":"batch"}"#)
            #expect(try await call(.delete, "/v1/tags/batch", nil).status == 204)
            #expect(try await call(.get, "/v1/tags", nil).text == #"{"tags":["beta test"]}"#)
        }
    }

    @Test("are the same tag with either form of sigma, and their limit applies in lower case")
    func letters() async throws {
        try await Self.open { _, call in
            let device = #"{"device_uuid":"\#(Self.uuid(1))","tags":["σοφος"]}"#
            #expect(try await call(.post, "/v1/tags/batch", "[\(device)]").status == 200)
            for name in ["%CE%A3%CE%9F%CE%A6%CE%9F%CE%A3", "%CF%83%CE%BF%CF%86%CE%BF%CF%82"] {
                #expect(try await call(.get, "/v1/tags/count/\(name)", nil).text == "1", "\(name)")
            }
            // Each letter is two characters in lower case.
            for (count, status) in [(127, 200), (128, 400)] {
                let tag = String(repeating: "İ", count: count)
                let reply = try await call(
                    .post, "/v1/tags/batch", #"[{"device_uuid":"\#(Self.uuid(1))","tags":["\#(tag)"]}]"#)
                #expect(reply.status == status, "\(reply.text)")
            }
        }
    }

    @Test("subscribe devices in batches by uuid or by token, all of them or none")
    func batch() async throws {
        try await Self.open { fixture, call in
            let good = #"{"device_uuid":"\#(Self.uuid(1))","tags":["Tag1","tag2"]}"#
            let reply = try await call(
                .post, "/v1/tags/batch",
                #"[\#(good),{"registration_token":"\#(Self.address(3))","tags":["tag1"]}]"#)
            #expect(reply.status == 200)
            #expect(
                reply.text == #"{"device_uuid":["\#(Self.uuid(1))"],"registration_token":["\#(Self.address(3))"]}"#)
            #expect(try await fixture.admin(.get, "…/devices/\(Self.uuid(1))")["topics"] == ["news", "tag1", "tag2"])
            #expect(try await call(.get, "/v1/tags/count/tag1", nil).text == "2")
            let bad = try await call(
                .post, "/v1/tags/batch",
                #"[{"device_uuid":"\#(Self.uuid(2))","tags":["x"]},{"registration_token":"nobody's","tags":["x"]}]"#)
            #expect(bad.status == 400)
            #expect(bad["0.registration_token"] == "nobody's" && bad["0.error"]?.stringValue?.isEmpty == false)
            #expect(bad.json.arrayValue?.count == 1)
            #expect(try await call(.get, "/v1/tags/count/x", nil).text == "0")
            #expect(try await call(.get, "/v1/tags", nil)["tags"]?.arrayValue?.contains("x") == false)
        }
    }

    @Test("refuse a batch with too many tags, and name the devices after them")
    func largeBatch() async throws {
        var options = APIOptions()
        options.topicChangesPerBatchMax = 3
        try await Self.open(options: options) { _, call in
            let item = { (number: Int) in #"{"device_uuid":"\#(Self.uuid(number))","tags":["a","b"]}"# }
            let reply = try await call(.post, "/v1/tags/batch", "[\(item(1)),\(item(2)),\(item(3))]")
            #expect(reply.status == 400 && reply.json.arrayValue?.count == 1, "\(reply.text)")
            #expect(reply["0.device_uuid"]?.stringValue == Self.uuid(3))
            #expect(try await call(.get, "/v1/tags/count/a", nil).text == "0")
            #expect(try await call(.post, "/v1/tags/batch", "[\(item(1)),\(item(2))]").status == 200)
        }
    }

    @Test(
        "refuse batches that cannot be read",
        arguments: [
            ("[{}]", true), (#"[{"device_uuid":"x","tags":["a"]}]"#, true),
            (#"[{"device_uuid":"10000000-0000-4000-8000-000000000001","tags":"a"}]"#, true), ("{}", false),
            ("[1]", false), ("", false),
        ])
    func badBatch(body: String, isListed: Bool) async throws {
        try await Self.open { _, call in
            let reply = try await call(.post, "/v1/tags/batch", body)
            #expect(reply.status == 400)
            #expect((reply["0.error"] != nil) == isListed, "\(reply.text)")
            #expect((reply["timestamp"] != nil) == !isListed)
        }
    }

    @Test(
        "need the application's key",
        arguments: ["/v2/registrations", "/v2/topics", "/v1/tags", "/v2/custom_user_ids"])
    func withoutKey(path: String) async throws {
        try await Self.open { fixture, _ in
            let nobody = try await fixture.call(.get, path, authorization: nil)
            #expect(nobody.status == 401)
            let platform = try await fixture.call(
                .get, path, authorization: fixture.basic("p-ios", "a-secret-for-tests"))
            #expect(platform.status == 401)
        }
    }
}

extension Sequence where Element: Sendable {
    /// One after the other.
    fileprivate func asyncMap<R>(_ transform: (Element) async throws -> R) async rethrows -> [R] {
        var results: [R] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
