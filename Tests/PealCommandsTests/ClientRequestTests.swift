import PealCommands
import PealCore
import Testing

@Suite("Client commands and their requests")
struct ClientRequestTests {
    @Test(
        "ask the native API for what they say",
        arguments: [
            (
                ["app", "create", "--name", "A", "--bundle-id", "b.c"], "POST", "apps",
                #"{"name":"A","bundle_id":"b.c"}"#
            ),
            (["app", "list"], "GET", "apps?limit=200", ""),
            (["app", "show"], "GET", "apps/APP", ""),
            (["app", "update", "--name", "B"], "PATCH", "apps/APP", #"{"name":"B"}"#),
            (["app", "delete", Terminal.app], "DELETE", "apps/APP", ""),
            (["credential", "list"], "GET", "apps/APP/credentials?limit=200", ""),
            (["credential", "delete", "apns", "sandbox"], "DELETE", "apps/APP/credentials/apns/sandbox", ""),
            (["credential", "verify", "fcm"], "POST", "apps/APP/credentials/fcm/verify", "{}"),
            (
                ["credential", "delete", "webpush", "--fingerprint", "a-b_"], "DELETE",
                "apps/APP/credentials/webpush/a-b_", ""
            ),
            (
                ["channel", "create", "sandbox", "--storage-policy", "most_recent"], "POST",
                "apps/APP/channels/sandbox",
                #"{"storage_policy":"most_recent"}"#
            ),
            (["channel", "list", "production"], "GET", "apps/APP/channels/production?limit=200", ""),
            (["channel", "show", "sandbox", "a+/b="], "GET", "apps/APP/channels/sandbox/a%2B%2Fb%3D", ""),
            (["channel", "delete", "sandbox", "a+/b="], "DELETE", "apps/APP/channels/sandbox/a%2B%2Fb%3D", ""),
            (
                ["key", "create", "native", "--scope", "send", "--scope", "read"], "POST", "apps/APP/keys",
                #"{"dialect":"native","scopes":["send","read"]}"#
            ),
            (
                [
                    "key", "create", "contextpush", "--also-app", "0199B2C0-0000-7000-8000-000000000002", "--also-app",
                    "0199b2c0-0000-7000-8000-000000000003",
                ], "POST", "apps/APP/keys",
                #"{"dialect":"contextpush","apps":["0199b2c0-0000-7000-8000-000000000002","#
                    + #""0199b2c0-0000-7000-8000-000000000003"]}"#
            ),
            (["key", "list", "--limit", "5"], "GET", "apps/APP/keys?limit=5", ""),
            (["key", "delete", "k/1"], "DELETE", "apps/APP/keys/k%2F1", ""),
            (
                [
                    "device", "put", "--platform", "ios", "--address", "0011", "--user", "u", "--topic", "a", "--topic",
                    "b",
                ],
                "POST", "apps/APP/devices", #"{"platform":"ios","address":"0011","user_id":"u","topics":["a","b"]}"#
            ),
            (
                ["device", "register", "d1", "--platform", "web", "--address", #"{"endpoint":"e"}"#], "PUT",
                "apps/APP/devices/d1",
                #"{"platform":"web","address":{"endpoint":"e"}}"#
            ),
            (
                ["device", "list", "--user", "ä b", "--topic", "x&y"], "GET",
                "apps/APP/devices?user_id=%C3%A4%20b&topic=x%26y&limit=200", ""
            ),
            (["device", "show", "d1"], "GET", "apps/APP/devices/d1", ""),
            (["device", "delete", "d1"], "DELETE", "apps/APP/devices/d1", ""),
            (
                ["topic", "put", "news", "--expires-at", "2030-01-01T00:00:00Z"], "PUT", "apps/APP/topics/news",
                #"{"expires_at":"2030-01-01T00:00:00Z"}"#
            ),
            (["topic", "list"], "GET", "apps/APP/topics?limit=200", ""),
            (
                ["segment", "put", "old apps", "--where", #" {"app_version":{"lt":"2"}}"#], "PUT",
                "apps/APP/segments/old%20apps", #"{"where":{"app_version":{"lt":"2"}}}"#
            ),
            (
                [
                    "message", "send", "--user", "a", "--body", "B", "--at", "2030-01-01 09:00",
                    "--in-recipient-time-zone", "--transactional", "--rate", "50",
                ], "POST", "apps/APP/messages",
                #"{"audience":{"users":["a"]},"content":{"body":"B"},"options":{"transactional":true,"#
                    + #""rate_per_second":50},"schedule":{"at":"2030-01-01T09:00:00Z","in":"recipient_time_zone"}}"#
            ),
            (["segment", "list"], "GET", "apps/APP/segments?limit=200", ""),
            (["segment", "show", "a"], "GET", "apps/APP/segments/a", ""),
            (["segment", "delete", "a"], "DELETE", "apps/APP/segments/a", ""),
            (
                ["audience", "count", "--topic", "news", "--where", #"{"locale":"de"}"#], "POST",
                "apps/APP/audience:count", #"{"audience":{"topics":["news"],"where":{"locale":"de"}}}"#
            ),
            (["topic", "delete", "a b"], "DELETE", "apps/APP/topics/a%20b", ""),
            (
                [
                    "message", "send", "--topic", "news", "--title", "T", "--body", "B", "--badge", "0", "--ttl", "60",
                    "--yes",
                ],
                "POST",
                "apps/APP/messages",
                #"{"audience":{"topics":["news"]},"content":{"title":"T","body":"B","badge":0},"#
                    + #""options":{"ttl_seconds":60}}"#
            ),
            (
                [
                    "message", "send", "--all", "--background", "--data", #"{"a":1.0}"#, "--at", "2030-01-01T00:00:00Z",
                    "--yes",
                ],
                "POST",
                "apps/APP/messages",
                #"{"audience":{"all":true},"content":{"data":{"a":1.0}},"options":{"background":true},"#
                    + #""schedule":{"at":"2030-01-01T00:00:00Z"}}"#
            ),
            (
                ["message", "validate", "--address", "ios:sandbox:00ff", "--address", "windows:https://h/x"], "POST",
                "apps/APP/messages:validate",
                #"{"audience":{"addresses":[{"platform":"ios","environment":"sandbox","address":"00ff"},"#
                    + #"{"platform":"windows","address":"https://h/x"}]}}"#
            ),
            (
                ["message", "test", "--user", "u", "--body", "B", "--body-in", "de=S=1"], "POST", "apps/APP/messages",
                #"{"audience":{"users":["u"]},"content":{"body":{"en":"B","de":"S=1"}},"test":true}"#
            ),
            (
                [
                    "message", "send", "--user", "u", "--title-in", "de=A", "--default-locale", "de", "--at",
                    "2030-07-01 18:00", "--tz", "Europe/Vienna",
                ], "POST", "apps/APP/messages",
                #"{"audience":{"users":["u"]},"content":{"title":{"de":"A"},"default_locale":"de"},"#
                    + #""schedule":{"at":"2030-07-01T16:00:00Z"}}"#
            ),
            (
                ["message", "list", "--from", "2030-01-01T00:00:00Z", "--text", "ä"], "GET",
                "apps/APP/messages?from=2030-01-01T00%3A00%3A00Z&text=%C3%A4&limit=200", ""
            ),
            (["schedule", "list"], "GET", "apps/APP/messages?state=scheduled&limit=200", ""),
            (
                ["schedule", "list", "--campaign", "c"], "GET",
                "apps/APP/messages?state=scheduled&campaign_id=c&limit=200", ""
            ),
            (["schedule", "show", "m"], "GET", "apps/APP/messages/m", ""),
            (["schedule", "cancel", "m"], "POST", "apps/APP/messages/m/cancel", "{}"),
            (
                ["schedule", "update", "m", "--at", "2030-01-01T00:00:00Z"], "PATCH", "apps/APP/messages/m",
                #"{"schedule":{"at":"2030-01-01T00:00:00Z"}}"#
            ),
            (["campaign", "list"], "GET", "apps/APP/campaigns?limit=200", ""),
            (["campaign", "show", "a b"], "GET", "apps/APP/campaigns/a%20b", ""),
            (
                ["campaign", "change-share", "a", "0.95"], "POST", "apps/APP/campaigns/a/experiment", #"{"share":0.95}"#
            ),
            (["campaign", "rollback-model", "a"], "POST", "apps/APP/campaigns/a/model/rollback", "{}"),
            (
                ["campaign", "rollback-model", "a", "--version", "7"], "POST", "apps/APP/campaigns/a/model/rollback",
                #"{"version":7}"#
            ),
            (
                ["device", "update", "d", "--user", "u"], "PATCH", "apps/APP/devices/d", #"{"user_id":"u"}"#
            ),
            (["device", "deliveries", "d"], "GET", "apps/APP/devices/d/deliveries?limit=200", ""),
            (["topic", "subscribe", "news", "d"], "PUT", "apps/APP/devices/d/topics/news", ""),
            (["topic", "unsubscribe", "news", "d"], "DELETE", "apps/APP/devices/d/topics/news", ""),
            (["user", "erase", "u", "--yes"], "DELETE", "apps/APP/users/u", ""),
            (["webhook", "list"], "GET", "apps/APP/webhooks?limit=200", ""),
            (["webhook", "show", "a b"], "GET", "apps/APP/webhooks/a%20b", ""),
            (["webhook", "delete", "w"], "DELETE", "apps/APP/webhooks/w", ""),
            (["webhook", "deliveries", "w"], "GET", "apps/APP/webhooks/w/deliveries?limit=200", ""),
            (["webhook", "test", "a b"], "POST", "apps/APP/webhooks/a%20b/test", "{}"),
            (["webhook", "retry", "w", "d"], "POST", "apps/APP/webhooks/w/deliveries/d/retry", "{}"),
            (["message", "list", "--state", "sent"], "GET", "apps/APP/messages?state=sent&limit=200", ""),
            (["message", "show", "m"], "GET", "apps/APP/messages/m", ""),
            (["message", "cancel", "m"], "POST", "apps/APP/messages/m/cancel", "{}"),
            (["message", "pause", "m"], "POST", "apps/APP/messages/m/pause", "{}"),
            (["message", "resume", "m"], "POST", "apps/APP/messages/m/resume", "{}"),
            (
                ["message", "explain", "m", "--device", "d"], "GET",
                "apps/APP/messages/m/deliveries?device=d&limit=200", ""
            ),
            (
                ["message", "deliveries", "m", "--user", "u"], "GET", "apps/APP/messages/m/deliveries?user=u&limit=200",
                ""
            ),
        ] as [([String], String, String, String)])
    func requests(arguments: [String], method: String, path: String, body: String) async throws {
        let (code, terminal, seen) = try await Terminal.run(arguments)
        #expect(code == 0, "\(terminal.errors)")
        let request = try #require(seen.first)
        #expect(request.method == method)
        #expect(request.uri == "/peal/v1/" + path.replacing("APP", with: Terminal.app))
        #expect(request.body == body)
        #expect(request.headers["authorization"] == "Bearer key")
    }

    @Test(
        "read a credential's secrets from their files",
        arguments: [
            (
                "apns production --key-id K --team-id T --bundle-id b --private-key-file key",
                #"{"kind":"token","key_id":"K","team_id":"T","bundle_id":"b","private_key":"-----BEGIN\nx\n"}"#
            ),
            (
                "apns sandbox --bundle-id b --certificate-file certificate --private-key-file key",
                #"{"kind":"certificate","bundle_id":"b","certificate":"-----C","private_key":"-----BEGIN\nx\n"}"#
            ),
            (
                "apns sandbox --bundle-id b --p12-file archive --passphrase-file secret",
                #"{"kind":"p12","bundle_id":"b","data":"cDEy","passphrase":"s3 cret"}"#
            ),
            ("fcm --service-account-file account", #"{"service_account":{"project_id":"p"}}"#),
            (
                "wns --package-sid ms-app://S-1 --client-secret-file secret",
                #"{"package_sid":"ms-app://S-1","client_secret":"s3 cret"}"#
            ),
            (
                "wns --tenant-id t --client-id c --client-secret-file secret",
                #"{"tenant_id":"t","client_id":"c","client_secret":"s3 cret"}"#
            ),
            (
                "mpns --certificate-file certificate --private-key-file key",
                #"{"certificate":"-----C","private_key":"-----BEGIN\nx\n"}"#
            ),
            ("mpns", "{}"), ("webpush --subject mailto:a@b", #"{"subject":"mailto:a@b"}"#),
        ])
    func credential(arguments: String, body: String) async throws {
        let words = arguments.split(separator: " ").map(String.init)
        let (code, terminal, seen) = try await Terminal.run(
            ["credential", "put"] + words,
            files: [
                "key": "-----BEGIN\nx\n", "certificate": "-----C", "archive": "p12", "secret": "s3 cret\n",
                "account": #"{"project_id":"p"}"#,
            ])
        #expect(code == 0, "\(terminal.errors)")
        #expect(seen.first?.uri.contains("/credentials/\(words[0])") == true)
        #expect(seen.first?.body == body)
    }

    @Test(
        "read a webhook's secret from its file, under the name of its kind",
        arguments: [
            (["basic", "--username", "u"], #"{"type":"basic","username":"u","password":"s3cret"}"#),
            (["bearer"], #"{"type":"bearer","token":"s3cret"}"#),
            (["header", "--header", "X-Key"], #"{"type":"header","name":"X-Key","value":"s3cret"}"#),
            (["signature"], #"{"type":"signature","secret":"s3cret"}"#),
            (["secret"], #"{"type":"secret","secret":"s3cret"}"#),
        ])
    func webhook(authentication: [String], expected: String) async throws {
        let (code, _, seen) = try await Terminal.run(
            [
                "webhook", "put", "main", "--url", "https://e.org/", "--kind", "events", "--secret-file", "s.txt",
                "--authentication",
            ] + authentication, files: ["s.txt": "s3cret\n"])
        #expect(code == 0)
        #expect(seen.first?.method == "PUT")
        #expect(seen.first?.uri.hasSuffix("/webhooks/main") == true)
        #expect(seen.first?.body == #"{"url":"https://e.org/","kind":"events","authentication":\#(expected)}"#)
    }

    @Test(
        "list the audit log of the app or, as an admin, of all apps",
        arguments: [
            (
                ["audit", "list", "--actor", "ann", "--action", "key.create"],
                "apps/APP/audit?actor=ann&action=key.create"
            ),
            (
                ["audit", "list", "--all", "--from", "2026-11-01T00:00:00Z", "--to", "2026-11-02T00:00:00Z"],
                "audit?from=2026-11-01T00%3A00%3A00Z&to=2026-11-02T00%3A00%3A00Z"
            ),
        ])
    func audit(arguments: [String], path: String) async throws {
        let (code, terminal, seen) = try await Terminal.run(arguments, body: #"{"items":[],"next_cursor":null}"#)
        #expect(code == 0, "\(terminal.errors)")
        let expected = "/peal/v1/" + path.replacing("APP", with: Terminal.app) + "&limit=200"
        #expect(seen.map(\.uri) == [expected])
    }

    @Test("follow a list from page to page, up to the limit")
    func cursors() async throws {
        let answer: @Sendable (ScriptedServer.Seen) -> ScriptedServer.Reply = { seen in
            let query = seen.uri.split(separator: "?").last.map(String.init) ?? ""
            let size = query.contains("limit=200") ? 200 : 50
            let items = Array(repeating: #"{"id":"x"}"#, count: size).joined(separator: ",")
            let next = query.contains("cursor=c2") ? "null" : query.contains("cursor=c1") ? "\"c2\"" : "\"c1\""
            return .init(status: 200, body: #"{"items":[\#(items)],"next_cursor":\#(next)}"#)
        }
        try await ScriptedServer.with(answer) { url, server in
            let terminal = Terminal(environment: ["PEAL_SERVER_URL": url + "/", "PEAL_API_KEY": "key"])
            #expect(await terminal.run(["app", "list", "--limit", "250", "--json"]) == 0)
            let document = try JSONParser.parse(terminal.output)
            #expect(document["items"]?.arrayValue?.count == 250)
            #expect(document["next_cursor"] == "c2")
            #expect(server.requests.map(\.uri) == ["/peal/v1/apps?limit=200", "/peal/v1/apps?limit=50&cursor=c1"])
            #expect(terminal.errors.isEmpty, "\(terminal.errors)")
            let cut = Terminal(environment: ["PEAL_SERVER_URL": url + "/", "PEAL_API_KEY": "key"])
            #expect(await cut.run(["app", "list", "--json"]) == 0)
            #expect(cut.errors.contains("only the first 200 are listed; --limit N lists more"), "\(cut.errors)")
        }
    }
}
