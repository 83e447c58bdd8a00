import PealCore
import PealTesting
import Testing

@Suite("Long lists") struct LongListTests {
    @Test("of keys are divided into pages of less than 100 KB")
    func keys() async throws {
        try await ConsoleFixture.open { fixture in
            for _ in 0..<70 { _ = try await fixture.key([.read]) }
            let cookie = try await fixture.signIn()
            let first = try await fixture.get(fixture.page("keys"), cookie: cookie)
            #expect(first.text.utf8.count < 100_000 && first.text.matches(of: /\/revoke"/).count == 50)
            let next = try #require(first.text.firstMatch(of: /href="([^"]+)" rel="next"/)?.output.1)
            let second = try await fixture.get(String(next), cookie: cookie)
            #expect(second.text.matches(of: /\/revoke"/).count == 20 && !second.text.contains("rel=\"next\""))
            for after in ["-1", "9223372036854775807", "x", ""] {
                let page = try await fixture.get(fixture.page("keys?after=\(after)"), cookie: cookie)
                #expect(page.status == 200, "\(after)")
            }
        }
    }

    @Test("of a user's devices say that there are more", arguments: [50, 51])
    func devices(count: Int) async throws {
        try await ConsoleFixture.open { fixture in
            let (app, now) = (fixture.app.key, fixture.clock.now)
            try await fixture.store.write(.control) { store in
                for number in 0..<count {
                    let address = Address(
                        route: Route(.primary[0], .production), bytes: Array(repeating: UInt8(number), count: 32))
                    let registration = DeviceRegistration(
                        id: DeviceID(high: 1, low: UInt64(number)), address: address, userID: "ann")
                    _ = try store.register(registration, app: app, now: now)
                }
            }
            let page = try await fixture.get(fixture.page("users/ann"), cookie: try await fixture.signIn())
            #expect(page.text.contains("<p class=\"lead\">\(count > 50 ? "&gt; " : "")50 devices</p>"))
            #expect(page.text.matches(of: /<tr><td/).count == 50)
        }
    }

    @Test("of refused rows say how many there are, even without the page's script", arguments: [200, 201])
    func refusedRows(count: Int) async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            let secret = try #require(try await fixture.get(fixture.page("import"), cookie: cookie).formSecret)
            let rows = Array(repeating: "nonsense", count: count).joined(separator: "\n")
            let page = try await fixture.post(
                fixture.page("import"), ["csrf": secret, "devices": rows], cookie: cookie)
            #expect(page.text.matches(of: /<tr><td/).count == 200)
            #expect(page.text.contains("Only the first 200 of 201 are shown.") == (count > 200))
        }
    }

    @Test("of found users and devices say that there are more")
    func found() async throws {
        try await ConsoleFixture.open { fixture in
            let (app, now) = (fixture.app.key, fixture.clock.now)
            try await fixture.store.write(.control) { store in
                for number in 0..<22 {
                    let address = Address(
                        route: Route(.primary[0], .production), bytes: Array(repeating: UInt8(number), count: 32))
                    let registration = DeviceRegistration(
                        id: DeviceID(high: 1, low: UInt64(number)), address: address, userID: "ann-\(number % 11)")
                    _ = try store.register(registration, app: app, now: now)
                }
            }
            let cookie = try await fixture.signIn()
            let more = "There are more results. Search for a longer text."
            let page = try await fixture.get(fixture.page("devices?search=ann-"), cookie: cookie)
            // Ten users are listed.
            #expect(page.text.matches(of: /users\/ann-[0-9]+">ann-/).count >= 10 && page.text.contains(more))
            #expect(!(try await fixture.get(fixture.page("devices"), cookie: cookie)).text.contains(more))
            let user = try await fixture.get(fixture.page("devices?search=ann-1"), cookie: cookie)
            #expect(!user.text.contains(more))
        }
    }

    @Test("of a campaign's messages and of the calendar lead to all of them")
    func messages() async throws {
        try await ConsoleFixture.open { fixture in
            let now = fixture.clock.now
            var content = Content()
            content.title = .plain("Later")
            let drafts = (0..<101).map { number in
                MessageDraft(
                    id: MessageID(high: 1, low: UInt64(number)), app: fixture.app.key, dialect: "native",
                    campaignID: number < 21 ? "a b" : "other", audience: Audience(), content: content,
                    startAt: now + .seconds(60), createdAt: now, expiresAt: now + .seconds(600))
            }
            try await fixture.store.write(.control) { [drafts] store in
                for draft in drafts { try store.insertMessage(draft) }
            }
            let cookie = try await fixture.signIn()
            let campaign = try await fixture.get(fixture.page("campaigns/a%20b"), cookie: cookie)
            #expect(campaign.text.contains("href=\"\(fixture.page("messages"))?campaign_id=a%20b\""))
            let calendar = try await fixture.get(fixture.page("calendar"), cookie: cookie)
            #expect(calendar.text.contains("Only the next 100 scheduled messages are shown"))
            #expect(calendar.text.contains("href=\"\(fixture.page("messages"))?state=scheduled\""))
        }
    }

    @Test("of drafts and templates are divided into pages by kind")
    func drafts() async throws {
        try await ConsoleFixture.open { fixture in
            let verbs = SavedMessageVerbs(store: fixture.store)
            let call = VerbCall(actor: "test", now: fixture.clock.now)
            let names = (100..<160).map { (SavedMessage.Kind.draft, "draft \($0)") } + [(.template, "one")]
            for (kind, name) in names {
                let draft = SavedMessage(
                    kind: kind, name: name, request: ["content": ["title": "T"]], createdAt: call.now,
                    changedAt: call.now)
                _ = try await verbs.put(draft, app: fixture.app.key, call)
            }
            let cookie = try await fixture.signIn()
            let both = try await fixture.get(fixture.page("drafts"), cookie: cookie)
            #expect(
                both.text.contains("draft 149<") && !both.text.contains("draft 150<") && both.text.contains(">one<"))
            #expect(both.text.contains("drafts?kind=draft\"") && !both.text.contains("drafts?kind=template\""))
            let drafts = try await fixture.get(fixture.page("drafts?kind=draft"), cookie: cookie)
            let next = try #require(drafts.text.firstMatch(of: /href="([^"]+)" rel="next"/)?.output.1)
            let rest = try await fixture.get(String(next).replacing("&amp;", with: "&"), cookie: cookie)
            #expect(
                rest.text.contains("draft 150<") && rest.text.contains("draft 159<")
                    && !rest.text.contains("draft 149<"))
            #expect(!rest.text.contains(">one<") && !rest.text.contains("rel=\"next\""))
        }
    }
}
