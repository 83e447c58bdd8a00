import PealCommands
import PealCore
import Testing

@Suite("Commands for messages")
struct MessageCommandTests {
    @Test("apply options to the body of a file")
    func fileBody() async throws {
        let document = #"{"audience":{"all":true},"content":{"title":"old","body":"kept"}}"#
        let (code, _, seen) = try await Terminal.run(
            ["message", "send", "--file", "-", "--title", "new", "--idempotency-key", "k1", "--yes"],
            files: ["-": document])
        #expect(code == 0)
        #expect(seen.first?.body == #"{"audience":{"all":true},"content":{"title":"new","body":"kept"}}"#)
        #expect(seen.first?.headers["idempotency-key"] == "k1")
    }

    @Test("let options for the audience replace the audience of a file")
    func audience() async throws {
        let document = #"{"audience":{"all":true},"content":{"title":"old"}}"#
        let (code, _, seen) = try await Terminal.run(
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
            let (code, terminal, seen) = try await Terminal.run(
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
        let (code, terminal, seen) = try await Terminal.run(
            ["message", "validate", "--file", "f"] + arguments, files: ["f": document])
        #expect(code == 0, "\(terminal.errors)")
        #expect(seen.first?.body == expected)
    }

    @Test(
        "replace members of files as a whole, except those that options give in parts",
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
        let (code, terminal, seen) = try await Terminal.run(
            arguments + ["--file", "f"], files: ["f": document, "account": #"{"project_id":"p"}"#])
        #expect(code == 0, "\(terminal.errors)")
        #expect(seen.first?.body == expected)
    }

    @Test(
        "count a large audience, and require confirmation",
        arguments: [
            ([], nil, 2, 1), (["--yes"], nil, 0, 1), (["--count", "5000"], nil, 0, 2),
            (["--count", "4999"], nil, 2, 1),
            ([], "5000", 0, 2), ([], "5001", 2, 1), (["--confirm-above", "5000"], nil, 0, 2),
            (["--confirm-above", "4999"], nil, 2, 1),
        ] as [([String], String?, Int32, Int)])
    func consent(arguments: [String], typed: String?, code: Int32, requests: Int) async throws {
        let result = try await Terminal.run(
            ["message", "send", "--topic", "news", "--title", "x"] + arguments,
            body: #"{"audience":{"devices":5000},"audience_estimate":5000}"#, typed: typed)
        #expect(result.code == code, "\(result.terminal.errors)")
        #expect(result.seen.count == requests)
        #expect(result.seen.last?.uri.hasSuffix("/messages") == (code == 0))
        if code == 2, typed == nil { #expect(result.terminal.errors.contains("5000")) }
    }

    @Test("take the limit for confirmation from the environment, and do not count a short list")
    func limit() async throws {
        let body = #"{"audience":{"devices":10}}"#
        let small = try await Terminal.run(
            ["message", "send", "--all", "--title", "x"], body: body, environment: ["PEAL_CONFIRM_ABOVE": "9"])
        #expect(small.code == 2 && small.seen.count == 1)
        let list = try await Terminal.run(
            ["message", "send", "--user", "a", "--title", "x"], body: body, environment: ["PEAL_CONFIRM_ABOVE": "9"])
        #expect(list.code == 0 && list.seen.count == 1)
        let one = try await Terminal.run(
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
        let (code, terminal, seen) = try await Terminal.run(
            ["message", "update", "m"] + arguments, body: present, files: ["f": #"{"content":{"title":"F"}}"#])
        #expect(code == 0, "\(terminal.errors)")
        let change = try #require(seen.last)
        #expect(change.method == "PATCH" && change.uri == "/peal/v1/apps/\(Terminal.app)/messages/m")
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
        let (code, terminal, seen) = try await Terminal.run(["message", "update", "m", "--rate", "50"], body: present)
        #expect(code == 0, "\(terminal.errors)")
        #expect(seen.last?.body == body)
    }

    @Test(
        "refuse contradictory options, and send nothing",
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
        let (code, terminal, seen) = try await Terminal.run(
            arguments,
            files: ["twice": #"{"audience":{"all":true},"audience":{"users":["u"]},"content":{"title":"x"}}"#])
        #expect(code == 2 && seen.isEmpty)
        #expect(terminal.errors.contains(text), "\(terminal.errors)")
    }

    @Test("warn when no device gets a message")
    func nobody() async throws {
        let (code, terminal, _) = try await Terminal.run(
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
        let (code, terminal, seen) = try await Terminal.run(arguments + ["--dry-run"])
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
        let (code, terminal, seen) = try await Terminal.run(arguments + ["--dry-run"], files: ["secret": secret])
        let shown = try JSONParser.parse(terminal.output)
        #expect(code == 0 && seen.isEmpty && shown["body"] != nil && terminal.output.contains("…"))
        for form in ["s3 cret", Base64URL.encode(Array(secret.utf8))] {
            #expect(!terminal.output.contains(form), "\(terminal.output)")
        }
    }

    @Test("validate a message in a dry run")
    func dryMessage() async throws {
        let (code, terminal, seen) = try await Terminal.run(
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
        let (code, terminal, _) = try await Terminal.run(arguments + ["--all", "--title", "x", "--json"], body: body)
        #expect(code == 1)
        #expect(terminal.errors == "the message is not valid: too large (payload_too_large, content.body)\n")
        #expect((try? JSONParser.parse(terminal.output))?["valid"] == false)
        let valid = body.replacing("false", with: "true")
        #expect(try await Terminal.run(arguments + ["--all", "--title", "x"], body: valid).code == 0)
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
        let json = try await Terminal.run(["message", "watch", "m", "--json"], body: events)
        #expect((try? JSONParser.parse(json.terminal.output))?["state"] == .string(state), "\(json.terminal.output)")
        let result = try await Terminal.run(["message", "watch", "m"], body: events)
        #expect(result.code == code, "\(result.terminal.errors)")
        #expect(
            result.terminal.errors.hasPrefix("sending: 20 of 100 devices, 20 accepted, 20%, 10/s, 8 s left\n"),
            "\(result.terminal.errors)")
        #expect(result.seen.first?.uri.hasSuffix("/messages/m/events") == true)
    }

    @Test("follow a message whatever numbers the server sends")
    func absurdProgress() async throws {
        let events = """
            event: progress
            data: {"devices":9223372036854775807,"counts":{"pending":-9223372036854775808},"rate":1e300}

            event: end
            data: {"id":"m","state":"sent"}


            """
        let (code, terminal, _) = try await Terminal.run(["message", "watch", "m"], body: events)
        #expect(code == 0 && terminal.errors.contains("/s"), "\(terminal.errors)")
    }

    @Test(
        "refuse ambiguous times",
        arguments: [
            ["--at", "2030-01-01 00:00"], ["--at", "tomorrow", "--tz", "Europe/Vienna"],
            ["--at", "2030-01-01 00:00", "--tz", "Vienna"], ["--at", "2030-01-01T00:00:00Z", "--tz", "Europe/Vienna"],
            ["--at", "2030-03-31 02:30", "--tz", "Europe/Vienna"], ["--tz", "Europe/Vienna"],
            ["--at", "2030-02-30 10:00", "--tz", "Europe/Vienna"],
        ])
    func times(arguments: [String]) async throws {
        let (code, terminal, seen) = try await Terminal.run(
            ["message", "send", "--user", "u", "--title", "x"] + arguments)
        #expect(code == 2 && seen.isEmpty, "\(terminal.errors)")
    }
}
