import HTTPTypes
import PealCore
import PealTesting
import Testing

@Suite("Access")
struct AccessTests {
    private static let paths: [(HTTPRequest.Method, String)] = [
        (.get, "…"), (.get, "…/devices"), (.get, "…/messages"), (.post, "…/messages"), (.get, "…/keys"),
        (.post, "…/keys"), (.get, "…/credentials"), (.put, "…/credentials/apns/production"), (.get, "…/audit"),
        (.get, "…/topics"), (.delete, "…/users/u"), (.post, "…/devices:batch"), (.get, "/peal/v1/apps"),
        (.get, "/peal/v1/audit"), (.post, "/peal/v1/apps"), (.delete, "…"), (.get, "…/campaigns"),
    ]

    @Test(
        "without a valid key is refused with 401 and a challenge",
        arguments: [nil, "", "Bearer", "Bearer wrong", "Basic !!!", "Basic YTpi", "Digest a", "Token x"])
    func unauthorized(authorization: String?) async throws {
        try await Fixture.open { fixture in
            for (method, path) in Self.paths {
                let reply = try await fixture.call(
                    method, path.replacing("…", with: fixture.path), body: method == .get ? nil : "{}",
                    authorization: authorization)
                #expect(reply.status == 401, "\(method) \(path)")
                #expect(reply.code == "unauthorized")
                #expect(reply.header("WWW-Authenticate") == #"Bearer realm="peal""#)
            }
        }
    }

    @Test("with a native key is limited to its scopes and its app, and excludes what only admins may do")
    func scopes() async throws {
        try await Fixture.open { fixture in
            let table: [(scopes: [JSON], allowed: [String], forbidden: [String])] = [
                (["read"], ["…", "…/devices", "…/messages", "…/topics"], ["…/keys", "…/audit", "…/credentials"]),
                (["manage"], ["…/keys", "…/audit", "…/credentials"], ["…", "…/devices", "…/messages"]),
                (["send", "devices"], [], ["…", "…/devices", "…/keys", "…/campaigns", "/peal/v1/apps"]),
            ]
            for (scopes, allowed, forbidden) in table {
                let key = try await fixture.key("native", [("scopes", .array(scopes))])
                let bearer = "Bearer \(key["token"]?.stringValue ?? "")"
                for path in allowed {
                    let reply = try await fixture.call(
                        .get, path.replacing("…", with: fixture.path), authorization: bearer)
                    #expect(reply.status == 200, "\(scopes) \(path) \(reply.text)")
                }
                for path in forbidden + ["/peal/v1/audit", "/peal/v1/apps/00000000-0000-4000-8000-0000000000bb"] {
                    let reply = try await fixture.call(
                        .get, path.replacing("…", with: fixture.path), authorization: bearer)
                    #expect(reply.status == 403, "\(scopes) \(path) \(reply.text)")
                    #expect(reply.code == "forbidden")
                }
                let made = try await fixture.call(
                    .post, "/peal/v1/apps", body: #"{"name":"x"}"#, authorization: bearer)
                #expect(made.status == 403)
                let gone = try await fixture.call(.delete, fixture.path, authorization: bearer)
                #expect(gone.status == 403)
            }
        }
    }

    @Test("grants a key no scope that its creator lacks, and lists only the key's own app")
    func noEscalation() async throws {
        try await Fixture.open { fixture in
            let key = try await fixture.key("native", [("scopes", ["manage", "read"])])
            let bearer = "Bearer \(key["token"]?.stringValue ?? "")"
            let refused = try await fixture.call(
                .post, "\(fixture.path)/keys", body: #"{"dialect":"native","scopes":["send"]}"#,
                authorization: bearer)
            #expect(refused.status == 403)
            #expect(refused.field == "scopes")
            let usual = try await fixture.call(
                .post, "\(fixture.path)/keys", body: #"{"dialect":"pivotal"}"#, authorization: bearer)
            #expect(usual.status == 403)
            let granted = try await fixture.call(
                .post, "\(fixture.path)/keys", body: #"{"dialect":"native","scopes":["read"]}"#,
                authorization: bearer)
            #expect(granted.status == 201)
            _ = try await fixture.admin(.post, "/peal/v1/apps", ["name": "Other"])
            let apps = try await fixture.call(.get, "/peal/v1/apps", authorization: bearer)
            #expect(apps["items"]?.arrayValue?.count == 1)
            let rest = try await fixture.call(
                .get, "/peal/v1/apps?cursor=\(Base64URL.encode(fixture.app.bytes))", authorization: bearer)
            #expect(rest["items"]?.arrayValue?.isEmpty == true, "\(rest.text)")
            #expect(try await fixture.admin(.get, "/peal/v1/apps")["items"]?.arrayValue?.count == 2)
        }
    }

    @Test("with a key of another dialect is refused with 403 except on that dialect's paths")
    func otherDialects() async throws {
        try await Fixture.open { fixture in
            var authorizations: [String] = []
            for (dialect, name) in [("contextpush", "token"), ("devtodev", "user_token"), ("device", "token")] {
                let key = try await fixture.key(dialect)
                authorizations.append("Bearer \(key[name]?.stringValue ?? "")")
            }
            let richie = try await fixture.key("richie")
            authorizations.append(
                fixture.basic(richie["username"]?.stringValue ?? "", richie["password"]?.stringValue ?? ""))
            let pivotal = try await fixture.key("pivotal")
            let application = fixture.basic(
                pivotal["application_uuid"]?.stringValue ?? "", pivotal["api_key"]?.stringValue ?? "")
            let key = try await fixture.key("pivotal-platform", [("platform", "ios")])
            let platform = fixture.basic(
                key["platform_uuid"]?.stringValue ?? "", key["platform_secret"]?.stringValue ?? "")
            for authorization in authorizations + [application, platform] {
                let reply = try await fixture.call(.get, fixture.path, authorization: authorization)
                #expect(reply.status == 403, "\(reply.text)")
            }
            let native = try await fixture.key("native")
            authorizations += ["Bearer \(native["token"]?.stringValue ?? "")", "Bearer \(Fixture.adminToken)"]
            // A key of one of Pivotal's realms is unknown in the other.
            for authorization in authorizations + [platform] {
                let reply = try await fixture.call(.post, "/v1/push", body: "{}", authorization: authorization)
                #expect(reply.status == (authorization == platform ? 401 : 403), "\(reply.text)")
            }
            for authorization in authorizations + [application] {
                let reply = try await fixture.call(.post, "/v1/registration", body: "{}", authorization: authorization)
                #expect(reply.status == (authorization == application ? 401 : 403), "\(reply.text)")
            }
        }
    }

    @Test("is possible with names and secrets that contain spaces, as Basic authentication permits")
    func pairWithSpaces() async throws {
        try await Fixture.open { fixture in
            let (name, password) = ("my old server", "correct: horse battery staple")
            let pair: [(String, JSON)] = [("username", .string(name)), ("password", .string(password))]
            _ = try await fixture.key("richie", pair)
            for (name, password, isKnown) in [
                (name, password, true), (name, "correct:", false), ("my", password, false),
            ] {
                let reply = try await fixture.call(
                    .post, RichieFixture.path, body: "{}", authorization: fixture.basic(name, password))
                #expect((reply.status == 400) == isKnown, "\(name):\(password): \(reply.text)")
                #expect((reply.status == 401) != isKnown)
            }
        }
    }

    @Test(
        "requires names and secrets that Basic authentication can transmit, and tokens without spaces",
        arguments: [
            ("richie", "username", "a:b"), ("richie", "username", " a"), ("richie", "username", "a "),
            ("richie", "password", " correct horse battery staple"), ("richie", "password", "correct horse\u{1}"),
            ("richie", "password", "größer als alle anderen"), ("contextpush", "token", "correct horse battery staple"),
            ("devtodev", "user_token", "correct horse battery staple"),
        ])
    func unusableHalves(dialect: String, name: String, value: String) async throws {
        try await Fixture.open { fixture in
            let reply = try await fixture.admin(
                .post, "…/keys", ["dialect": .string(dialect), name: .string(value)])
            #expect(reply.status == 400 && reply.field == name, "\(reply.text)")
        }
    }

    @Test("ends with the key's expiry and, at once, with its revocation")
    func ends() async throws {
        try await Fixture.open { fixture in
            let mortal = try await fixture.key("native", [("expires_at", "2026-11-21T00:00:10Z")])
            let lasting = try await fixture.key("native")
            let revoked = try await fixture.key("native")
            func status(_ key: Fixture.Reply) async throws -> Int {
                try await fixture.call(.get, fixture.path, authorization: "Bearer \(key["token"]?.stringValue ?? "")")
                    .status
            }
            #expect(try await [status(mortal), status(lasting), status(revoked)] == [200, 200, 200])
            let gone = try await fixture.admin(.delete, "…/keys/\(revoked["id"]?.stringValue ?? "")")
            #expect(gone.status == 204)
            #expect(try await [status(mortal), status(lasting), status(revoked)] == [200, 200, 401])
            fixture.clock.advance(by: .seconds(11))
            #expect(try await [status(mortal), status(lasting)] == [401, 200])
        }
    }

    @Test("is possible with the scheme in any letter case, and any white space after it")
    func spaces() async throws {
        try await Fixture.open { fixture in
            for scheme in ["Bearer ", "bearer  ", "BEARER\t"] {
                let reply = try await fixture.call(.get, fixture.path, authorization: scheme + Fixture.adminToken)
                #expect(reply.status == 200)
            }
        }
    }
}
