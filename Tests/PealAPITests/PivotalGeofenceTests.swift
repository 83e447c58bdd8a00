import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Pivotal geofences")
struct PivotalGeofenceTests {
    /// A fixture with an application and two platforms, and what calls them.
    private struct Fences: Sendable {
        let fixture: Fixture
        let backend: String
        let phone: String
        let android: String

        func call(_ method: String, _ path: String, _ body: JSON? = nil, as who: String? = nil) async throws
            -> Fixture.Reply
        {
            try await fixture.call(
                .init(method)!, path, body: body?.text, authorization: who ?? backend)
        }

        /// Two locations, 1 and 2.
        func locations() async throws {
            for name in ["Market", "Station"] {
                let reply = try await call(
                    "POST", "/v1/locations",
                    ["name": .string(name), "lat": "47.80", "long": .number("13.0450"), "rad": 150])
                try #require(reply.status == 200, "\(reply.text)")
            }
        }

        func fence(_ more: [(String, JSON)] = []) async throws -> Fixture.Reply {
            var body = JSON.Members([
                ("locations", ["1", 2]), ("trigger_type", "enter"), ("start_time", 0),
                ("expiry_time", .integer(fixture.clock.now.milliseconds + 86_400_000)), ("platform", "all"),
                ("data", ["ios": ["alertBody": "Pizza", "applicationBadgeNumber": 3], "android": ["k": "v"]]),
            ])
            for (name, value) in more { body[name] = value }
            return try await call("POST", "/v1/geofence", .object(body))
        }

        func sync(_ timestamp: Int64 = 0, device: String = "", as who: String? = nil) async throws -> Fixture.Reply {
            try await call(
                "GET", "/v1/geofences?timestamp=\(timestamp)&device_uuid=\(device)&platform=ios", as: who ?? phone)
        }

        func drafts() async throws -> [MessageDraft] {
            let id = fixture.app
            return try await fixture.store.read { store in
                guard let app = try store.app(id)?.key else { return [] }
                return try store.messages(app: app, MessageFilter(), before: nil, limit: 100).compactMap {
                    try store.draft(app: app, id: $0.id)
                }
            }
        }

        func device(_ digit: Int, platform: JSON = "ios", topics: JSON = []) async throws -> String {
            let id = "10000000-0000-4000-8000-00000000000\(digit)"
            let reply = try await fixture.admin(
                .put, "…/devices/\(id)",
                [
                    "platform": platform, "address": .string(String(repeating: "0\(digit)", count: 32)),
                    "topics": topics,
                ])
            try #require(reply.status == 201)
            return id
        }
    }

    private static func open(_ body: @escaping @Sendable (Fences) async throws -> Void) async throws {
        try await Fixture.open { fixture in
            try await fixture.makePivotalKey()
            for platform in ["ios", "android"] {
                _ = try await fixture.key(
                    "pivotal-platform",
                    [
                        ("platform_uuid", .string(platform)), ("platform_secret", "platform-secret-1"),
                        ("platform", .string(platform)),
                    ])
            }
            try await body(
                Fences(
                    fixture: fixture, backend: fixture.pivotalBackend,
                    phone: fixture.basic("ios", "platform-secret-1", spaces: "  "),
                    android: fixture.basic("android", "platform-secret-1")))
        }
    }

    @Test("are returned with every member, in both spellings where documents and SDKs differ")
    func shape() async throws {
        try await Self.open { fences in
            try await fences.locations()
            let reply = try await fences.fence([("tags", ["Local", "dairy"])])
            let now = fences.fixture.clock.now.milliseconds
            #expect(
                reply.text
                    == """
                    {"id":1,"tags":["dairy","local"],"trigger_type":"enter","start_time":0,\
                    "expiry_time":\(now + 86_400_000),"platform":"all","locations":[\
                    {"id":1,"name":"Market","lat":"47.80","long":"13.0450","rad":150,"created_at":\(now),\
                    "updated_at":\(now)},{"id":2,"name":"Station","lat":"47.80","long":"13.0450","rad":150,\
                    "created_at":\(now + 1),"updated_at":\(now + 1)}],"data":{"ios":{"alertBody":"Pizza",\
                    "applicationBadgeNumber":3,"applicationIconBadgeNumber":3},"android":{"k":"v"},\
                    "androidFcm":{"k":"v"}},"created_at":\(now + 2),"updated_at":\(now + 2)}
                    """)
            let group = try await fences.call(
                "POST", "/v1/location_groups", ["name": "Centre", "location_ids": [1], "description": "x"])
            #expect(group["locations.0.createdAt"] == .integer(now) && group["locations.0.created_at"] == .integer(now))
            let list = try await fences.call("GET", "/v1/geofence?page=1&size=10")
            #expect(list["totalGeofences"] == 1 && list["totalPages"] == 1 && list["size"] == 10)
            #expect(list["geofences.0"] == reply.json)
            #expect(try await fences.call("GET", "/v1/locations?q=stat")["locations.0.id"] == 2)
            #expect(try await fences.call("GET", "/v1/location_groups/")["totalLocationGroups"] == 1)
            #expect(try await fences.call("GET", "/v1/geofences/1")["triggered"] == 0)
        }
    }

    @Test("change by what a PUT gives, and end with 204")
    func changes() async throws {
        try await Self.open { fences in
            try await fences.locations()
            _ = try await fences.fence([("tags", ["a"])])
            let put = try await fences.call(
                "PUT", "/v1/geofence/1", ["trigger_type": "exit", "locations": [["id": 2]], "tags": []])
            #expect(put.status == 200 && put["trigger_type"] == "exit" && put["tags"] == [])
            #expect(put["locations.0.id"] == 2 && put["locations.1"] == nil && put["data.ios.alertBody"] == "Pizza")
            #expect(try await fences.call("DELETE", "/v1/locations/2").status == 409)
            #expect(try await fences.call("DELETE", "/v1/locations/1").status == 204)
            #expect(try await fences.call("PUT", "/v1/locations/2", ["rad": "75.5"])["rad"] == .number("75.5"))
            #expect(try await fences.call("DELETE", "/v1/geofence/1").status == 204)
            for path in ["/v1/geofence/1", "/v1/geofence/x", "/v1/locations/1", "/v1/location_groups/1"] {
                #expect(try await fences.call("GET", path).status == 404, "\(path)")
                #expect(try await fences.call("DELETE", path).status == 404, "\(path)")
            }
        }
    }

    @Test(
        "that are invalid are refused with the member's name",
        arguments: [
            ("trigger_type", "both"), ("expiry_time", "soon"), ("expiry_time", nil), ("locations", []),
            ("locations", [9]), ("locations", ["x"]), ("platform", "windows8"), ("data", [1]), ("data", nil),
            ("start_time", 9_999_999_999_999), ("tags", "a"),
        ] as [(String, JSON?)])
    func refusals(name: String, value: JSON?) async throws {
        try await Self.open { fences in
            try await fences.locations()
            let reply = try await fences.fence([(name, value ?? .null)])
            #expect(reply.status == 400, "\(reply.text)")
            let named = name == "start_time" ? "expiry_time" : name
            #expect(reply["message"]?.stringValue?.contains(named) == true, "\(reply.text)")
            #expect(try await fences.drafts() == [])
        }
    }

    @Test(
        "have locations on the earth only",
        arguments: [("lat", "90.1"), ("long", "-181"), ("lat", "nan"), ("rad", "-1"), ("rad", "0x10"), ("name", "")])
    func badLocations(name: String, value: String) async throws {
        try await Self.open { fences in
            var body = JSON.Members([("name", "A"), ("lat", "1"), ("long", "2"), ("rad", 3)])
            body[name] = .string(value)
            let reply = try await fences.call("POST", "/v1/location", .object(body))
            #expect(reply.status == 400, "\(reply.text)")
        }
    }

    @Test("may have numbers with spaces around them, as all bodies may")
    func blanks() async throws {
        try await Self.open { fences in
            let reply = try await fences.call(
                "POST", "/v1/location", ["name": "A", "lat": " 47.80", "long": "13.0450 ", "rad": " 150 "])
            #expect(reply["lat"] == "47.80" && reply["long"] == "13.0450" && reply["rad"] == 150, "\(reply.text)")
        }
    }

    @Test("reach a phone as the whole set, then as changes, each platform its own")
    func sync() async throws {
        try await Self.open { fences in
            let device = try await fences.device(1, topics: ["a"])
            try await fences.locations()
            for tags in [["a"], ["b"], []] as [JSON] { _ = try await fences.fence([("tags", tags)]) }
            _ = try await fences.fence([("platform", "android")])
            let full = try await fences.sync(device: device)
            #expect(full.status == 200 && full["num"] == 2 && full["deleted_geofence_ids"] == [])
            #expect(full["geofences.0.id"] == 1 && full["geofences.1.id"] == 3)
            #expect(full["geofences.0.expiry_time"]?.integerValue != nil)
            #expect(try await fences.sync()["num"] == 3)
            #expect(try await fences.sync(as: fences.android)["num"] == 4)
            let known = try #require(full["last_modified"]?.integerValue)

            let nothing = try await fences.sync(known, device: device)
            #expect(nothing["num"] == 0 && nothing["last_modified"] == .integer(known))
            _ = try await fences.call("DELETE", "/v1/geofence/3")
            _ = try await fences.call("PUT", "/v1/geofence/1", ["tags": ["b"]])
            _ = try await fences.call("PUT", "/v1/geofence/2", ["tags": ["A"]])
            let delta = try await fences.sync(known, device: device)
            #expect(delta["geofences.0.id"] == 2 && delta["num"] == 1)
            #expect(delta["deleted_geofence_ids"] == [1, 3])
            #expect(try await fences.sync(as: fences.backend).status == 401)
        }
    }

    @Test("that change notify their devices by one silent push, which is stored with the change")
    func announcement() async throws {
        try await Self.open { fences in
            try await fences.locations()
            #expect(try await fences.drafts() == [])
            _ = try await fences.fence([("tags", ["a"]), ("platform", "ios")])
            let draft = try #require(try await fences.drafts().first)
            #expect(draft.dialect == "pivotal" && draft.audience.topics == ["a"] && draft.audience.platforms == [.ios])
            #expect(
                draft.content.platforms[.ios]?.fields["payload"]?.text
                    == """
                    {"pivotal.push.geofence_update_available":"true","aps":{"content-available":1},\
                    "receiptId":"\(draft.id)"}
                    """)
            #expect(draft.content.platforms[.ios]?.options.isBackground == true)
            #expect(
                draft.content.platforms[.android]?.fields["data"]?["pivotal.push.geofence_update_available"] == "true")
            #expect(draft.expiresAt == fences.fixture.clock.now + .seconds(86_400))
            #expect(draft.options.isTransactional)

            fences.fixture.clock.advance(by: .seconds(1))
            _ = try await fences.call("PUT", "/v1/geofence/1", ["tags": ["b"], "platform": "android"])
            let both = try #require(try await fences.drafts().first)
            #expect(both.audience.topics == ["a", "b"] && both.audience.platforms == [.ios, .android])
            fences.fixture.clock.advance(by: .seconds(1))
            _ = try await fences.call("PUT", "/v1/locations/1", ["rad": 10])
            #expect(try await fences.drafts().count == 3)
            fences.fixture.clock.advance(by: .seconds(1))
            let start = fences.fixture.clock.now + .seconds(30)
            _ = try await fences.fence([("start_time", .integer(start.milliseconds))])
            let later = try #require(try await fences.drafts().first)
            #expect(later.startAt == start && later.audience.topics == [] && later.audience.includesAll)
            #expect(try await fences.call("GET", "/v1/schedules")["0.scheduled_for"] == .integer(start.milliseconds))
            fences.fixture.clock.advance(by: .seconds(100_000))
            _ = try await fences.call("DELETE", "/v1/geofence/1")
            #expect(try await fences.drafts().count == 4)
            let audit = try await fences.fixture.admin(.get, "…/audit")
            #expect(audit["items.0.action"] == "geofence.delete")
        }
    }

    @Test("that are postponed notify their devices at once and at the new start")
    func postponed() async throws {
        try await Self.open { fences in
            try await fences.locations()
            let now = fences.fixture.clock.now
            let (first, second) = (now + .seconds(100), now + .seconds(200))
            _ = try await fences.fence([("start_time", .integer(first.milliseconds))])
            _ = try await fences.call("PUT", "/v1/geofence/1", ["start_time": .integer(second.milliseconds)])
            #expect(Set(try await fences.drafts().map(\.startAt)) == [first, second])

            fences.fixture.clock.advance(by: .seconds(201))
            let third = now + .seconds(300)
            let changed = try await fences.call("PUT", "/v1/geofence/1", ["start_time": .integer(third.milliseconds)])
            #expect(changed.status == 200)
            let drafts = try await fences.drafts()
            #expect(drafts.count == 4)
            #expect(Set(drafts.map(\.startAt)) == [first, second, nil, third])
        }
    }
}
