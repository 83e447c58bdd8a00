import PealConsole
import PealCore
import PealTesting
import Testing

@Suite("A form that was opened in an earlier session") struct OldFormTests {
    /// What people typed into a form: its path, the fields that the page shows again, and the secret ones.
    struct Typed: Sendable, CustomTestStringConvertible {
        let path: String
        let fields: [String: String]
        var steering: [String: String] = [:]
        var secrets: [String: String] = [:]
        var testDescription: String { path }
        var form: [String: String] { fields.merging(steering) { $1 }.merging(secrets) { $1 } }
    }

    static let typed = [
        Typed(path: "/console/new-app", fields: ["name": "Bakery", "bundle_id": "com.example.bakery"]),
        Typed(
            path: "compose", fields: ["title": "Fresh bread", "row2_value": "sport"],
            steering: ["step": "send", "all": "1", "row1_value": "news", "once": String(repeating: "a", count: 32)]),
        Typed(path: "segments", fields: ["name": "readers", "where": "[1]"], steering: ["step": "save"]),
        Typed(
            path: "webhooks", fields: ["name": "crm", "url": "https://crm.example.com/", "username": "peal"],
            steering: ["kind": "events", "type": "basic"], secrets: ["value": "typed-once"]),
        Typed(path: "keys", fields: ["name": "newsletter", "days": "30"], steering: ["scopes": "manage"]),
        Typed(
            path: "credentials/apns/production",
            fields: ["key_id": "KEY1234567", "team_id": "TEAM123456", "bundle_id": "com.example.bakery"],
            steering: ["kind": "token"], secrets: ["private_key": "-----BEGIN typed-once"]),
        Typed(path: "import", fields: ["devices": #"{"platform":"toaster"}"#]),
        Typed(path: "messages/00000000-0000-4000-8000-0000000000e1/rate", fields: ["rate_per_second": "77"]),
    ]

    private static func shows(_ page: ConsoleFixture.Page, _ typed: Typed) -> Bool {
        typed.fields.values.allSatisfy { value in
            let shown = HTML.escaped(value)
            return page.text.contains("value=\"\(shown)\"") || page.text.contains("\n\(shown)</textarea>")
        } && !typed.secrets.values.contains { page.text.contains(HTML.escaped($0)) }
    }

    private static func path(_ typed: Typed, _ fixture: ConsoleFixture) -> String {
        typed.path.hasPrefix("/") ? typed.path : fixture.page(typed.path)
    }

    /// A message whose page has a form.
    private static func schedule(_ fixture: ConsoleFixture) async throws {
        var (content, audience) = (Content(), Audience())
        content.title = .plain("Later")
        audience.topics = ["news"]
        let now = fixture.clock.now
        let draft = MessageDraft(
            id: MessageID("00000000-0000-4000-8000-0000000000e1")!, app: fixture.app.key, dialect: "native",
            audience: audience, content: content, startAt: now + .seconds(60), createdAt: now,
            expiresAt: now + .seconds(600))
        try await fixture.store.write(.control) { try $0.insertMessage(draft) }
    }

    @Test("changes nothing, and keeps what was typed except secrets", arguments: typed)
    func keeps(typed: Typed) async throws {
        try await ConsoleFixture.open { fixture in
            try await Self.schedule(fixture)
            let old = try #require(
                try await fixture.get(fixture.page("keys"), cookie: try await fixture.signIn()).formSecret)
            let cookie = try await fixture.signIn()
            let form = typed.form.merging(["csrf": old]) { $1 }
            let page = try await fixture.post(Self.path(typed, fixture), form, cookie: cookie)
            #expect(page.status == 403 && page.text.contains("this form is no longer valid"), "\(page.status)")
            #expect(Self.shows(page, typed), "\(page.text)")
            #expect(page.text.contains("data-sent"))
            let german = try await fixture.post(
                Self.path(typed, fixture), form, cookie: cookie, headers: ["Accept-Language": "de"])
            #expect(german.text.contains("dieses Formular gilt nicht mehr"))
            // The page's own secret is that of the new session.
            #expect(page.formSecret != old && page.formSecret != nil)
            try await Self.expectNothing(in: fixture)
        }
    }

    @Test("is drawn again with its fields when the page's script asks for it", arguments: typed)
    func redraws(typed: Typed) async throws {
        try await ConsoleFixture.open { fixture in
            try await Self.schedule(fixture)
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("keys"), cookie: cookie).formSecret)
            let form = typed.form.merging(["csrf": secret, "redraw": "1"]) { $1 }
            let page = try await fixture.post(Self.path(typed, fixture), form, cookie: cookie)
            #expect(page.status == 200 && Self.shows(page, typed), "\(page.status): \(page.text)")
            #expect(page.text.contains("data-sent") && !page.text.contains("aria-invalid"))
            try await Self.expectNothing(in: fixture)
        }
    }

    private static func expectNothing(in fixture: ConsoleFixture) async throws {
        let app = fixture.app.key
        let counts = try await fixture.store.read { store in
            [
                try store.apps(after: nil, limit: 9).count,
                try store.messages(app: app, MessageFilter(), before: nil, limit: 9).count,
                try store.segments(app: app, after: nil, limit: 9).count,
                try store.webhooks(app: app, after: nil, limit: 9).count, try store.keys(app: app).count,
                try store.credentialRecords(app: app).count,
            ]
        }
        #expect(counts == [2, 1, 0, 0, 0, 0])
    }

    @Test("has secret fields that the page's script does not keep")
    func secretFields() async throws {
        try await ConsoleFixture.open { fixture in
            let page = try await fixture.get(fixture.page("credentials"), cookie: try await fixture.signIn()).text
            let areas = page.matches(of: /<textarea [^>]*name="([a-z_]+)"[^>]*>/)
            #expect(areas.contains { $0.output.1 == "certificate" } && areas.contains { $0.output.1 == "file" })
            for area in areas {
                #expect(area.output.0.contains("data-secret") == (area.output.1 != "certificate"), "\(area.output.0)")
            }
        }
    }

    @Test("for signing in asks for the key again, and keeps its destination")
    func signIn() async throws {
        try await ConsoleFixture.open { fixture in
            let secret = try #require(try await fixture.get("/console/sign-in").formSecret)
            fixture.clock.advance(by: .seconds(7200))
            let form = ["csrf": secret, "key": ConsoleFixture.adminToken, "next": "/console/operations"]
            let page = try await fixture.post("/console/sign-in", form)
            #expect(page.status == 403 && page.text.contains("this form is no longer valid"))
            #expect(!page.text.contains(ConsoleFixture.adminToken) && page.header("set-cookie") == nil)
            let again = form.merging(["csrf": try #require(page.formSecret)]) { $1 }
            #expect(try await fixture.post("/console/sign-in", again).location == "/console/operations")
        }
    }

    @Test("is not shown to a key that may not see its page")
    func rights() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send])
            for (path, text) in [("webhooks", "crm"), ("segments", "readers"), ("keys", "newsletter")] {
                let page = try await fixture.post(
                    fixture.page(path), ["csrf": "old", "name": text], cookie: cookie)
                #expect(page.status == 403 && !page.text.contains("value=\"\(text)\""), "\(path)")
            }
        }
    }
}

@Suite("A review to which people go back") struct SentReviewTests {
    @Test("says that its message was sent, and offers only to edit it")
    func isSent() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.send, .read])
            let secret = try #require(try await fixture.get(fixture.page("compose"), cookie: cookie).formSecret)
            let form = ["csrf": secret, "title": "Hello", "all": "1", "once": String(repeating: "a", count: 32)]
            func step(_ step: String, _ more: [String: String] = [:]) async throws -> ConsoleFixture.Page {
                try await fixture.post(
                    fixture.page("compose"), form.merging(["step": step]) { $1 }.merging(more) { $1 }, cookie: cookie)
            }
            let review = try await step("review")
            #expect(review.text.contains(#"value="send""#) && !review.text.contains("already sent"))
            let message = try #require(try await step("send").location)
            let again = try await step("review")
            #expect(again.status == 200 && again.text.contains("already sent this message"))
            #expect(again.text.contains("href=\"\(message)\""))
            #expect(!again.text.contains(#"value="send""#) && again.text.contains(#"value="edit""#))
            // Another review is of another message.
            let other = try await step("review", ["once": String(repeating: "b", count: 32)])
            #expect(other.text.contains(#"value="send""#) && !other.text.contains("already sent"))
        }
    }
}
