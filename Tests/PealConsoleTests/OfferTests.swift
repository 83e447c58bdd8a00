import HTTPTypes
import PealConsole
import PealCore
import PealTesting
import Testing

@Suite("What a page offers") struct OfferTests {
    /// Follows every link from the app's page, and then submits every form once, with nothing but its secret.
    @Test(
        "is allowed to the key that signed in",
        arguments: APIKey.Scope.allCases.map { [$0] } + [[.send, .read], [.read, .devices], [.read, .manage]])
    func offers(scopes: [APIKey.Scope]) async throws {
        try await ConsoleFixture.open { fixture in
            try await fixture.furnish()
            let cookie = try await fixture.signIn(Set(scopes))
            var (open, seen, actions) = ([fixture.page("")], Set<String>(), [String: String]())
            while let path = open.popLast() {
                guard seen.insert(path).inserted else { continue }
                let page = try await fixture.get(path, cookie: cookie)
                #expect(page.status == 200 || page.status == 303, "\(path): \(page.status)")
                guard let secret = page.formSecret else { continue }
                for link in page.matches(of: /href="([^"]+)"/) where link.hasPrefix("/console/") {
                    if !link.contains("/assets/"), !link.contains("#") { open.append(link) }
                }
                for action in page.matches(of: /<form [^>]*method="post" action="([^"]+)"/) { actions[action] = secret }
            }
            #expect(seen.count >= (scopes.contains(.read) ? 12 : 2))
            // These end the session.
            for (action, secret) in actions.sorted(by: { $0.key < $1.key })
            where !action.hasSuffix("/sign-out") && !action.hasSuffix("-everywhere") && !action.hasSuffix("/revoke") {
                let reply = try await fixture.post(action, ["csrf": secret, "confirmed": "1"], cookie: cookie)
                #expect(reply.status != 403 && reply.status < 500, "\(action): \(reply.status)")
            }
        }
    }

    @Test(
        "in an empty list is what to do next, with the right to do it",
        arguments: [("calendar", "compose"), ("campaigns", "compose"), ("messages", "compose"), ("devices", "import")])
    func emptyList(page: String, next: String) async throws {
        try await ConsoleFixture.open { fixture in
            for (scopes, isOffered) in [([.read], false), ([.read, .send, .manage], true)]
                as [(Set<APIKey.Scope>, Bool)]
            {
                let cookie = try await fixture.signIn(scopes)
                let text = try await fixture.get(fixture.page(page), cookie: cookie).text
                let empty = try #require(text.split(separator: "class=\"empty\"").dropFirst().first)
                #expect(empty.contains("href=\"\(fixture.page(next))\"") == isOffered, "\(scopes)")
            }
        }
    }

    @Test("includes signing out everywhere, for keys too")
    func everywhere() async throws {
        try await ConsoleFixture.open { fixture in
            let key = try await fixture.key([.read]).secret
            let (one, two) = (try await fixture.signIn(key), try await fixture.signIn(key))
            let page = try await fixture.get(fixture.page(""), cookie: one)
            #expect(page.text.contains("action=\"/console/sign-out-everywhere\""))
            let form = ["csrf": try #require(page.formSecret), "confirmed": "1"]
            #expect(try await fixture.post("/console/sign-out-everywhere", form, cookie: one).status == 303)
            #expect(
                try await fixture.get(fixture.page(""), cookie: two).location?.hasPrefix("/console/sign-in") == true)
        }
    }
}

@Suite("An action that cannot be undone") struct ConfirmationTests {
    @Test(
        "is asked about by a page, which keeps the form",
        arguments: [
            ("segments/delete", ["name": "readers"], "Delete this segment"),
            ("drafts/delete", ["kind": "template", "name": "weekly"], "Delete this for everyone?"),
            ("webhooks/crm/delete", [:], "Delete this webhook"),
            ("topics", ["topic": "news"], "Delete this topic"),
            ("messages/00000000-0000-4000-8000-0000000000e1/cancel", [:], "Cancel this message?"),
            ("users/ann/erase", [:], "Erase this user"),
        ] as [(String, [String: String], String)])
    func asks(path: String, fields: [String: String], question: String) async throws {
        try await ConsoleFixture.open { fixture in
            try await fixture.furnish()
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("segments"), cookie: cookie).formSecret)
            let form = fields.merging(["csrf": secret, "ask": "1"]) { $1 }
            let asked = try await fixture.post(fixture.page(path), form, cookie: cookie)
            #expect(asked.status == 200 && asked.text.contains(question), "\(asked.text)")
            #expect(
                asked.text.contains("action=\"\(fixture.page(path))\"") && asked.text.contains("name=\"confirmed\""))
            // The answer no leads to the page of the form, or to the one above.
            #expect(asked.text.contains("class=\"button\" href=\"\(fixture.page(path))\""))
            for (name, value) in fields {
                #expect(asked.text.contains("name=\"\(name)\" value=\"\(value)\""), "\(name)")
            }
            let done = try await fixture.post(
                fixture.page(path), form.merging(["confirmed": "1"]) { $1 }, cookie: cookie)
            #expect(done.status == 303, "\(done.text)")
        }
    }

    @Test("is done at once for a program, which posts only the secret of forms")
    func programs() async throws {
        try await ConsoleFixture.open { fixture in
            try await fixture.furnish()
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("segments"), cookie: cookie).formSecret)
            let page = fixture.page("messages/00000000-0000-4000-8000-0000000000e1/cancel")
            #expect(try await fixture.post(page, ["csrf": secret], cookie: cookie).status == 303)
        }
    }

    @Test("is asked about on the page of operations too")
    func everywhere() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let page = try await fixture.get("/console/operations", cookie: cookie)
            #expect(page.text.contains("data-confirm=\"End every session"))
            let form = ["csrf": try #require(page.formSecret), "ask": "1"]
            #expect(try await fixture.post("/console/sign-out-everywhere", form, cookie: cookie).status == 200)
            #expect(try await fixture.get("/console/operations", cookie: cookie).status == 200)
        }
    }
}

@Suite("An existing name") struct ExistingNameTests {
    @Test(
        "is refused with the form, except for what was opened to be changed",
        arguments: [
            (
                "segments", ["name": "readers", "where": #"{"topic":"sport"}"#, "step": "save"],
                ["edit": "readers"], "name-error"
            ),
            (
                "webhooks",
                [
                    "name": "crm", "url": "https://new.example.com/", "kind": "events", "type": "bearer",
                    "value": "another-token-of-some-length",
                ], ["edit": "crm"], "name-error"
            ),
            (
                "compose", ["step": "save_template", "save_name": "weekly", "title": "Other"], ["template": "weekly"],
                "save_name-error"
            ),
        ] as [(String, [String: String], [String: String], String)])
    func refused(path: String, fields: [String: String], opened: [String: String], error: String) async throws {
        try await ConsoleFixture.open { fixture in
            try await fixture.furnish()
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page(path), cookie: cookie).formSecret)
            let form = fields.merging(["csrf": secret]) { $1 }
            let refused = try await fixture.post(fixture.page(path), form, cookie: cookie)
            #expect(refused.status == 409 && refused.text.contains("id=\"\(error)\""), "\(refused.status)")
            let other = form.merging(opened.mapValues { _ in "another" }) { $1 }
            #expect(try await fixture.post(fixture.page(path), other, cookie: cookie).status == 409)
            let changed = try await fixture.post(fixture.page(path), form.merging(opened) { $1 }, cookie: cookie)
            #expect(changed.status == 303, "\(changed.text)")
        }
    }

    @Test("of a webhook stays, because another one would be a second webhook")
    func renamedWebhook() async throws {
        try await ConsoleFixture.open { fixture in
            try await fixture.furnish()
            let cookie = try await fixture.signIn()
            let page = try await fixture.get(fixture.page("webhooks?edit=crm"), cookie: cookie)
            let form = [
                "csrf": try #require(page.formSecret), "edit": "crm", "name": "crm-eu", "kind": "events",
                "url": "https://new.example.com/", "type": "bearer", "value": "another-token-of-some-length",
            ]
            let reply = try await fixture.post(fixture.page("webhooks"), form, cookie: cookie)
            #expect(reply.status == 400 && reply.text.contains("a webhook keeps its name"), "\(reply.text)")
        }
    }

    @Test(
        "is in the form that was opened to change it",
        arguments: [
            ("segments?edit=readers", "name=\"edit\" value=\"readers\""),
            ("webhooks?edit=crm", "name=\"edit\" value=\"crm\""),
            ("compose?template=weekly", "name=\"template\" value=\"weekly\""),
        ])
    func opened(path: String, field: String) async throws {
        try await ConsoleFixture.open { fixture in
            try await fixture.furnish()
            let page = try await fixture.get(fixture.page(path), cookie: try await fixture.signIn())
            #expect(page.text.contains(field) && !page.text.contains("a-token-of-some-length"))
        }
    }
}

@Suite("A refused form") struct RefusedFormTests {
    @Test("of a webhook keeps what was typed, except the secret")
    func webhook() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("webhooks"), cookie: cookie).formSecret)
            let form = [
                "csrf": secret, "name": "crm", "url": "ftp://crm.example.com", "kind": "events", "type": "basic",
                "username": "peal", "value": "the-secret-itself",
            ]
            let reply = try await fixture.post(fixture.page("webhooks"), form, cookie: cookie)
            #expect(reply.status == 400)
            for kept in ["value=\"crm\"", "value=\"ftp://crm.example.com\"", "value=\"peal\""] {
                #expect(reply.text.contains(kept), "\(kept)")
            }
            #expect(reply.text.contains("<option value=\"basic\" selected>"))
            #expect(reply.text.contains("id=\"url-error\"") && !reply.text.contains("the-secret-itself"))
        }
    }

    @Test("of a credential keeps what was typed, except the private key")
    func credential() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let page = fixture.page("credentials")
            let secret = try #require(try await fixture.get(page, cookie: cookie).formSecret)
            let form = [
                "csrf": secret, "kind": "certificate", "environment": "sandbox", "bundle_id": "com.example.cheese",
                "certificate": "-----BEGIN CERTIFICATE-----\nnot one", "private_key": "the-key-itself",
            ]
            let reply = try await fixture.post("\(page)/apns/production", form, cookie: cookie)
            #expect(reply.status == 400)
            #expect(reply.text.contains("value=\"com.example.cheese\"") && reply.text.contains("not one"))
            #expect(reply.text.contains("<option value=\"sandbox\" selected>"))
            #expect(reply.text.contains("id=\"apns-certificate-private_key-error\""))
            #expect(!reply.text.contains("the-key-itself"))
        }
    }

    @Test(
        "of a service account names the expected file",
        arguments: [
            ("", "file is required"), ("nonsense", "This is not the JSON file of a service account."),
            ("{\"type\":\"service_account\"}", "This is not the JSON file of a service account."),
            ("{\"project_info\":{},\"client\":[]}", "This is google-services.json"),
            ("{\"private_key\":\"-----BEGIN PRIVATE KEY-----\",\"project_id\":\"p\"}", "client_email is required"),
        ])
    func serviceAccount(file: String, answer: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let page = fixture.page("credentials")
            let secret = try #require(try await fixture.get(page, cookie: cookie).formSecret)
            let form = ["csrf": secret, "kind": "service_account", "file": file]
            let reply = try await fixture.post("\(page)/fcm/production", form, cookie: cookie)
            #expect(reply.status == 400 && reply.text.contains(answer), "\(reply.text.suffix(3000))")
            #expect(!reply.text.contains("BEGIN PRIVATE KEY"))
        }
    }

    @Test("of a key keeps what was typed, and is emptied once it is accepted")
    func key() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("keys"), cookie: cookie).formSecret)
            var form = ["csrf": secret, "name": "newsletter", "scopes": "manage", "days": "soon"]
            let refused = try await fixture.post(fixture.page("keys"), form, cookie: cookie)
            #expect(refused.text.contains("value=\"newsletter\"") && refused.text.contains("value=\"soon\""))
            #expect(
                refused.text.contains("value=\"manage\" checked") && !refused.text.contains("value=\"send\" checked"))
            let empty = try await fixture.post(
                fixture.page("keys"), form.filter { $0.key != "scopes" }, cookie: cookie)
            #expect(empty.status == 400 && empty.text.contains("id=\"scopes-error\">Choose at least one scope."))
            form["days"] = "30"
            let made = try await fixture.post(fixture.page("keys"), form, cookie: cookie)
            #expect(made.text.contains("id=\"secret\"") && !made.text.contains("value=\"newsletter\""))
        }
    }

    @Test("of a device key shows both of its secrets once, and gives it the scope of its kind")
    func deviceKey() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.devices, .manage])
            let page = try await fixture.get(fixture.page("keys?kind=device"), cookie: cookie)
            #expect(page.text.contains("<option value=\"device\" selected>"))
            let form = ["csrf": try #require(page.formSecret), "kind": "device", "name": "phones"]
            let made = try await fixture.post(fixture.page("keys"), form, cookie: cookie)
            #expect(made.status == 200 && made.text.contains("id=\"secret\">peald_"), "\(made.text)")
            let shared = try #require(made.text.firstMatch(of: /id="shared-secret">([0-9a-f]{64})</)?.output.1)
            let keys = try await fixture.store.read { try $0.keys(app: fixture.app.key) }
            let key = try #require(keys.first { $0.dialect == "device" })
            #expect(key.scopes == [.devices] && key.name == "phones")
            #expect(!(try await fixture.get(fixture.page("keys"), cookie: cookie)).text.contains(shared))
            let unknown = try await fixture.post(
                fixture.page("keys"), form.merging(["kind": "toaster"]) { $1 }, cookie: cookie)
            #expect(unknown.status == 400 && unknown.text.contains("id=\"kind-error\""))
        }
    }

    @Test("of a key offers device keys only to keys with their scope")
    func deviceKeyScope() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read, .manage])
            let page = try await fixture.get(fixture.page("keys"), cookie: cookie)
            #expect(!page.text.contains("value=\"device\""))
            let form = ["csrf": try #require(page.formSecret), "kind": "device"]
            #expect(try await fixture.post(fixture.page("keys"), form, cookie: cookie).status == 403)
        }
    }
}

extension ConsoleFixture {
    /// Something on every page of the app: made in the console, as the admin.
    fileprivate func furnish() async throws {
        let cookie = try await signIn()
        let secret = try #require(try await get(page("keys"), cookie: cookie).formSecret)
        let device = """
            {"platform":"ios","address":"\(String(repeating: "ab", count: 32))","user_id":"ann","topics":["news"]}
            """
        let forms: [(String, [String: String])] = [
            ("import", ["devices": device]),
            ("segments", ["name": "readers", "where": "{\"topic\":\"news\"}", "step": "save"]),
            (
                "webhooks",
                [
                    "name": "crm", "url": "https://crm.example.com/", "kind": "events", "type": "bearer",
                    "value": "a-token-of-some-length",
                ]
            ),
            ("keys", ["name": "newsletter", "scopes": "send"]),
            ("compose", ["step": "save_template", "save_name": "weekly", "title": "Week"]),
        ]
        let message = MessageID("00000000-0000-4000-8000-0000000000e1")!
        var (content, audience) = (Content(), Audience())
        content.title = .plain("Later")
        audience.topics = ["news"]
        let draft = MessageDraft(
            id: message, app: app.key, dialect: "native", campaignID: "daily", audience: audience, content: content,
            startAt: clock.now + .seconds(60), createdAt: clock.now, expiresAt: clock.now + .seconds(600))
        try await store.write(.control) { try $0.insertMessage(draft) }
        for (path, form) in forms {
            let reply = try await post(
                page(path), form.merging(["csrf": secret]) { first, _ in first }, cookie: cookie)
            try #require(reply.status < 400, "\(path): \(reply.text)")
        }
    }
}

extension ConsoleFixture.Page {
    /// What the first group of a pattern matched, as browsers read attributes.
    fileprivate func matches(of pattern: Regex<(Substring, Substring)>) -> [String] {
        text.matches(of: pattern).map { String($0.output.1).replacing("&amp;", with: "&") }
    }
}
