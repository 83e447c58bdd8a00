import HTTPTypes
import PealConsole
import PealCore
import PealTesting
import Testing

@Suite("Fields for one platform in Compose") struct ComposePlatformsTests {
    private static let message = ["title": "Hello", "topics": "news"]

    /// Saves a draft with the fields and opens it again.
    private static func saved(_ fields: [String: String]) async throws -> (
        status: Int, content: JSON?, options: JSON?, page: String
    ) {
        try await withConsole { fixture, cookie in
            let reply = try await Self.save(fields, fixture, cookie)
            guard reply.status == 303 else { return (reply.status, nil, nil, reply.text) }
            let saved = try await fixture.store.read { [app = fixture.app.key] in
                try $0.savedMessage(app: app, .draft, name: "d")
            }
            let again = try await fixture.get(fixture.page("compose?draft=d"), cookie: cookie)
            return (reply.status, saved?.request["content"], saved?.request["options"], again.text)
        }
    }

    private static func save(
        _ fields: [String: String], _ fixture: ConsoleFixture, _ cookie: String
    ) async throws -> ConsoleFixture.Page {
        let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
        let steering = ["csrf": secret, "step": "save_draft", "save_name": "d"]
        return try await fixture.post(
            fixture.page("compose"), message.merging(fields) { $1 }.merging(steering) { $1 }, cookie: cookie)
    }

    private static func withConsole<Result: Sendable>(
        _ body: @escaping @Sendable (ConsoleFixture, String) async throws -> Result
    ) async throws -> Result {
        let box = Box<Result>()
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send, .read])
            await box.set(try await body(fixture, cookie))
        }
        return try #require(await box.value)
    }

    private actor Box<Value: Sendable> {
        var value: Value?
        func set(_ value: Value) { self.value = value }
    }

    @Test("are the platforms' objects of the native API, and are shown again when the draft is opened")
    func objects() async throws {
        let saved = try await Self.saved([
            "ios_interruption_level": "time-sensitive",
            "ios": #"{"payload": {"aps": {"relevance-score": 1}, "k": 2}, "options": {"priority": "low"}}"#,
            "android_channel_id": "offers", "windows_launch": "page=1", "windows": #"{"type": "toast"}"#,
            "web_topic": "t", "thread_id": "g", "category": "c", "background": "1", "environment": "sandbox",
        ])
        #expect(saved.status == 303)
        let content = try #require(saved.content)
        #expect(
            content["ios"]
                == [
                    "payload": ["aps": ["relevance-score": 1, "interruption-level": "time-sensitive"], "k": 2],
                    "options": ["priority": "low"],
                ])
        #expect(content["android"] == ["android": ["notification": ["channel_id": "offers"]]])
        #expect(content["windows"] == ["type": "toast", "launch": "page=1"])
        #expect(content["web"] == ["topic": "t"])
        #expect(content["thread_id"] == "g" && content["category"] == "c")
        #expect(saved.options?["background"] == true && saved.options?["environment"] == "sandbox")
        for shown in [
            #"<option value="time-sensitive" selected>"#, #"name="android_channel_id" value="offers""#,
            #"name="windows_launch" value="page=1""#, #"name="web_topic" value="t""#, "relevance-score",
            #"value="g""#, #"<option value="sandbox" selected>"#,
        ] {
            #expect(saved.page.contains(shown), "\(shown)")
        }
    }

    @Test(
        "are refused with the field's name when the API would refuse them",
        arguments: [
            ("ios", "[1]", "ios must be a JSON object"), ("ios", #"{"aps": {}}"#, "ios has no member aps"),
            ("windows", #"{"colour": 1}"#, "windows has no member colour"),
            ("android", #"{"options": {"priority": "urgent"}}"#, "the option priority must be low, normal or high"),
            ("android", #"{"options": {"ttl": 1}}"#, "there is no option ttl"),
            ("web", #"{"options": {"ttl_seconds": -1}}"#, "the option ttl_seconds must be a number of seconds"),
            ("web", #"{"options": 3}"#, "its options must be an object"),
            (
                "ios", #"{"options": {"ttl_seconds": 1, "expires_at": "2030-01-01T00:00:00Z"}}"#,
                "expires_at or ttl_seconds"
            ),
        ])
    func refusals(_ field: String, _ value: String, _ text: String) async throws {
        let saved = try await Self.saved([field: value])
        #expect(saved.status == 400)
        #expect(saved.page.contains(text))
        #expect(saved.page.contains("id=\"\(field)-error\""))
    }

    @Test("keep any number of translations")
    func translations() async throws {
        let locales = ["de", "fr", "it", "es", "pt", "nl"]
        var fields = ["default_locale": "en"]
        for (index, locale) in locales.enumerated() {
            fields["locale_\(index + 2)"] = locale
            fields["title_\(index + 2)"] = "Hello \(locale)"
        }
        let saved = try await Self.saved(fields)
        let title = try #require(saved.content?["title"]?.objectValue)
        #expect(Set(title.names) == Set(locales + ["en"]))
        for locale in locales { #expect(saved.page.contains("value=\"Hello \(locale)\"")) }
    }

    @Test("say what Compose has no field for")
    func leftOut() async throws {
        let page = try await Self.withConsole { fixture, cookie in
            let request: JSON = [
                "audience": ["topics": ["news"], "interactive_only": true], "content": ["title": "T"],
                "options": ["lost_answer": "drop", "priority": "high"],
            ]
            _ = try await SavedMessageVerbs(store: fixture.store).put(
                SavedMessage(
                    kind: .template, name: "t", request: request, createdAt: fixture.clock.now,
                    changedAt: fixture.clock.now), app: fixture.app.key,
                VerbCall(actor: "test", now: fixture.clock.now))
            return try await fixture.get(fixture.page("compose?template=t"), cookie: cookie).text
        }
        #expect(page.contains("audience.interactive_only, options.lost_answer"))
    }

    @Test("show what is lost when the message of another API is duplicated, and keep the rest")
    func duplicate() async throws {
        let page = try await Self.withConsole { fixture, cookie in
            let id = MessageID("00000000-0000-4000-8000-0000000000e2")!
            let now = fixture.clock.now
            var (content, audience, options) = (Content(), Audience(), MessageOptions())
            content.title = .plain("T")
            content.absentPlatforms = [Platform(rawValue: "android")!]
            audience.topics = ["a, b"]
            audience.identifiers = [DeviceIdentifier(.idfa, "x")]
            audience.interactiveOnly = true
            (options.life, options.lostAnswer, options.isTransactional) = (.until(now + .seconds(600)), .drop, true)
            options.ratePerSecond = 50
            let draft = MessageDraft(
                id: id, app: fixture.app.key, dialect: "pivotal", audience: audience, content: content,
                options: options, startAt: now + .seconds(60), createdAt: now, expiresAt: now + .seconds(600))
            try await fixture.store.write(.control) { try $0.insertMessage(draft) }
            return try await fixture.get(fixture.page("compose?from=\(id)"), cookie: cookie).text
        }
        #expect(
            page.contains(
                "audience.identifiers, audience.interactive_only, options.expires_at, options.lost_answer"))
        for kept in [
            "value=\"&quot;a, b&quot;\"", "name=\"platforms\" value=\"ios\" checked", "value=\"50\"",
        ] { #expect(page.contains(kept), "\(kept)") }
        #expect(!page.contains("name=\"platforms\" value=\"android\" checked"))
    }

    @Test(
        "a duplicate of a message that does not exist is not an empty message",
        arguments: ["x", "00000000-0000-4000-8000-0000000000e9"])
    func unknownOriginal(id: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send])
            #expect(try await fixture.get(fixture.page("compose?from=\(id)"), cookie: cookie).status == 404)
        }
    }
}
