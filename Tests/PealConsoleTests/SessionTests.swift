import HTTPTypes
import PealConsole
import PealCore
import PealTesting
import Synchronization
import Testing

@Suite("A session") struct SessionTests {
    @Test("begins with a key and ends with sign-out")
    func beginsAndEnds() async throws {
        try await ConsoleFixture.open { fixture in
            let stranger = try await fixture.get("/console/")
            #expect(stranger.status == 303 && stranger.location == "/console/sign-in")
            let deep = try await fixture.get("/console/operations")
            #expect(deep.location == "/console/sign-in?next=%2Fconsole%2Foperations")
            let cookie = try await fixture.signIn()
            #expect(cookie.hasPrefix("peal_session="))
            let home = try await fixture.get("/console/", cookie: cookie)
            #expect(home.status == 200 && home.text.contains("Cheese"))
            let secret = try #require(home.formSecret)
            let out = try await fixture.post("/console/sign-out", ["csrf": secret], cookie: cookie)
            #expect(out.status == 303 && out.header("set-cookie")?.contains("Max-Age=0") == true)
            let ended = try await fixture.get("/console/", cookie: cookie)
            #expect(ended.status == 303 && ended.location == "/console/sign-in?ended=1")
            #expect(try await fixture.get("/console/sign-in?ended=1").text.contains("Your session has ended"))
        }
    }

    @Test("has a cookie that scripts cannot read and other sites cannot send", arguments: [true, false])
    func cookie(isTLS: Bool) async throws {
        try await ConsoleFixture.open(isTLS: isTLS) { fixture in
            let form = try await fixture.get("/console/sign-in")
            let reply = try await fixture.post(
                "/console/sign-in", ["key": ConsoleFixture.adminToken, "csrf": try #require(form.formSecret)])
            let header = try #require(reply.header("set-cookie"))
            for part in ["HttpOnly", "SameSite=Strict", "Path=/"] { #expect(header.contains(part)) }
            #expect(header.contains("; Secure") == isTLS && header.hasPrefix("__Host-peal_session=") == isTLS)
        }
    }

    @Test("counts every answer by the pattern of its path, without ids of people")
    func answers() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn()
            fixture.operations.answers.withLock { $0 = [] }
            let app = "/console/apps/\(fixture.app.id)"
            for path in ["/", "/console/", "\(app)/users/ann", "/console/assets/none", "/console/ann"] {
                _ = try await fixture.get(path, cookie: cookie)
            }
            #expect(
                fixture.operations.answers.withLock { $0 } == [
                    "GET none 303", "GET /console/ 200", "GET /console/apps/:app/users/:id 404",
                    "GET /console/assets 404", "GET none 404",
                ])
        }
    }

    @Test("refuses a wrong key with the form")
    func wrongKey() async throws {
        try await ConsoleFixture.open { fixture in
            let secret = try #require(try await fixture.get("/console/sign-in").formSecret)
            for key in ["wrong", "", "wrong\r\nX: y"] {
                let reply = try await fixture.post("/console/sign-in", ["key": key, "csrf": secret])
                #expect(reply.status == 401 && reply.formSecret != nil && reply.header("set-cookie") == nil)
            }
        }
    }

    @Test("refuses a form that is too large for a sign-in before it is read")
    func largeForm() async throws {
        try await ConsoleFixture.open { fixture in
            let secret = try #require(try await fixture.get("/console/sign-in").formSecret)
            let (short, long) = (String(repeating: "a", count: 10_000), String(repeating: "a", count: 20_000))
            #expect(try await fixture.post("/console/sign-in", ["key": short, "csrf": secret]).status == 401)
            #expect(try await fixture.post("/console/sign-in", ["key": long, "csrf": secret]).status == 413)
        }
    }

    @Test("answers 429 after too many failures")
    func rateLimit() async throws {
        try await ConsoleFixture.open { fixture in
            fixture.authenticator.failuresLeft.withLock { $0 = 1 }
            let secret = try #require(try await fixture.get("/console/sign-in").formSecret)
            #expect(try await fixture.post("/console/sign-in", ["key": "x", "csrf": secret]).status == 401)
            let reply = try await fixture.post("/console/sign-in", ["key": "x", "csrf": secret])
            #expect(reply.status == 429 && reply.header("retry-after") == "7")
        }
    }

    @Test("ends after an hour without use and twelve hours in all")
    func limits() async throws {
        try await ConsoleFixture.open { fixture in
            var cookie = try await fixture.signIn()
            fixture.clock.advance(by: .seconds(3599))
            #expect(try await fixture.get("/console/", cookie: cookie).status == 200)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await fixture.get("/console/", cookie: cookie).status == 303)
            cookie = try await fixture.signIn()
            for _ in 0..<23 {
                fixture.clock.advance(by: .seconds(1800))
                let reply = try await fixture.get("/console/", cookie: cookie)
                #expect(reply.status == 200)
                cookie = try #require(reply.cookie, "the session is not renewed")
            }
            fixture.clock.advance(by: .seconds(1800))
            #expect(try await fixture.get("/console/", cookie: cookie).status == 303)
        }
    }

    @Test("cannot be forged or moved to another holder")
    func forged() async throws {
        try await ConsoleFixture.open { fixture in
            let cookie = try await fixture.signIn([.read])
            let parts = cookie.dropFirst("peal_session=".count).split(separator: ".").map(String.init)
            #expect(parts.count == 5)
            let later = String(fixture.clock.now.milliseconds + 1000)
            let forged = [
                ["admin", parts[1], parts[2], parts[3], parts[4]], [parts[0], parts[1], later, parts[3], parts[4]],
                [parts[0], parts[1], parts[2], later, parts[4]], [parts[0], "0", parts[2], parts[3], parts[4]],
                [parts[0], parts[1], parts[2], parts[3], ""], [parts[0], parts[1], parts[2], parts[3]], ["x"],
                ["admin", parts[1], "99999999999999999999", parts[3], parts[4]],
            ]
            for values in forged {
                let cookie = "peal_session=" + values.joined(separator: ".")
                #expect(try await fixture.get(fixture.page(""), cookie: cookie).status == 303, "\(cookie)")
            }
        }
    }

    @Test("ends with its key, and with its expiry")
    func revoked() async throws {
        try await ConsoleFixture.open { fixture in
            let key = try await fixture.key([.read])
            let cookie = try await fixture.signIn(key.secret)
            #expect(try await fixture.get(fixture.page(""), cookie: cookie).status == 200)
            try await fixture.keys.revoke(key.id, app: fixture.app.key, VerbCall(actor: "test", now: fixture.clock.now))
            #expect(try await fixture.get(fixture.page(""), cookie: cookie).status == 303)
            let short = try await fixture.key([.read], expiresAt: fixture.clock.now + .seconds(60))
            let other = try await fixture.signIn(short.secret)
            fixture.clock.advance(by: .seconds(60))
            #expect(try await fixture.get(fixture.page(""), cookie: other).status == 303)
        }
    }

    @Test("of a named admin ends when the admin is revoked")
    func namedAdmin() async throws {
        try await ConsoleFixture.open { fixture in
            let secret = "peal-admin-of-somebody-with-a-name"
            let hash = fixture.hasher.hash(secret)
            let admin = Admin(
                id: AdminID("00000000-0000-4000-8000-0000000000a1")!, name: "Ada", createdBy: "admin",
                createdAt: fixture.clock.now)
            try await fixture.store.write(.control) { store in
                try store.insertAdmin(admin, publicHalf: KeyVerbs.publicHalf(ofHash: hash), secretHash: hash)
            }
            let cookie = try await fixture.signIn(secret)
            #expect(try await fixture.get("/console/operations", cookie: cookie).status == 200)
            try await fixture.store.write(.control) { _ = try $0.deleteAdmin(admin.id) }
            #expect(try await fixture.get("/console/operations", cookie: cookie).status == 303)
        }
    }

    @Test("ends everywhere at once, and can begin again")
    func everywhere() async throws {
        try await ConsoleFixture.open { fixture in
            let (one, two) = (try await fixture.signIn(), try await fixture.signIn())
            fixture.clock.advance(by: .milliseconds(1))
            let secret = try #require(try await fixture.get("/console/", cookie: one).formSecret)
            _ = try await fixture.post("/console/sign-out-everywhere", ["csrf": secret, "confirmed": "1"], cookie: one)
            for cookie in [one, two] { #expect(try await fixture.get("/console/", cookie: cookie).status == 303) }
            fixture.clock.advance(by: .milliseconds(1))
            let again = try await fixture.signIn()
            #expect(try await fixture.get("/console/", cookie: again).status == 200)
        }
    }

    @Test("can begin although all sessions ended before the clock was set back, and those stay ended")
    func clockSetBack() async throws {
        try await ConsoleFixture.open { fixture in
            let early = try await fixture.signIn()
            fixture.clock.setClock(by: .seconds(365 * 86_400))
            let late = try await fixture.signIn()
            let secret = try #require(try await fixture.get("/console/", cookie: late).formSecret)
            let form = ["csrf": secret, "confirmed": "1"]
            _ = try await fixture.post("/console/sign-out-everywhere", form, cookie: late)
            fixture.clock.setClock(by: .seconds(-365 * 86_400))
            fixture.clock.advance(by: .seconds(1))
            #expect(try await fixture.get("/console/", cookie: early).status == 303)
            let again = try await fixture.signIn()
            #expect(try await fixture.get("/console/", cookie: again).status == 200)
            for cookie in [early, late] { #expect(try await fixture.get("/console/", cookie: cookie).status == 303) }
            fixture.clock.setClock(by: .seconds(365 * 86_400))
            #expect(try await fixture.get("/console/", cookie: late).status == 303, "the clock has caught up")
        }
    }

    @Test("of an admin begins and counts only on the listener for admins, if there is one")
    func listener() async throws {
        try await ConsoleFixture.open { fixture in
            let main = ConsoleFixture.listenerForKeys
            let page = try await fixture.get("/console/sign-in", headers: main)
            let form = ["csrf": try #require(page.formSecret), "key": ConsoleFixture.adminToken]
            let refused = try await fixture.post("/console/sign-in", form, headers: main)
            #expect(refused.status == 403 && refused.cookie == nil && refused.text.contains("PEAL_ADMIN_LISTEN_PORT"))
            // Browsers send cookies to every port of a host.
            let cookie = try await fixture.signIn()
            for path in ["/console/operations", "/console/new-app"] {
                #expect(try await fixture.get(path, cookie: cookie, headers: main).status == 404, "\(path)")
                #expect(try await fixture.get(path, headers: main).status == 404, "\(path)")
                #expect(try await fixture.get(path, cookie: cookie).status == 200, "\(path)")
            }
            for path in ["/console/", fixture.page("messages")] {
                let reply = try await fixture.get(path, cookie: cookie, headers: main)
                #expect(reply.location?.hasPrefix("/console/sign-in") == true && reply.cookie == nil, "\(path)")
            }
            let key = ["csrf": form["csrf"]!, "key": try await fixture.key([.read]).secret]
            let signedIn = try await fixture.post("/console/sign-in", key, headers: main)
            #expect(signedIn.status == 303)
            let home = try await fixture.get(fixture.page(""), cookie: signedIn.cookie, headers: main)
            #expect(home.status == 200)
        }
    }

    @Test("redirects only to pages of the console")
    func next() async throws {
        try await ConsoleFixture.open { fixture in
            for (next, goal) in [
                ("/console/operations", "/console/operations"), ("https://evil.example/", "/console/"),
                ("//evil.example", "/console/"), ("/console//evil.example", "/console/"), ("/peal/v1", "/console/"),
                ("/console/\\evil", "/console/"), ("/console/\r\nX: y", "/console/"),
            ] {
                let secret = try #require(try await fixture.get("/console/sign-in").formSecret)
                let reply = try await fixture.post(
                    "/console/sign-in", ["key": ConsoleFixture.adminToken, "csrf": secret, "next": next])
                #expect(reply.location == goal, "\(next)")
            }
        }
    }
}
