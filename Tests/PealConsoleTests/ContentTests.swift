import HTTPTypes
import PealConsole
import PealCore
import PealTesting
import Testing

@Suite("Hostile text") struct HostileTextTests {
    private static let hostile = "\"'><script>alert(1)</script>\"\u{301} onload=alert(1)"

    @Test("stays text wherever it comes from")
    func escaped() async throws {
        try await ConsoleFixture.open { fixture in
            let text = Self.hostile
            let now = fixture.clock.now
            let device = DeviceID("00000000-0000-4000-8000-0000000000d1")!
            let message = MessageID("00000000-0000-4000-8000-0000000000e1")!
            let app = try await fixture.store.write(.control) { store in
                let app = try store.insertApp(
                    App(
                        id: AppID("00000000-0000-4000-8000-00000000000c")!, key: 0, name: text, bundleID: text,
                        createdAt: now))
                var registration = DeviceRegistration(
                    id: device,
                    address: Address(route: Route(.primary[0], .production), bytes: Array(repeating: 7, count: 32)),
                    userID: text, topics: [text], locale: text, timeZone: text)
                registration.detail.alias = text
                registration.detail.model = text
                registration.detail.osVersion = text
                registration.detail.appVersion = text
                registration.detail.attributes = JSON.Members([(text, .string(text))])
                _ = try store.register(registration, app: app.key, now: now)
                var content = Content()
                content.title = .localized(["de": text, "en": text])
                content.subtitle = .plain(text)
                content.body = .plain(text)
                content.imageURL = text
                content.defaultLocale = "en"
                content.data = JSON.Members([(text, .string(text))])
                var audience = Audience()
                audience.topics = [text]
                audience.excludedTopics = [text + "x"]
                try store.insertMessage(
                    MessageDraft(
                        id: message, app: app.key, dialect: "native", campaignID: text, audience: audience,
                        content: content, startAt: now + .seconds(60), createdAt: now, expiresAt: now + .seconds(600)))
                _ = try store.putSavedMessage(
                    SavedMessage(
                        kind: .draft, name: text,
                        request: [
                            "content": ["title": .string(text)], "audience": ["where": ["topic": .string(text)]],
                        ],
                        createdAt: now, changedAt: now), app: app.key)
                try store.audit(
                    AuditEntry(
                        at: now, actor: Actor(text, name: text), address: text, app: app.id, action: text, object: text)
                )
                return app
            }
            let cookie = try await fixture.signIn()
            let query = PercentCoding.encode(text)
            let pages = [
                "", "messages", "messages/\(message)", "devices", "devices/\(device)", "users/\(query)", "topics",
                "campaigns", "campaigns/\(query)", "calendar", "drafts",
                "compose?draft=\(query)", "messages/\(message)?device=\(query)", "messages/\(message)?device=\(device)",
                "audit", "compose?from=\(message)",
                "devices?search=\(query)z", "messages?campaign_id=\(query)&state=\(query)", "topics?search=\(query)",
                "compose?title=\(query)&topics=\(query)&data=\(query)&at=\(query)&locale_2=\(query)",
            ]
            for page in pages.map({ fixture.page($0, of: app) }) + ["/console/"] {
                let reply = try await fixture.get(page, cookie: cookie)
                #expect(reply.status == 200, "\(page)")
                #expect(!reply.text.contains("<script>alert"), "\(page)")
                #expect(
                    !reply.text.unicodeScalars.split(separator: "\u{301}").dropLast().contains { $0.last == "\"" },
                    "\(page)")
            }
        }
    }
}

@Suite("Compose") struct ComposeTests {
    private static func form(_ more: [String: String] = [:]) -> [String: String] {
        ["title": "Hello", "body": "World", "topics": "news"].merging(more) { $1 }
    }

    /// Registers `count` devices in the topic `news`, numbered from `first` on.
    private static func register(_ count: Int, from first: Int = 0, _ fixture: ConsoleFixture) async throws {
        let app = fixture.app.key
        let now = fixture.clock.now
        try await fixture.store.write(.intake) { store in
            for number in first..<(first + count) {
                let registration = DeviceRegistration(
                    id: DeviceID(high: 1, low: UInt64(number)),
                    address: Address(
                        route: Route(.primary[0], .production),
                        bytes: Array("device-\(number)-padding-padding-padding".utf8)), topics: ["news"])
                _ = try store.register(registration, app: app, now: now)
            }
        }
    }

    @Test("counts, reviews and sends once")
    func sends() async throws {
        try await ConsoleFixture.open { fixture in
            try await Self.register(3, fixture)
            let cookie = try await fixture.signIn([.send, .read])
            let page = try await fixture.get(fixture.page("compose"), cookie: cookie)
            let secret = try #require(page.formSecret)
            let check = try await fixture.post(
                fixture.page("compose/check"), Self.form(["csrf": secret]), cookie: cookie)
            #expect(check.text.contains(">3 devices<"))
            let review = try await fixture.post(
                fixture.page("compose"), Self.form(["csrf": secret, "step": "review"]), cookie: cookie)
            #expect(review.status == 200 && review.text.contains("3 devices"))
            let once = try #require(review.text.firstMatch(of: /name="once" value="([0-9a-f]{32})"/)?.output.1)
            let send = Self.form(["csrf": secret, "step": "send", "once": String(once)])
            let first = try await fixture.post(fixture.page("compose"), send, cookie: cookie)
            #expect(first.status == 303 && first.location?.hasPrefix(fixture.page("messages/")) == true)
            #expect(try await fixture.post(fixture.page("compose"), send, cookie: cookie).location == first.location)
            let messages = try await fixture.store.read { [app = fixture.app.key] store in
                try store.messages(app: app, MessageFilter(), before: nil, limit: 10)
            }
            #expect(messages.count == 1)
        }
    }

    @Test(
        "refuses what cannot be sent, with the form as it was",
        arguments: [
            (["topics": ""], "choose who gets the message"), (["title": "", "body": ""], "write a title or a text"),
            (["data": "[1]"], "data must be a JSON object"), (["image_url": "http://x"], "https://"),
            (["at": "soon"], "is not a date and time"),
            (["at": "2027-01-01T08:00", "time_zone": "Mars"], "is not a time zone"),
            (["devices": "x"], "is not the id of a device"), (["ttl": "-1"], "the lifetime must be a whole number"),
            (["badge": "many"], "badge must be a number"), (["locale_2": "de!", "title_2": "x"], "is not a locale"),
            (["body_2": "x"], "locale_2 is required"),
            (["locale_2": "en", "title_2": "x"], "locale en is given twice"),
            (["locale_2": "de", "title_2": "x", "locale_3": "de", "title_3": "y"], "locale de is given twice"),
            (["window_until": "2027-01-01T08:00"], "at most"),
            (["topics": "a\u{7}"], "control characters"),
            (
                ["topics": "", "users": "ann", "where": #"{"topic":"a"}"#, "window_until": "2026-11-22T08:00"],
                "a message with a window is for 1 to 1000 users; only platforms may narrow it"
            ),
            (
                ["topics": "", "users": "ann", "ttl": "1", "window_until": "2026-11-23T08:00"],
                "the message would expire before its window ends"
            ),
            (["window_until": "2027-01-01T08:00", "at": "2027-01-01T07:00"], "not both"),
            (["window_until": "2027-01-01T08:00", "recipient_time": "1"], "not both"),
        ])
    func refuses(fields: [String: String], expected: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            for step in ["review", "send"] {
                let form = Self.form(["csrf": secret, "step": step]).merging(fields) { $1 }
                let reply = try await fixture.post(fixture.page("compose"), form, cookie: cookie)
                #expect(reply.status == 400 && reply.text.contains(expected), "\(reply.status)")
                #expect(reply.text.contains("name=\"title\""))
            }
        }
    }

    @Test("proposes the names of segments as its field reads them")
    func names() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("segments"), cookie: cookie).formSecret)
            let segment = ["csrf": secret, "step": "save", "name": "a, b", "where": #"{"topic":"news"}"#]
            #expect(try await fixture.post(fixture.page("segments"), segment, cookie: cookie).status == 303)
            let page = try await fixture.get(fixture.page("compose"), cookie: cookie)
            #expect(page.text.contains("<option value=\"&quot;a, b&quot;\">"))
        }
    }

    @Test("makes the message that the API would make: with the app's grace, and named in payloads for the app's SDK")
    func facts() async throws {
        try await ConsoleFixture.open { fixture in
            var app = fixture.app
            app.settings[.windowGrace] = Minutes(5)
            try await fixture.store.write(.control) { [app] in try $0.updateApp(app) }
            let cookie = try await fixture.signIn([.send, .read])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            let until = String((fixture.clock.now + .seconds(7200)).description.prefix(16))
            for hasSDK in [false, true] {
                if hasSDK { try await fixture.addDeviceKey() }
                let form = Self.form([
                    "topics": "", "users": "ann", "csrf": secret, "step": "send", "window_until": until,
                    "once": String(repeating: hasSDK ? "a" : "b", count: 32),
                ])
                let reply = try await fixture.post(fixture.page("compose"), form, cookie: cookie)
                #expect(reply.status == 303, "\(reply.text)")
                let id = try #require(reply.location?.split(separator: "/").last.flatMap { MessageID(String($0)) })
                let (draft, report) = try await fixture.store.read { [app] in
                    (try $0.draft(app: app.key, id: id), try $0.report(app: app.key, id: id))
                }
                #expect(report?.message.expiresAt == draft?.window.map { $0.until + .seconds(300) })
                #expect(draft?.content.namesMessage == hasSDK)
            }
        }
    }

    @Test("asks for the number of a large audience, and again only if that number has changed by more than 1 %")
    func largeAudience() async throws {
        try await ConsoleFixture.open { fixture in
            try await Self.register(10_000, fixture)
            let cookie = try await fixture.signIn([.send, .read])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            func review() async throws -> ConsoleFixture.Page {
                try await fixture.post(
                    fixture.page("compose"), Self.form(["csrf": secret, "step": "review"]), cookie: cookie)
            }
            func send(_ more: [String: String]) async throws -> ConsoleFixture.Page {
                let steering = ["csrf": secret, "step": "send", "once": String(repeating: "a", count: 32)]
                return try await fixture.post(
                    fixture.page("compose"), Self.form(steering.merging(more) { $1 }), cookie: cookie)
            }
            let counted = try #require(
                try await review().text.firstMatch(of: /name="counted" value="([^"]+)"/)?.output.1)
            try await Self.register(50, from: 10_000, fixture)
            let wrong = try await send(["counted": String(counted), "confirm": "10050"])
            #expect(wrong.status == 400 && wrong.text.contains("That is not the number of devices."))
            for forged in ["", "10050.\(counted.split(separator: ".")[1])", "10050"] {
                let reply = try await send(["counted": forged, "confirm": "10050"])
                #expect(reply.status == 200 && reply.text.contains("name=\"counted\""), "\(forged)")
            }
            let other = try await send(["counted": String(counted), "confirm": "10000", "title": "Another message"])
            #expect(other.status == 200 && other.text.contains("name=\"counted\""))
            try await Self.register(150, from: 10_050, fixture)
            let changed = try await send(["counted": String(counted), "confirm": "10,000"])
            #expect(changed.status == 400 && changed.text.contains("The audience has changed since the review."))
            let again = try #require(try await review().text.firstMatch(of: /name="counted" value="([^"]+)"/)?.output.1)
            try await Self.register(30, from: 10_200, fixture)
            #expect(try await send(["counted": String(again), "confirm": "10,200"]).status == 303)
        }
    }

    @Test("draws every field of a form that is sent back to be edited, such as after the end of a session")
    func edits() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send, .read, .devices])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            let form = Self.form([
                "csrf": secret, "step": "edit", "rows": "3", "row1_value": "a", "row2_value": "b", "row2_not": "1",
                "row3_join": "or", "row3_value": "c", "locale_7": "nl", "title_7": "Hallo",
            ])
            let page = try await fixture.post(fixture.page("compose"), form, cookie: cookie)
            #expect(page.status == 200 && page.text.contains("data-keep"))
            for part in [
                #"name="row2_not" value="1" checked"#, #"name="row3_value" value="c""#, #"value="Hallo""#,
                #"<option value="or" selected>"#,
            ] { #expect(page.text.contains(part), "\(part)") }
            let review = try await fixture.post(
                fixture.page("compose"), form.merging(["step": "review"]) { $1 }, cookie: cookie)
            #expect(review.status == 200 && review.text.contains("data-keep"))
            let segment = ["csrf": secret, "redraw": "1", "name": "kept", "where": #"{"topic":"a"}"#]
            let segments = try await fixture.post(fixture.page("segments"), segment, cookie: cookie)
            #expect(segments.status == 200 && segments.text.contains("value=\"kept\""))
            let saved = try await fixture.store.read { [app = fixture.app.key] in
                try $0.segment(app: app, name: "kept")
            }
            #expect(saved == nil)
        }
    }

    @Test("reads local times in the form's zone")
    func zones() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            for (zone, expected) in [
                ("Europe/Berlin", "2027-07-01T06:00:00Z"), ("America/New_York", "2027-07-01T12:00:00Z"),
                ("", "2027-07-01T08:00:00Z"),
            ] {
                let form = Self.form([
                    "csrf": secret, "step": "review", "at": "2027-07-01T08:00", "time_zone": zone,
                ])
                let reply = try await fixture.post(fixture.page("compose"), form, cookie: cookie)
                #expect(reply.text.contains("datetime=\"\(expected)\""), "\(zone)")
            }
        }
    }
}
