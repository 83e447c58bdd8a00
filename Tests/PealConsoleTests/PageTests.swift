import HTTPTypes
@testable import PealConsole
import PealCore
import PealTesting
import Testing

@Suite("The pages") struct PageTests {
    private static let pages = [
        "", "compose", "drafts", "messages", "calendar", "devices", "topics", "segments", "campaigns", "import",
        "webhooks",
        "keys", "credentials", "audit",
    ]

    @Test("have one heading, one main landmark and the headers that protect them")
    func headers() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let paths = Self.pages.map { fixture.page($0) } + ["/console/", "/console/operations", "/console/new-app"]
            for path in paths + ["/console/sign-in", "/console/nothing"] {
                let isFound = path != "/console/nothing"
                let reply = try await fixture.get(path, cookie: path == "/console/sign-in" ? nil : cookie)
                #expect(reply.status == (isFound ? 200 : 404), "\(path)")
                #expect(reply.text.matches(of: /<h1[ >]/).count == 1, "\(path)")
                #expect(reply.text.matches(of: /<main[ >]/).count == 1, "\(path)")
                let policy = try #require(reply.header("content-security-policy"))
                #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
                #expect(reply.header("x-content-type-options") == "nosniff")
                #expect(reply.header("cache-control") == "no-store")
                #expect(!reply.text.contains(/\ on[a-z]+=|\ style=|<style|javascript:/), "\(path)")
                #expect(reply.text.utf8.count < 100_000, "\(path)")
            }
        }
    }

    @Test("name the app once in the title of the window")
    func titles() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            for (path, title) in [("", "Cheese · Peal"), ("messages", "Messages · Cheese · Peal")] {
                let page = try await fixture.get(fixture.page(path), cookie: cookie)
                #expect(page.text.contains("<title>\(title)</title>"), "\(path)")
            }
        }
    }

    @Test("distinguish devices without a name that registered at the same time")
    func shortenedIDs() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("import"), cookie: cookie).formSecret)
            let devices = (0..<3).map { #"{"platform":"ios","address":"\#(String(repeating: "a\($0)", count: 32))"}"# }
            _ = try await fixture.post(
                fixture.page("import"), ["csrf": secret, "devices": devices.joined(separator: "\n")], cookie: cookie)
            let list = try await fixture.get(fixture.page("devices"), cookie: cookie)
            let links = list.text.matches(of: /class="title short" href="[^"]+">…([0-9a-f]{8})</)
            let names = links.map { String($0.output.1) }
            #expect(names.count == 3 && Set(names).count == 3)
        }
    }

    @Test("tolerate doubled and trailing slashes, and know other methods")
    func paths() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            for path in ["/console", "/console//", "//console/", "/console/apps/\(fixture.app.id)//messages/"] {
                #expect(try await fixture.get(path, cookie: cookie).status == 200, "\(path)")
            }
            #expect(try await fixture.get("/").location == "/console/")
            #expect(try await fixture.get("/console/%zz", cookie: cookie).status == 404)
            let reply = try await fixture.post("/console/operations", [:], cookie: cookie)
            #expect(reply.status == 405)
        }
    }

    @Test(
        "of forms lead to the page above them when they are loaded again",
        arguments: [
            ("users/ann/erase", "users/ann/"), ("credentials/apns/production/verify", "credentials/"),
            ("webhooks/a%2Fb/deliveries/x/retry", "webhooks/a%2Fb/"), ("segments/delete", "segments/"),
            ("messages/x/cancel", "messages/x/"), ("browser", ""),
        ])
    func forms(path: String, above: String) async throws {
        try await ConsoleFixture.open { fixture in
            let reply = try await fixture.get(fixture.page(path), cookie: try await fixture.signIn())
            #expect(reply.status == 303 && reply.location == fixture.page(above))
            // Without a session, that page asks for one.
            #expect(try await fixture.get(fixture.page(path)).location == fixture.page(above))
            #expect(try await fixture.get("/console/sign-out").location == "/console/")
        }
    }

    @Test("have a path for names that browsers would resolve", arguments: [".", "..", "~.", "~~..", "~a", "..."])
    func dots(name: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("import"), cookie: cookie).formSecret)
            let device = """
                {"platform":"ios","address":"\(String(repeating: "ab", count: 32))","user_id":"\(name)"}
                """
            _ = try await fixture.post(
                fixture.page("import"), ["csrf": secret, "devices": device], cookie: cookie)
            let list = try await fixture.get(fixture.page("devices"), cookie: cookie)
            let path = try #require(list.text.firstMatch(of: /href="([^"]*\/users\/[^"]+)"/)?.output.1)
            #expect(![".", ".."].contains(path.split(separator: "/").last))
            let page = try await fixture.get(String(path), cookie: cookie)
            #expect(page.status == 200 && page.text.contains("action=\"\(path)/erase\""))
        }
    }

    @Test("of lists continue, with their filter, and begin again")
    func pages() async throws {
        try await ConsoleFixture.open { fixture in
            try await fixture.store.write(.control) { [now = fixture.clock.now] store in
                for number in 1...101 {
                    let id = AppID(high: 1, low: UInt64(number))
                    _ = try store.insertApp(App(id: id, key: 0, name: "App \(number)", createdAt: now))
                }
            }
            let cookie = try await fixture.signIn()
            let first = try await fixture.get("/console/", cookie: cookie)
            let next = try #require(first.text.firstMatch(of: /href="([^"]+)" rel="next"/)?.output.1)
            let second = try await fixture.get(String(next), cookie: cookie)
            #expect(second.status == 200 && second.text.contains(">Cheese<") != first.text.contains(">Cheese<"))
            // Not all of the apps were looked at.
            for page in [first, second] { #expect(!page.text.contains("Nothing needs attention")) }
            let filtered = try await fixture.get(fixture.page("messages?text=x&after=zzz"), cookie: cookie)
            #expect(filtered.status != 500)
            let topics = try await fixture.get(fixture.page("topics?search=x&after=2"), cookie: cookie)
            #expect(topics.text.contains("topics?search=x\""), "the first page keeps the filter")
        }
    }

    @Test("of a few apps say that nothing needs attention")
    func quiet() async throws {
        try await ConsoleFixture.open { fixture in
            let home = try await fixture.get("/console/", cookie: try await fixture.signIn())
            #expect(home.text.contains("Nothing needs attention"))
        }
    }

    @Test("obey the hosts and ports of a reloaded configuration")
    func reloaded() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("webhooks"), cookie: cookie).formSecret)
            let form = [
                "csrf": secret, "name": "crm", "url": "https://crm.example.com:8443/", "kind": "events",
                "type": "bearer", "value": "a-token-of-some-length",
            ]
            #expect(try await fixture.post(fixture.page("webhooks"), form, cookie: cookie).status == 400)
            fixture.hosts.set(AddressRules(), WebhookRules(allowedPorts: [8443]))
            #expect(try await fixture.post(fixture.page("webhooks"), form, cookie: cookie).status == 303)
        }
    }

    /// Inserts a message that starts in a minute.
    private static func scheduleMessage(
        _ fixture: ConsoleFixture, dialect: DialectName = "native", source: String? = nil
    ) async throws -> MessageID {
        let id = try #require(MessageID("00000000-0000-4000-8000-0000000000e1"))
        let (app, now) = (fixture.app.key, fixture.clock.now)
        var audience = Audience()
        audience.topics = ["news"]
        let draft = MessageDraft(
            id: id, app: app, dialect: dialect, audience: audience, content: Content(),
            startAt: now + .seconds(60), createdAt: now, expiresAt: now + .seconds(600),
            source: source.map { Array($0.utf8) })
        try await fixture.store.write(.control) { try $0.insertMessage(draft) }
        return id
    }

    @Test(
        "change the rate in a request of the native API, and leave those of other APIs as they are",
        arguments: [
            ("native", #"{"content":{},"options":{"rate_per_second":5}}"#), ("pivotal", #"{"content":{}}"#),
        ] as [(DialectName, String)])
    func rate(dialect: DialectName, source: String) async throws {
        try await ConsoleFixture.open { fixture in
            let id = try await Self.scheduleMessage(fixture, dialect: dialect, source: #"{"content":{}}"#)
            let cookie = try await fixture.signIn([.read, .send])
            let page = try await fixture.get(fixture.page("messages/\(id)"), cookie: cookie)
            let form = ["csrf": try #require(page.formSecret), "rate_per_second": "5"]
            let reply = try await fixture.post(fixture.page("messages/\(id)/rate"), form, cookie: cookie)
            #expect(reply.status == 303, "\(reply.text)")
            let draft = try await fixture.store.read { [app = fixture.app.key] in try $0.draft(app: app, id: id) }
            #expect(draft?.options.ratePerSecond == 5)
            #expect(draft?.source.map { String(decoding: $0, as: UTF8.self) } == source)
        }
    }

    @Test("that follow a message can be requested with HEAD any number of times")
    func heads() async throws {
        try await ConsoleFixture.open { fixture in
            let id = try await Self.scheduleMessage(fixture)
            let cookie = try await fixture.signIn([.read])
            for _ in 0...LiveStreamSlot.max {
                let reply = try await fixture.head(fixture.page("messages/\(id)/events"), cookie: cookie)
                #expect(reply.status == 200 && reply.header("Content-Length") == nil)
            }
        }
    }

    @Test("that follow messages of one app leave streams for those of others")
    func streams() {
        let slots = (0..<LiveStreamSlot.perAppMax).compactMap { _ in LiveStreamSlot(of: 9001) }
        #expect(slots.count == LiveStreamSlot.perAppMax)
        #expect(LiveStreamSlot(of: 9001) == nil)
        #expect(LiveStreamSlot(of: 9002) != nil)
        withExtendedLifetime(slots) {}
    }

    @Test("of a message that has not started say so instead of counting no devices")
    func scheduled() async throws {
        try await ConsoleFixture.open { fixture in
            let id = try await Self.scheduleMessage(fixture)
            let cookie = try await fixture.signIn([.read, .send])
            let page = try await fixture.get(fixture.page("messages/\(id)"), cookie: cookie)
            #expect(page.text.ranges(of: "The audience is determined when the message starts.").count == 2)
            #expect(!page.text.contains("Nobody was reached") && !page.text.contains("of 0 devices"))
            let form = ["csrf": try #require(page.formSecret), "confirmed": "1"]
            _ = try await fixture.post(fixture.page("messages/\(id)/cancel"), form, cookie: cookie)
            let cancelled = try await fixture.get(fixture.page("messages/\(id)"), cookie: cookie)
            #expect(cancelled.text.contains("Nobody was reached") && cancelled.text.contains("of 0 devices"))
        }
    }

    @Test("export devices as the import accepts them")
    func export() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.manage, .devices, .read])
            let secret = try #require(try await fixture.get(fixture.page("import"), cookie: cookie).formSecret)
            let line = """
                {"platform":"ios","address":"\(String(repeating: "ab", count: 32))","topics":["news"],\
                "identifiers":{"idfa":"00000000-0000-4000-8000-0000000000aa","serial_id":"S1"}}
                """
            let form = ["csrf": secret, "first": "0", "devices": line]
            let first = try await fixture.post(fixture.page("import"), form, cookie: cookie)
            #expect(try JSONParser.parse(first.text)["created"] == 1, "\(first.text)")
            let exported = try await fixture.get(fixture.page("export/devices"), cookie: cookie).text
            let json = try JSONParser.parse(exported)
            #expect(json["identifiers"]?["idfa"] == "00000000-0000-4000-8000-0000000000aa")
            #expect(json["identifiers"]?["serial_id"] == "S1" && json["topics"] == ["news"])
            let again = form.merging(["devices": exported]) { $1 }
            let second = try await fixture.post(fixture.page("import"), again, cookie: cookie)
            #expect(try JSONParser.parse(second.text)["updated"] == 1, "\(second.text)")
        }
    }

    @Test("belong to the console by their path alone")
    func owned() {
        for path in ["/", "/console", "/console/", "//console/x", "/console?x=1", "/?a"] {
            #expect(Console.owns(path), "\(path)")
        }
        for path in ["/consoles", "/peal/v1/apps", "/v1/console", "", "/x?/console/", "/%63onsole"] {
            #expect(!Console.owns(path), "\(path)")
        }
    }

    @Test(
        "are in the language that the browser prefers",
        arguments: [
            ("de", "de"), ("de-AT,de;q=0.9,en;q=0.8", "de"), ("en;q=0.5, de;q=0.9", "de"), ("fr, de;q=0.1", "de"),
            ("fr", "en"), ("", "en"), ("en,de", "en"), ("de;q=0,en;q=0.1", "en"), (";;,,q=", "en"),
        ])
    func language(header: String, expected: String) async throws {
        try await ConsoleFixture.open { fixture in
            let reply = try await fixture.get("/console/sign-in", headers: ["Accept-Language": header])
            #expect(reply.text.contains("<html lang=\"\(expected)\">"))
        }
    }

    @Test(
        "of refusals lead back to the page of the form, or to the page above one that does not exist",
        arguments: [
            ("POST", "webhooks/gone/delete", 403, "webhooks/gone/delete"), ("POST", "topics", 403, "topics"),
            ("POST", "webhooks/a%2Fb/delete", 403, "webhooks/a%2Fb/delete"), ("GET", "webhooks/gone", 404, "webhooks"),
            ("GET", "topics/~..", 404, "topics"), ("GET", "users/%22%3E/", 404, ""), ("GET", "nothing/at/all", 404, ""),
            ("POST", "nothing", 404, ""),
        ])
    func back(method: String, path: String, status: Int, expected: String) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            // The secret of another page: the form is stale.
            let reply =
                method == "GET"
                ? try await fixture.get(fixture.page(path), cookie: cookie)
                : try await fixture.post(fixture.page(path), ["csrf": "stale", "confirmed": "1"], cookie: cookie)
            #expect(reply.status == status)
            let links = reply.text.matches(of: /class="button[^"]*" href="([^"]+)"/).map { String($0.output.1) }
            let page = fixture.page(expected)
            #expect(links == [expected.isEmpty ? String(page.dropLast()) : page, "/console/"])
            // The path of an action leads to the page with its form.
            let isAction = expected.hasSuffix("/delete")
            #expect(try await fixture.get(links[0], cookie: cookie).status == (isAction ? 303 : 200))
        }
    }

    @Test("of refusals outside every app lead to the console only", arguments: ["/console/nothing", "/console/%zz"])
    func backToTheConsole(path: String) async throws {
        try await ConsoleFixture.open { fixture in
            let reply = try await fixture.get(path, cookie: try await fixture.signIn())
            let links = reply.text.matches(of: /class="button[^"]*" href="([^"]+)"/).map { String($0.output.1) }
            #expect(links == ["/console/"])
        }
    }

    @Test("name the tool that can copy the database")
    func backup() {
        let texts = Texts(.english)
        #expect(OperationsPage.backup(ofEmbedded: true, texts).text.contains("peal backup --to DIR"))
        let shared = OperationsPage.backup(ofEmbedded: false, texts).text
        #expect(shared.contains("pg_dump") && !shared.contains("peal backup"))
    }

    @Test("serve files that browsers may keep")
    func assets() async throws {
        try await ConsoleFixture.open { fixture in
            let page = try await fixture.get("/console/sign-in").text
            let path = try #require(page.firstMatch(of: /href="([^"]+console.css)"/)?.output.1)
            let file = try await fixture.get(String(path))
            #expect(file.status == 200 && file.header("cache-control")?.contains("immutable") == true)
            #expect(file.header("content-type") == "text/css; charset=utf-8")
            #expect(try await fixture.get("/console/assets/old/console.css").header("cache-control") == "no-cache")
            for path in ["nothing.css", "../Console.swift", "x/y/console.css", ""] {
                #expect(try await fixture.get("/console/assets/\(path)").status == 404, "\(path)")
            }
        }
    }
}

@Suite("The scopes of a key") struct ScopeTests {
    @Test("decide which pages it opens", arguments: APIKey.Scope.allCases)
    func pages(scope: APIKey.Scope) async throws {
        let needs: [String: APIKey.Scope?] = [
            "": nil, "compose": .send, "drafts": .send, "messages": .read, "calendar": .read, "devices": .read,
            "topics": .read,
            "segments": .read, "campaigns": .read, "import": .manage, "webhooks": .manage, "keys": .manage,
            "credentials": .manage, "audit": .manage,
        ]
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([scope])
            let home = try await fixture.get(fixture.page(""), cookie: cookie)
            for (page, need) in needs {
                let isAllowed = need == nil || need == scope
                #expect(
                    try await fixture.get(fixture.page(page), cookie: cookie).status == (isAllowed ? 200 : 403),
                    "\(page)")
                if need != nil, page != "drafts" {
                    #expect(home.text.contains("href=\"\(fixture.page(page))\"") == isAllowed, "\(page)")
                }
            }
            #expect(try await fixture.get("/console/operations", cookie: cookie).status == 403)
            #expect(try await fixture.get(fixture.page("", of: fixture.other), cookie: cookie).status == 403)
            #expect(try await fixture.get("/console/", cookie: cookie).location == fixture.page(""))
        }
    }

    @Test("decide what it may do")
    func actions() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read])
            let secret = try #require(try await fixture.get(fixture.page(""), cookie: cookie).formSecret)
            let id = "00000000-0000-4000-8000-000000000001"
            for path in [
                "compose", "drafts/delete", "messages/\(id)/rate", "messages/\(id)/pause", "messages/\(id)/cancel",
                "devices/\(id)/delete", "users/u/erase",
                "topics", "keys", "keys/\(id)/revoke", "credentials/apns/production", "webhooks", "import",
            ] {
                let reply = try await fixture.post(fixture.page(path), ["csrf": secret], cookie: cookie)
                #expect(reply.status == 403, "\(path)")
            }
            let manager = try await fixture.signIn([.manage, .read])
            let own = try #require(try await fixture.get(fixture.page("keys"), cookie: manager).formSecret)
            let reply = try await fixture.post(fixture.page("keys"), ["csrf": own, "scopes": "send"], cookie: manager)
            #expect(reply.status == 403, "a key granted a scope that it lacks")
        }
    }

    @Test("do not reveal whether another app exists")
    func otherApps() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read])
            let unknown = "/console/apps/00000000-0000-4000-8000-0000000000ff/"
            #expect(try await fixture.get(unknown, cookie: cookie).status == 403)
            #expect(try await fixture.get(unknown, cookie: try await fixture.signIn()).status == 404)
        }
    }
}

@Suite("A form's secret") struct FormSecretTests {
    @Test("is needed for every change")
    func needed() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let other = try await fixture.signIn([.manage])
            let foreign = try #require(try await fixture.get(fixture.page("keys"), cookie: other).formSecret)
            for secret in ["", "x", foreign] {
                for path in ["/console/new-app", "/console/sign-out", fixture.page("keys"), fixture.page("compose")] {
                    let reply = try await fixture.post(path, ["csrf": secret, "name": "X"], cookie: cookie)
                    #expect(reply.status == 403, "\(path)")
                }
            }
            #expect(try await fixture.get("/console/", cookie: cookie).status == 200, "it was signed out")
        }
    }

    @Test("of the sign-in form is valid for an hour")
    func signIn() async throws {
        try await ConsoleFixture.open { fixture in
            let secret = try #require(try await fixture.get("/console/sign-in").formSecret)
            let form = ["key": ConsoleFixture.adminToken, "csrf": secret]
            fixture.clock.advance(by: .seconds(3600))
            #expect(try await fixture.post("/console/sign-in", form).status == 303)
            fixture.clock.advance(by: .seconds(7200))
            #expect(try await fixture.post("/console/sign-in", form).status == 403)
        }
    }

    @Test("does not help a form on another site")
    func otherSite() async throws {
        try await ConsoleFixture.open { fixture in
            let secret = try #require(try await fixture.get("/console/sign-in").formSecret)
            let form = ["key": ConsoleFixture.adminToken, "csrf": secret]
            for site in ["cross-site", "same-site"] {
                let reply = try await fixture.post("/console/sign-in", form, headers: ["Sec-Fetch-Site": site])
                #expect(reply.status == 403)
            }
            let reply = try await fixture.post("/console/sign-in", form, headers: ["Sec-Fetch-Site": "same-origin"])
            #expect(reply.status == 303)
        }
    }
}
