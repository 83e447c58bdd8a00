import HTTPTypes
import PealConsole
import PealCore
import PealTesting
import Testing

@Suite("The audience's rows") struct ComposeRowsTests {
    private static func form(_ fields: [String: String]) -> [String: String] {
        ["title": "Hello", "body": "World", "step": "review"].merging(fields) { $1 }
    }

    /// The condition of the draft that Compose saves.
    private static func saved(_ fields: [String: String]) async throws -> (
        status: Int, condition: String?, page: String
    ) {
        var result: (Int, String?, String) = (0, nil, "")
        let box = Box()
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send, .read])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            let form = Self.form(fields).merging(["csrf": secret, "step": "save_draft", "save_name": "d"]) { $1 }
            let reply = try await fixture.post(fixture.page("compose"), form, cookie: cookie)
            let saved = try await fixture.store.read { [app = fixture.app.key] in
                try $0.savedMessage(app: app, .draft, name: "d")
            }
            let again = try await fixture.get(fixture.page("compose?draft=d"), cookie: cookie)
            await box.set((reply.status, saved?.request["audience"]?["where"]?.text, again.text))
        }
        result = await box.value
        return result
    }

    private actor Box {
        var value: (Int, String?, String) = (0, nil, "")
        func set(_ value: (Int, String?, String)) { self.value = value }
    }

    @Test(
        "become a condition in which and binds more strongly than or",
        arguments: [
            (
                ["row1_kind": "topic", "row1_value": "a", "row2_kind": "user", "row2_value": "u", "row2_not": "1"],
                #"{"and":[{"topic":"a"},{"not":{"user":"u"}}]}"#
            ),
            (
                [
                    "row1_kind": "topic", "row1_value": "a", "row2_kind": "locale", "row2_value": "de",
                    "row3_join": "or", "row3_kind": "segment", "row3_value": "s",
                ], #"{"or":[{"and":[{"topic":"a"},{"locale":"de"}]},{"segment":"s"}]}"#
            ),
            (["row1_kind": "seen", "row1_value": "30"], #"{"seen":{"within_days":30}}"#),
            (["row1_kind": "version", "row1_value": "2.1"], #"{"app_version":{"gte":"2.1"}}"#),
            (["row1_kind": "platform", "row1_value": "iOS"], #"{"platform":"ios"}"#),
            (["row1_kind": "attribute", "row1_value": "age = 30"], #"{"attribute":{"name":"age","is":30}}"#),
            (["row1_kind": "attribute", "row1_value": "plan=pro"], #"{"attribute":{"name":"plan","is":"pro"}}"#),
            // An empty row in between does not matter.
            (["row1_value": "", "row3_join": "or", "row3_kind": "topic", "row3_value": "b"], #"{"topic":"b"}"#),
            (
                ["segments": "x, y", "row1_kind": "topic", "row1_value": "a"],
                #"{"and":[{"or":[{"segment":"x"},{"segment":"y"}]},{"topic":"a"}]}"#
            ),
        ] as [([String: String], String)])
    func conditions(_ fields: [String: String], _ condition: String) async throws {
        let saved = try await Self.saved(fields)
        #expect(saved.status == 303 && saved.condition == condition)
    }

    @Test("are filled in again from a draft")
    func again() async throws {
        let saved = try await Self.saved([
            "row1_kind": "topic", "row1_value": "a", "row2_join": "or", "row2_not": "1", "row2_kind": "locale",
            "row2_value": "de",
        ])
        for part in [
            #"name="row1_value" value="a""#, #"name="row2_value" value="de""#, #"name="row2_not" value="1" checked"#,
            #"<option value="or" selected>"#, #"<option value="locale" selected>"#, #"name="row3_value" value="""#,
        ] { #expect(saved.page.contains(part), "\(part)") }
    }

    @Test(
        "refuse invalid values, at the row",
        arguments: [
            ("seen", "soon"), ("seen", "0"), ("platform", "toaster"), ("device", "x"), ("attribute", "plan"),
            ("topic", "a\u{7}"),
        ])
    func refused(_ kind: String, _ value: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            let form = Self.form(["csrf": secret, "row1_kind": kind, "row1_value": value])
            let reply = try await fixture.post(fixture.page("compose"), form, cookie: cookie)
            #expect(reply.status == 400 && reply.text.contains(#"class="rule wrong""#), "\(reply.status)")
        }
    }
}

@Suite("Drafts and templates of Compose") struct SavedMessagePageTests {
    private static let fields = [
        "title": "Hello", "title_2": "Servus", "locale_2": "de", "default_locale": "en", "body": "World",
        "subtitle": "Again", "subtitle_2": "Nochmal",
        "topics": "news, cheese", "all": "", "users": "", "platforms": "ios", "data": #"{"order":7}"#,
        "campaign_id": "spring", "priority": "low", "ttl": "5", "rate_per_second": "50", "transactional": "1",
        "at": "2027-07-01T08:00", "recipient_time": "1", "image_url": "https://example.com/a.png", "badge": "3",
    ]

    @Test("keep every field, in the words of the API")
    func fields() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send, .read])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            let form = Self.fields.merging(["csrf": secret, "step": "save_draft", "save_name": "d"]) { $1 }
            #expect(try await fixture.post(fixture.page("compose"), form, cookie: cookie).status == 303)
            let saved = try await fixture.store.read { [app = fixture.app.key] in
                try $0.savedMessage(app: app, .draft, name: "d")
            }
            #expect(
                saved?.request.text == """
                    {"audience":{"topics":["news","cheese"],"platforms":["ios"]},"content":{"title":{"de":"Servus",\
                    "en":"Hello"},"subtitle":{"de":"Nochmal","en":"Again"},"body":"World","default_locale":"en",\
                    "image_url":"https://example.com/a.png",\
                    "data":{"order":7},"badge":3},"options":{"priority":"low","ttl_seconds":18000,"transactional":true,\
                    "rate_per_second":50},"schedule":{"at":"2027-07-01T08:00:00Z","in":"recipient_time_zone"},\
                    "campaign_id":"spring"}
                    """)
            let again = try await fixture.get(fixture.page("compose?draft=d"), cookie: cookie).text
            let list = try await fixture.get(fixture.page("drafts"), cookie: cookie).text
            #expect(list.contains(">d</a>") && list.contains("Hello"))
            for (name, value) in Self.fields where !value.isEmpty && name != "platforms" {
                let shown = HTML.escaped(value)
                #expect(again.contains("name=\"\(name)\"") && again.contains(shown), "\(name)")
            }
            // Sent, it is no draft any more.
            let send = Self.fields.merging([
                "csrf": secret, "step": "send", "draft": "d", "once": String(repeating: "a", count: 32),
            ]) { $1 }
            let sent = try await fixture.post(fixture.page("compose"), send, cookie: cookie)
            #expect(sent.status == 303, "\(sent.text)")
            #expect(try await fixture.get(fixture.page("compose?draft=d"), cookie: cookie).status == 404)
            let message = try await fixture.store.read { [app = fixture.app.key] store in
                let id = try store.messages(app: app, MessageFilter(), before: nil, limit: 1)[0].id
                return try #require(try store.draft(app: app, id: id))
            }
            #expect(message.options.recipientsTime?.description == "2027-07-01T08:00:00Z")
            #expect(message.startAt?.description == "2027-06-30T18:00:00Z")
            #expect(message.options.isTransactional && message.options.ratePerSecond == 50)
        }
    }

    @Test(
        "keep the exact lifetime of a message",
        arguments: [
            (0, "0", "hours"), (5, "5", "seconds"), (90, "90", "seconds"), (900, "15", "minutes"),
            (7200, "2", "hours"), (3601, "3601", "seconds"), (315_360_000, "87600", "hours"),
        ] as [(Int64, String, String)])
    func lifetime(seconds: Int64, number: String, unit: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send])
            let template = SavedMessage(
                kind: .template, name: "t",
                request: ["content": ["title": "T"], "options": ["ttl_seconds": .integer(seconds)]],
                createdAt: fixture.clock.now, changedAt: fixture.clock.now)
            let app = fixture.app.key
            try await fixture.store.write(.control) { _ = try $0.putSavedMessage(template, app: app) }
            let page = try await fixture.get(fixture.page("compose?template=t"), cookie: cookie)
            #expect(page.text.contains("name=\"ttl\" inputmode=\"numeric\" value=\"\(number)\""))
            #expect(page.text.contains("<option value=\"\(unit)\" selected>"))
            let form = [
                "csrf": try #require(page.formSecret), "step": "save_draft", "save_name": "d", "title": "T",
                "ttl": number, "ttl_unit": unit,
            ]
            #expect(try await fixture.post(fixture.page("compose"), form, cookie: cookie).status == 303)
            let saved = try await fixture.store.read { try $0.savedMessage(app: app, .draft, name: "d") }
            #expect(saved?.request["options"]?["ttl_seconds"]?.integerValue == seconds)
        }
    }

    @Test("need a name, and are deleted")
    func names() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send])
            let page = try await fixture.get(fixture.page("drafts"), cookie: cookie)
            #expect(page.status == 200)
            let secret = try #require(page.formSecret)
            let nameless = try await fixture.post(
                fixture.page("compose"), ["csrf": secret, "step": "save_template", "title": "T"], cookie: cookie)
            #expect(nameless.status == 400 && nameless.text.contains("save_name"))
            let saved = try await fixture.post(
                fixture.page("compose"), ["csrf": secret, "step": "save_template", "title": "T", "save_name": "a/b"],
                cookie: cookie)
            #expect(saved.status == 303)
            #expect(
                try await fixture.get(fixture.page("compose?template=a%2Fb"), cookie: cookie).text.contains("\"T\""))
            let deleted = try await fixture.post(
                fixture.page("drafts/delete"), ["csrf": secret, "kind": "template", "name": "a/b", "confirmed": "1"],
                cookie: cookie)
            #expect(deleted.status == 303)
            #expect(try await fixture.get(fixture.page("compose?template=a%2Fb"), cookie: cookie).status == 404)
        }
    }
}

@Suite("A sign-in link") struct SignInLinkPageTests {
    private static func link(_ fixture: ConsoleFixture, _ secret: String, holder: String) async throws -> String {
        let links = SignInLinkVerbs(store: fixture.store, hasher: fixture.hasher, randomness: SeededRandomness())
        let reply = try await links.create(
            for: holder, secretHash: fixture.hasher.hash(secret), VerbCall(actor: "test", now: fixture.clock.now)
        ) { Reply(status: 201, ["token": .string($0.linkToken)]) }
        return try #require(try JSONParser.parse(reply.body)["token"]?.stringValue)
    }

    private static func open(_ fixture: ConsoleFixture, _ link: String) async throws -> ConsoleFixture.Page {
        let page = try await fixture.get("/console/sign-in?link=\(link)&next=%2Fconsole%2Foperations")
        let secret = try #require(page.formSecret)
        return try await fixture.post(
            "/console/sign-in", ["csrf": secret, "link": link, "next": "/console/operations"])
    }

    @Test("signs in once, as its creator")
    func once() async throws {
        try await ConsoleFixture.open { fixture in
            let link = try await Self.link(fixture, ConsoleFixture.adminToken, holder: "admin")
            // Looking at it does not use it up.
            #expect(try await fixture.get("/console/sign-in?link=\(link)").status == 200)
            let first = try await Self.open(fixture, link)
            #expect(first.status == 303 && first.location == "/console/operations")
            #expect(try await fixture.get("/console/operations", cookie: first.cookie).status == 200)
            let second = try await Self.open(fixture, link)
            #expect(second.status == 401 && second.header("set-cookie") == nil)
        }
    }

    @Test("ends after five minutes, and with its key")
    func ends() async throws {
        try await ConsoleFixture.open { fixture in
            let old = try await Self.link(fixture, ConsoleFixture.adminToken, holder: "admin")
            fixture.clock.advance(by: .seconds(Limits.signInLinkSeconds))
            #expect(try await Self.open(fixture, old).status == 401)
            let key = try await fixture.key([.read])
            let half = KeyVerbs.publicHalf(ofHash: fixture.hasher.hash(key.secret))
            let good = try await Self.link(fixture, key.secret, holder: half)
            let signedIn = try await Self.open(fixture, good)
            #expect(signedIn.status == 303)
            #expect(try await fixture.get("/console/operations", cookie: signedIn.cookie).status == 403)
            let other = try await Self.link(fixture, key.secret, holder: half)
            try await fixture.keys.revoke(key.id, app: fixture.app.key, VerbCall(actor: "test", now: fixture.clock.now))
            #expect(try await Self.open(fixture, other).status == 401)
            // The token of the first admin has changed since.
            let stale = try await Self.link(fixture, "another token", holder: "admin")
            #expect(try await Self.open(fixture, stale).status == 401)
            #expect(try await Self.open(fixture, "made-up").status == 401)
        }
    }
}
