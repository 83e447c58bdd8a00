import PealCommands
import PealCore
import Testing

@Suite("Client commands") struct ClientCommandTests {
    private static let app = "0199b2c0-0000-7000-8000-000000000001"
    private let message = "0199b2c0-0000-7000-8000-0000000000aa"

    /// Runs a command against a server that gives the same answer to everything, and returns what the server saw.
    private func run(
        _ arguments: [String], status: Int = 200, body: String = "{}", headers: [(String, String)] = [],
        files: [String: String] = [:], typed: String? = nil, environment: [String: String] = [:]
    ) async throws -> (code: Int32, terminal: Terminal, seen: [ScriptedServer.Seen]) {
        nonisolated(unsafe) var result: (Int32, Terminal, [ScriptedServer.Seen])?
        try await ScriptedServer.with({ _ in .init(status: status, body: body, headers: headers) }) { url, server in
            let own = ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app]
            let terminal = Terminal(
                environment: own.merging(environment) { $1 }, files: files, typed: typed)
            let code = await terminal.run(arguments)
            result = (code, terminal, server.requests)
        }
        return try #require(result)
    }

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
            (["app", "delete", app], "DELETE", "apps/APP", ""),
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
        let (code, terminal, seen) = try await run(arguments)
        #expect(code == 0, "\(terminal.errors)")
        let request = try #require(seen.first)
        #expect(request.method == method)
        #expect(request.uri == "/peal/v1/" + path.replacing("APP", with: Self.app))
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
        let (code, terminal, seen) = try await run(
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
        let (code, _, seen) = try await run(
            [
                "webhook", "put", "main", "--url", "https://e.org/", "--kind", "events", "--secret-file", "s.txt",
                "--authentication",
            ] + authentication, files: ["s.txt": "s3cret\n"])
        #expect(code == 0)
        #expect(seen.first?.method == "PUT")
        #expect(seen.first?.uri.hasSuffix("/webhooks/main") == true)
        #expect(seen.first?.body == #"{"url":"https://e.org/","kind":"events","authentication":\#(expected)}"#)
    }

    @Test("lay options over the body of a file")
    func fileBody() async throws {
        let document = #"{"audience":{"all":true},"content":{"title":"old","body":"kept"}}"#
        let (code, _, seen) = try await run(
            ["message", "send", "--file", "-", "--title", "new", "--idempotency-key", "k1", "--yes"],
            files: ["-": document])
        #expect(code == 0)
        #expect(seen.first?.body == #"{"audience":{"all":true},"content":{"title":"new","body":"kept"}}"#)
        #expect(seen.first?.headers["idempotency-key"] == "k1")
    }

    @Test("let options for the audience replace the audience of a file")
    func audience() async throws {
        let document = #"{"audience":{"all":true},"content":{"title":"old"}}"#
        let (code, _, seen) = try await run(
            ["message", "send", "--file", "-", "--user", "ann"], files: ["-": document])
        #expect(code == 0)
        #expect(seen.first?.body == #"{"audience":{"users":["ann"]},"content":{"title":"old"}}"#)
    }

    @Test(
        "replace single members of a file's message",
        arguments: [
            (
                ["--title-in", "de=D"], #"{"title":"E","data":{"a":1}}"#,
                #"{"title":{"en":"E","de":"D"},"data":{"a":1}}"#
            ),
            (
                ["--subtitle-in", "de=D", "--body-in", "de=D"], #"{"subtitle":"E","body":{"en":"E","de":"x"}}"#,
                #"{"subtitle":{"en":"E","de":"D"},"body":{"en":"E","de":"D"}}"#
            ),
            (
                ["--title-in", "de=D"], #"{"title":"F","default_locale":"fr"}"#,
                #"{"title":{"fr":"F","de":"D"},"default_locale":"fr"}"#
            ),
            (
                ["--title", "N", "--title-in", "de=D"], #"{"title":"F","default_locale":"fr"}"#,
                #"{"title":{"fr":"N","de":"D"},"default_locale":"fr"}"#
            ),
            (["--title", "N"], #"{"title":{"en":"E","de":"D"},"badge":1}"#, #"{"title":"N","badge":1}"#),
            (["--data", #"{"b":2}"#], #"{"title":"E","data":{"a":1}}"#, #"{"title":"E","data":{"b":2}}"#),
        ])
    func fileContent(arguments: [String], content: String, expected: String) async throws {
        let document = #"{"audience":{"users":["u"]},"content":\#(content)}"#
        for command in ["send", "test", "validate"] {
            let (code, terminal, seen) = try await run(
                ["message", command, "--file", "f"] + arguments, files: ["f": document])
            #expect(code == 0, "\(terminal.errors)")
            #expect(try JSONParser.parse(seen.first?.body ?? "")["content"]?.text == expected)
        }
    }

    @Test(
        "replace the end and the schedule of a file's message",
        arguments: [
            (
                ["--expires-at", "2030-01-01T00:00:00Z"],
                #"{"options":{"priority":"low","expires_at":"2030-01-01T00:00:00Z"},"schedule":{"window":{}}}"#
            ),
            (["--ttl", "5"], #"{"options":{"priority":"low","ttl_seconds":5},"schedule":{"window":{}}}"#),
            (
                ["--at", "2030-01-01T00:00:00Z"],
                #"{"options":{"ttl_seconds":60,"priority":"low"},"schedule":{"at":"2030-01-01T00:00:00Z"}}"#
            ),
        ])
    func fileDelivery(arguments: [String], expected: String) async throws {
        let document = #"{"options":{"ttl_seconds":60,"priority":"low"},"schedule":{"window":{}}}"#
        let (code, terminal, seen) = try await run(
            ["message", "validate", "--file", "f"] + arguments, files: ["f": document])
        #expect(code == 0, "\(terminal.errors)")
        #expect(seen.first?.body == expected)
    }

    @Test(
        "replace members of other files as a whole, but not what options give in parts",
        arguments: [
            (
                ["segment", "put", "s", "--where", #"{"locale":"de"}"#], #"{"where":{"topic":"a"}}"#,
                #"{"where":{"locale":"de"}}"#
            ),
            (
                ["device", "put", "d", "--address", #"{"endpoint":"e"}"#],
                #"{"platform":"web","address":{"endpoint":"x","keys":{}}}"#,
                #"{"platform":"web","address":{"endpoint":"e"}}"#
            ),
            (
                ["credential", "put", "fcm", "--service-account-file", "account"],
                #"{"service_account":{"client_email":"x"}}"#, #"{"service_account":{"project_id":"p"}}"#
            ),
            (
                ["webhook", "put", "w", "--username", "u"], #"{"authentication":{"type":"basic","username":"x"}}"#,
                #"{"authentication":{"type":"basic","username":"u"}}"#
            ),
        ])
    func fileMembers(arguments: [String], document: String, expected: String) async throws {
        let (code, terminal, seen) = try await run(
            arguments + ["--file", "f"], files: ["f": document, "account": #"{"project_id":"p"}"#])
        #expect(code == 0, "\(terminal.errors)")
        #expect(seen.first?.body == expected)
    }

    @Test(
        "count a large audience, and need consent",
        arguments: [
            ([], nil, 2, 1), (["--yes"], nil, 0, 1), (["--count", "5000"], nil, 0, 2),
            (["--count", "4999"], nil, 2, 1),
            ([], "5000", 0, 2), ([], "5001", 2, 1), (["--confirm-above", "5000"], nil, 0, 2),
            (["--confirm-above", "4999"], nil, 2, 1),
        ] as [([String], String?, Int32, Int)])
    func consent(arguments: [String], typed: String?, code: Int32, requests: Int) async throws {
        let result = try await run(
            ["message", "send", "--topic", "news", "--title", "x"] + arguments,
            body: #"{"audience":{"devices":5000},"audience_estimate":5000}"#, typed: typed)
        #expect(result.code == code, "\(result.terminal.errors)")
        #expect(result.seen.count == requests)
        #expect(result.seen.last?.uri.hasSuffix("/messages") == (code == 0))
        if code == 2, typed == nil { #expect(result.terminal.errors.contains("5000")) }
    }

    @Test("take the limit for consent from the environment, and count no short list")
    func limit() async throws {
        let body = #"{"audience":{"devices":10}}"#
        let small = try await run(
            ["message", "send", "--all", "--title", "x"], body: body, environment: ["PEAL_CONFIRM_ABOVE": "9"])
        #expect(small.code == 2 && small.seen.count == 1)
        let list = try await run(
            ["message", "send", "--user", "a", "--title", "x"], body: body, environment: ["PEAL_CONFIRM_ABOVE": "9"])
        #expect(list.code == 0 && list.seen.count == 1)
        let one = try await run(
            ["message", "send", "--all", "--title", "x", "--confirm-above", "0"], body: #"{"audience":{"devices":1}}"#)
        #expect(one.code == 2 && one.terminal.errors.contains("the audience has 1 device: add --yes, or --count 1"))
    }

    @Test(
        "change only what options name in a message",
        arguments: [
            (["--title", "New"], #"{"content":{"title":"New","body":{"en":"B","de":"C"},"data":{"a":1}}}"#),
            (
                ["--title-in", "de=Neu"],
                #"{"content":{"title":{"en":"T","de":"Neu"},"body":{"en":"B","de":"C"},"data":{"a":1}}}"#
            ),
            (
                ["--body-in", "de=D", "--data", #"{"b":2}"#],
                #"{"content":{"title":"T","body":{"en":"B","de":"D"},"data":{"b":2}}}"#
            ),
            (["--priority", "low"], #"{"options":{"ttl_seconds":600,"collapse_key":"k","priority":"low"}}"#),
            (
                ["--expires-at", "2030-01-01T00:00:00Z"],
                #"{"options":{"collapse_key":"k","expires_at":"2030-01-01T00:00:00Z"}}"#
            ),
            (["--at", "2030-01-01T00:00:00Z"], #"{"schedule":{"at":"2030-01-01T00:00:00Z"}}"#),
            (["--file", "f"], #"{"content":{"title":"F"}}"#),
            (["--file", "f", "--title-in", "de=Neu"], #"{"content":{"title":{"en":"F","de":"Neu"}}}"#),
        ])
    func update(arguments: [String], body: String) async throws {
        let present = #"""
            {"request":{"audience":{"topics":["news"]},"content":{"title":"T","body":{"en":"B","de":"C"},"data":{"a":1}},
            "options":{"ttl_seconds":600,"collapse_key":"k"},"schedule":{"at":"2029-01-01T00:00:00Z"}}}
            """#
        let (code, terminal, seen) = try await run(
            ["message", "update", "m"] + arguments, body: present, files: ["f": #"{"content":{"title":"F"}}"#])
        #expect(code == 0, "\(terminal.errors)")
        let change = try #require(seen.last)
        #expect(change.method == "PATCH" && change.uri == "/peal/v1/apps/\(Self.app)/messages/m")
        #expect(change.body == body)
    }

    @Test(
        "change the rate alone while a message is being sent",
        arguments: [
            ("sending", #"{"options":{"rate_per_second":50}}"#),
            ("scheduled", #"{"options":{"ttl_seconds":600,"rate_per_second":50}}"#),
        ])
    func rate(state: String, body: String) async throws {
        let present = #"{"state":"\#(state)","request":{"options":{"ttl_seconds":600,"rate_per_second":1}}}"#
        let (code, terminal, seen) = try await run(["message", "update", "m", "--rate", "50"], body: present)
        #expect(code == 0, "\(terminal.errors)")
        #expect(seen.last?.body == body)
    }

    @Test(
        "refuse what cannot be meant, and send nothing",
        arguments: [
            (["message", "update", "m", "--campaign", "c"], "the campaign of a message cannot be changed"),
            (["message", "send", "--file", "twice"], "twice: audience is given more than once"),
            (["message", "send", "--all", "--data", #"{"a":1,"a":2}"#], "--data: a is given more than once"),
            (
                ["segment", "put", "s", "--where", #"{"topic":"a","topic":"b"}"#],
                "--where: topic is given more than once"
            ),
            (
                ["message", "send", "--all", "--title-in", "de=A", "--title-in", "de=B"],
                "--title-in: de is given more than once"
            ),
            (["message", "send", "--all", "--user", "u", "--title", "x"], "give either --all, or --topic"),
            (["audience", "count", "--all", "--topic", "t"], "give either --all, or --topic"),
            (
                ["message", "send", "--user", "u", "--ttl", "5", "--expires-at", "2030-01-01T00:00:00Z"],
                "give either --ttl or --expires-at"
            ),
            (["message", "send", "--title", "x"], "no audience: give --topic, --user"),
            (["message", "explain", "m"], "give exactly one of --device, --user and --address"),
            (["message", "explain", "m", "--device", "d", "--user", "u"], "give exactly one of --device"),
            (["message", "deliveries", "m", "--address", "a", "--user", "u"], "give exactly one of --device"),
        ])
    func refused(arguments: [String], text: String) async throws {
        let (code, terminal, seen) = try await run(
            arguments,
            files: ["twice": #"{"audience":{"all":true},"audience":{"users":["u"]},"content":{"title":"x"}}"#])
        #expect(code == 2 && seen.isEmpty)
        #expect(terminal.errors.contains(text), "\(terminal.errors)")
    }

    @Test("warn when nobody gets a message")
    func nobody() async throws {
        let (code, terminal, _) = try await run(
            ["message", "send", "--user", "u", "--title", "x"], status: 202,
            body: #"{"id":"x","state":"sent","audience_estimate":0,"empty":true}"#)
        #expect(code == 0 && terminal.errors.contains("the audience is empty"))
    }

    @Test(
        "send nothing in a dry run, and show the request",
        arguments: [
            ["topic", "delete", "news"], ["app", "create", "--name", "x"], ["user", "erase", "u"],
            ["message", "cancel", "m"], ["topic", "subscribe", "news", "d"],
            ["message", "update", "m", "--title", "x"],
        ])
    func dryRun(arguments: [String]) async throws {
        let (code, terminal, seen) = try await run(arguments + ["--dry-run"])
        #expect(code == 0 && seen.allSatisfy { $0.method == "GET" }, "\(terminal.errors)")
        let shown = try JSONParser.parse(terminal.output)
        #expect(shown["method"] != nil && shown["url"]?.stringValue?.contains("/peal/v1/apps") == true)
    }

    @Test(
        "show no secret in a dry run",
        arguments: [
            (["credential", "put", "wns", "--package-sid", "ms-app://S", "--client-secret-file", "secret"], "s3 cret"),
            (["credential", "put", "apns", "production", "--bundle-id", "b", "--p12-file", "secret"], "s3 cret"),
            (
                ["credential", "put", "mpns", "--certificate-file", "secret"],
                "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\ns3 cret"
            ),
            (["webhook", "put", "w", "--authentication", "header", "--secret-file", "secret"], "s3 cret"),
            (["webhook", "put", "w", "--authentication", "basic", "--secret-file", "secret"], "s3 cret"),
        ])
    func drySecret(arguments: [String], secret: String) async throws {
        let (code, terminal, seen) = try await run(arguments + ["--dry-run"], files: ["secret": secret])
        let shown = try JSONParser.parse(terminal.output)
        #expect(code == 0 && seen.isEmpty && shown["body"] != nil && terminal.output.contains("…"))
        for form in ["s3 cret", Base64URL.encode(Array(secret.utf8))] {
            #expect(!terminal.output.contains(form), "\(terminal.output)")
        }
    }

    @Test("validate a message in a dry run")
    func dryMessage() async throws {
        let (code, terminal, seen) = try await run(
            ["message", "send", "--all", "--title", "x", "--dry-run"], body: #"{"audience":{"devices":0}}"#)
        #expect(code == 0 && seen.count == 1 && seen.first?.uri.hasSuffix("/messages:validate") == true)
        #expect(terminal.errors.contains("the audience is empty"))
    }

    @Test(
        "end with 1 and the first reason if a message is not valid",
        arguments: [["message", "validate"], ["message", "send", "--dry-run"], ["message", "test", "--dry-run"]])
    func invalidMessage(arguments: [String]) async throws {
        let body = #"""
            {"valid":false,"audience":{"devices":2},"requests":[{"platform":"android"},{"platform":"ios",
            "error":{"code":"payload_too_large","message":"too large","field":"content.body"}}]}
            """#
        let (code, terminal, _) = try await run(arguments + ["--all", "--title", "x", "--json"], body: body)
        #expect(code == 1)
        #expect(terminal.errors == "the message is not valid: too large (payload_too_large, content.body)\n")
        #expect((try? JSONParser.parse(terminal.output))?["valid"] == false)
        let valid = body.replacing("false", with: "true")
        #expect(try await run(arguments + ["--all", "--title", "x"], body: valid).code == 0)
    }

    @Test(
        "end with 1 when the push network refused the credential",
        arguments: [("false", 1), ("true", 0), ("null", 0)])
    func verify(ok: String, code: Int32) async throws {
        let result = try await run(
            ["credential", "verify", "fcm"], body: #"{"result":"x","ok":\#(ok),"reason":"BadKey"}"#)
        #expect(result.code == code)
        let isRefused = result.terminal.errors.contains("the push network refused the credential: BadKey")
        #expect(isRefused == (code == 1), "\(result.terminal.errors)")
        #expect(result.terminal.output.contains("BadKey"))
    }

    @Test(
        "follow a message until it has ended",
        arguments: [("sent", 0), ("cancelled", 1)])
    func watch(state: String, code: Int32) async throws {
        let events = """
            event: progress
            data: {"id":"m","state":"sending","devices":100,"counts":{"accepted":20,"pending":80},"rate":10.0}

            :\u{20}

            event: end
            data: {"id":"m","state":"\(state)"}


            """
        let json = try await run(["message", "watch", "m", "--json"], body: events)
        #expect((try? JSONParser.parse(json.terminal.output))?["state"] == .string(state), "\(json.terminal.output)")
        let result = try await run(["message", "watch", "m"], body: events)
        #expect(result.code == code, "\(result.terminal.errors)")
        #expect(
            result.terminal.errors.hasPrefix("sending: 20 of 100 devices, 20 accepted, 20%, 10/s, 8 s left\n"),
            "\(result.terminal.errors)")
        #expect(result.seen.first?.uri.hasSuffix("/messages/m/events") == true)
    }

    @Test(
        "refuse times that are not clear",
        arguments: [
            ["--at", "2030-01-01 00:00"], ["--at", "tomorrow", "--tz", "Europe/Vienna"],
            ["--at", "2030-01-01 00:00", "--tz", "Vienna"], ["--at", "2030-01-01T00:00:00Z", "--tz", "Europe/Vienna"],
            ["--at", "2030-03-31 02:30", "--tz", "Europe/Vienna"], ["--tz", "Europe/Vienna"],
            ["--at", "2030-02-30 10:00", "--tz", "Europe/Vienna"],
        ])
    func times(arguments: [String]) async throws {
        let (code, terminal, seen) = try await run(["message", "send", "--user", "u", "--title", "x"] + arguments)
        #expect(code == 2 && seen.isEmpty, "\(terminal.errors)")
    }

    @Test("read server, key and app from a profile")
    func profile() async throws {
        let profiles = #"""
            {"a":{"server":"http://127.0.0.1:1","api_key":"other"},"b":{"app":"\#(Self.app)","api_key":"own"}}
            """#
        let files = ["/p.json": profiles]
        let environment = ["PEAL_PROFILES_FILE": "/p.json", "PEAL_APP": ""]
        let chosen = try await run(["app", "show", "--profile", "b"], files: files, environment: environment)
        #expect(chosen.code == 0 && chosen.seen.first?.headers["authorization"] == "Bearer own")
        let other = try await run(["app", "list", "--profile=a"], files: files, environment: environment)
        #expect(other.code == 3 && other.seen.isEmpty)
        let inherited = try await run(
            ["app", "show"], files: files, environment: environment.merging(["PEAL_PROFILE": "b"]) { $1 })
        #expect(inherited.code == 0 && inherited.seen.first?.headers["authorization"] == "Bearer key")
        let unknown = try await run(["app", "list", "--profile", "c"], files: files, environment: environment)
        #expect(unknown.code == 2 && unknown.terminal.errors.contains("it has a, b"))
    }

    @Test(
        "send the key of a profile only to its server, and prefer variables to PEAL_PROFILE",
        arguments: [
            // The arguments, the variables, and the key that the server receives; nil for none, and no request.
            ([], ["PEAL_PROFILE": "live", "PEAL_ADMIN_TOKEN": "admin"], "admin"),
            ([], ["PEAL_PROFILE": "live", "PEAL_API_KEY": "key"], "key"),
            ([], ["PEAL_PROFILE": "live"], nil), ([], ["PEAL_PROFILE": "file"], nil),
            (["--server", "URL"], ["PEAL_PROFILE": "live", "PEAL_SERVER_URL": ""], nil),
            (["--server", "URL", "--profile", "live"], [:], nil),
            (["--server", "URL", "--profile", "live"], ["PEAL_ADMIN_TOKEN": "admin"], "admin"),
            (["--server", "URL", "--profile", "live", "--api-key", "own"], [:], "own"),
            ([], ["PEAL_PROFILE": "here"], "HERE"), (["--server", "URL/", "--profile", "here"], [:], "HERE"),
            ([], ["PEAL_PROFILE": "here", "PEAL_SERVER_URL": ""], "HERE"),
            ([], ["PEAL_PROFILE": "here", "PEAL_ADMIN_TOKEN": "admin"], "admin"),
            (["--profile", "here"], ["PEAL_ADMIN_TOKEN": "admin", "PEAL_SERVER_URL": "http://127.0.0.1:9"], "HERE"),
            (["--profile=any"], [:], "ANY"), ([], ["PEAL_PROFILE": "any"], "ANY"),
        ] as [([String], [String: String], String?)])
    func profileKey(arguments: [String], variables: [String: String], key: String?) async throws {
        try await ScriptedServer.with({ _ in .init(status: 200, body: "{}") }) { url, server in
            let profiles = #"""
                {"live":{"server":"http://127.0.0.1:9","api_key":"LIVE"},"here":{"server":"\#(url)","api_key":"HERE"},
                "file":{"server":"http://127.0.0.1:9","api_key_file":"/key"},"any":{"api_key":"ANY"}}
                """#
            let own = ["PEAL_SERVER_URL": url, "PEAL_APP": Self.app, "PEAL_PROFILES_FILE": "/p.json"]
            let terminal = Terminal(
                environment: own.merging(variables) { $1 }, files: ["/p.json": profiles, "/key": "FILE"])
            let code = await terminal.run(["topic", "list"] + arguments.map { $0.replacing("URL", with: url) })
            #expect(code == (key == nil ? 2 : 0), "\(terminal.errors)")
            let received = server.requests.map { $0.headers["authorization"] ?? "" }
            let expected: [String] = if let key { ["Bearer \(key)"] } else { [] }
            #expect(received == expected)
            if key == nil { #expect(terminal.errors.contains("a profile's key is used only with its own server")) }
        }
    }

    @Test(
        "read the profile only if they use a server",
        arguments: [
            (["version"], 0), (["serve", "--print-config"], 0), (["doctor", "--offline"], 0), (["help"], 0),
            (["message", "send", "--help"], 0), (["topic", "list"], 2), (["audit", "verify", "--file", "/rows"], 0),
            (["audit", "verify"], 2), (["doctor", "--offline", "--profile", "x"], 2),
        ] as [([String], Int32)])
    func badProfile(arguments: [String], code: Int32) async {
        for files in [[:], ["/p.json": "{}"], ["/p.json": "{"]] as [[String: String]] {
            let terminal = Terminal(
                environment: [
                    "PEAL_PROFILE": "x", "PEAL_PROFILES_FILE": "/p.json", "PEAL_API_KEY": "key",
                    "PEAL_STORE_URL": "sqlite:/tmp/peal-no-such-database.db",
                ], files: files.merging(["/rows": ""]) { $1 })
            #expect(await terminal.run(arguments) == code, "\(terminal.errors)")
            if code == 2 { #expect(terminal.errors.contains("/p.json"), "\(terminal.errors)") }
        }
    }

    @Test("refuse a file of certificates without one, for any server", arguments: ["http", "https"])
    func certificates(scheme: String) async throws {
        let folder = try Folder()
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        for text in ["", "no certificate\n", key, garbage] {
            let file = try folder.write("ca.pem", text)
            for (arguments, variable) in [(["--ca-file", file], ""), ([], file)] as [([String], String)] {
                let (code, terminal, seen) = try await run(
                    ["topic", "list", "--server", "\(scheme)://127.0.0.1:1"] + arguments,
                    environment: ["PEAL_CA_FILE": variable])
                #expect(code == 2 && seen.isEmpty)
                #expect(terminal.errors.hasPrefix("\(file) contains no certificate"), "\(terminal.errors)")
            }
        }
    }

    @Test(
        "name the command that was meant",
        arguments: [
            (["help", "mesage"], "did you mean message?"), (["help", "message", "sned"], "did you mean send?"),
            (["help", "zzzzzz"], "commands are serve"),
            (["mesage", "send"], "did you mean message?"), (["message", "sned"], "did you mean send?"),
            (["device", "delivries"], "did you mean deliveries?"), (["zzzzzz"], "commands are serve"),
        ])
    func suggestions(arguments: [String], text: String) async {
        let terminal = Terminal()
        #expect(await terminal.run(arguments) == 2)
        #expect(terminal.errors.contains(text), "\(terminal.errors)")
        #expect(terminal.errors.split(separator: "\n").count == 1)
    }

    @Test("say in plain words why a server cannot be reached")
    func plainWords() async throws {
        let terminal = Terminal(environment: ["PEAL_API_KEY": "key"])
        #expect(await terminal.run(["app", "list", "--server", "http://127.0.0.1:1"]) == 3)
        #expect(terminal.errors == "cannot reach http://127.0.0.1:1: nothing listens there; is the server running?\n")
        let unknown = Terminal(environment: ["PEAL_API_KEY": "key"])
        #expect(await unknown.run(["app", "list", "--server", "http://no-such-host.invalid"]) == 3)
        #expect(unknown.errors.contains("there is no such host"), "\(unknown.errors)")
        let (code, noTLS, _) = try await run(["app", "list", "--ca-file", "/nonexistent"])
        #expect(code == 2 && noTLS.errors == "cannot read /nonexistent\n")
    }

    @Test("print the server's document with --json, as it came")
    func json() async throws {
        let body = #"{"id":"x","n":1.0,"nested":{"a":[1,2]}}"#
        let (code, terminal, _) = try await run(["message", "show", message, "--json"], body: body)
        #expect(code == 0)
        #expect(terminal.output == body + "\n")
    }

    @Test("print a table otherwise")
    func table() async throws {
        let list = #"{"items":[{"name":"a","devices":10},{"name":"longer\u0007\n","devices":2}],"next_cursor":null}"#
        let (_, terminal, _) = try await run(["topic", "list"], body: list)
        #expect(terminal.output == "NAME      DEVICES  EXPIRES_AT\na         10\nlonger    2\n")
        let (_, empty, _) = try await run(["topic", "list"], body: #"{"items":[],"next_cursor":null}"#)
        #expect(empty.output == "none\n")
        let (_, one, _) = try await run(["message", "show", message], body: #"{"id":"x","counts":{"sent":1}}"#)
        #expect(one.output == "id           x\ncounts.sent  1\n")
    }

    @Test("say what was done when the answer is empty")
    func emptyAnswer() async throws {
        let (code, terminal, _) = try await run(["topic", "delete", "news"], status: 204, body: "")
        #expect(code == 0 && terminal.output == "Topic news deleted.\n")
        let (_, json, _) = try await run(["topic", "delete", "news", "--json"], status: 204, body: "")
        #expect(json.output == "{}\n")
    }

    @Test(
        "end with 1 and the reason when the server refuses",
        arguments: [
            (
                400, #"{"error":{"code":"invalid_field","message":"bad title","field":"content.title"}}"#,
                "bad title (invalid_field, content.title)\n"
            ),
            (401, #"{"error":{"code":"unauthorized","message":"who are you"}}"#, "who are you (unauthorized)\n"),
            (502, "<html>", "the server answered 502 Bad Gateway\n"),
            (200, "not json", "the server's answer is not JSON: unexpected character at line 1, column 1\n"),
        ])
    func refused(status: Int, body: String, reason: String) async throws {
        let (code, terminal, _) = try await run(["app", "show"], status: status, body: body)
        #expect(code == 1)
        #expect(terminal.errors == reason)
        #expect(terminal.output == "")
    }

    @Test(
        "say that a key is not an admin's if the status has no details",
        arguments: [("\"version\":\"1\",", "key", ""), ("", "key", "an admin's key shows more"), ("", "", "")])
    func status(details: String, key: String, warning: String) async throws {
        let (code, terminal, _) = try await run(
            ["status"], body: #"{\#(details)"status":"ok","subsystems":{"store":"ok"}}"#,
            environment: ["PEAL_API_KEY": key])
        #expect(code == 0 && terminal.output.contains("ready"))
        #expect(warning == "" ? terminal.errors == "" : terminal.errors.contains(warning), "\(terminal.errors)")
    }

    @Test("say when to try again")
    func retryAfter() async throws {
        let (code, terminal, _) = try await run(
            ["app", "show"], status: 429, body: #"{"error":{"code":"rate_limited","message":"slow down"}}"#,
            headers: [("Retry-After", "7")])
        #expect(code == 1 && terminal.errors == "slow down (rate_limited); retry in 7 s\n")
    }

    @Test("end with 3 when there is no server")
    func unreachable() async {
        let terminal = Terminal(environment: ["PEAL_API_KEY": "key"])
        #expect(await terminal.run(["app", "list", "--server", "http://127.0.0.1:1"]) == 3)
        #expect(terminal.errors.hasPrefix("cannot reach http://127.0.0.1:1"))
    }

    @Test(
        "end with 2 on wrong usage, without asking the server",
        arguments: [
            ["app"], ["nonsense"], ["app", "nonsense"], ["app", "list", "--limit", "0"],
            ["app", "list", "--limit", "x"],
            ["app", "show", "--app", "no-uuid"], ["app", "delete"], ["app", "list", "--server", "ftp://x"],
            ["app", "list", "--api-key", "a b"], ["app", "create", "--file", "absent.json"],
            ["app", "create", "--file", "broken.json"], ["app", "create", "--file", "list.json"],
            ["credential", "put", "apns"], ["credential", "verify", "fcm", "production"],
            ["credential", "delete", "fcm", "--fingerprint", "x"],
            ["credential", "put", "fcm", "--service-account-file", "absent.json"], ["channel", "list"],
            ["message", "send", "--data", "{"], ["message", "send", "--address", "x"],
            ["message", "show"], ["version", "--nonsense"], ["app", "list", "--server", "http://"],
        ])
    func usage(arguments: [String]) async throws {
        let (code, terminal, seen) = try await run(arguments, files: ["broken.json": "{", "list.json": "[]"])
        // A group without a command prints its help, which is not an error.
        #expect(code == (arguments == ["app"] ? 0 : 2), "\(terminal.errors)")
        #expect(seen.isEmpty)
        #expect(arguments == ["app"] || !terminal.errors.isEmpty)
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
        let (code, terminal, seen) = try await run(arguments, body: #"{"items":[],"next_cursor":null}"#)
        #expect(code == 0, "\(terminal.errors)")
        let expected = "/peal/v1/" + path.replacing("APP", with: Self.app) + "&limit=200"
        #expect(seen.map(\.uri) == [expected])
    }

    @Test("check the audit log, on the server or from an export")
    func auditVerify() async throws {
        let good = try await run(["audit", "verify"], body: #"{"ok":true,"rows":7}"#)
        #expect(
            good.code == 0 && good.terminal.output.contains("7 rows") && good.seen[0].uri == "/peal/v1/audit:verify")
        let bad = try await run(["audit", "verify"], body: #"{"ok":false,"id":"r9","reason":"the row was changed"}"#)
        #expect(bad.code == 1 && bad.terminal.errors.contains("row r9: the row was changed"))
        let (first, second) = (#"{"id":"a","hash":"00"}"#, #"{"id":"b","hash":"11"}"#)
        let files = ["one.jsonl": first + "\n", "two.jsonl": "\(first)\n\(second)\n", "text.jsonl": "hello\n"]
        for (file, expected) in [("one.jsonl", 0), ("two.jsonl", 1), ("text.jsonl", 1)] as [(String, Int32)] {
            let (code, terminal, seen) = try await run(["audit", "verify", "--file", file], files: files)
            #expect(code == expected && seen.isEmpty, "\(file): \(terminal.errors)")
        }
    }

    @Test("need a key and an app from somewhere")
    func surroundings() async {
        let none = Terminal()
        #expect(await none.run(["app", "list"]) == 2)
        #expect(none.errors.contains("PEAL_API_KEY"))
        let both = Terminal(environment: [:])
        #expect(await both.run(["app", "list", "--api-key", "a", "--api-key-file", "b"]) == 2)
        let noApp = Terminal(environment: ["PEAL_ADMIN_TOKEN": "t", "PEAL_APP": ""])
        #expect(await noApp.run(["app", "show"]) == 2)
        #expect(noApp.errors.contains("PEAL_APP"))
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
        }
    }
}
