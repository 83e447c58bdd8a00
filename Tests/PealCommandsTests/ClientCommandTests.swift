import PealCommands
import PealCore
import Testing

@Suite("Client commands")
struct ClientCommandTests {
    private let message = "0199b2c0-0000-7000-8000-0000000000aa"

    @Test("print the server's document unchanged with --json")
    func json() async throws {
        let body = #"{"id":"x","n":1.0,"nested":{"a":[1,2]}}"#
        let (code, terminal, _) = try await Terminal.run(["message", "show", message, "--json"], body: body)
        #expect(code == 0)
        #expect(terminal.output == body + "\n")
    }

    @Test("print a table without --json")
    func table() async throws {
        let list = #"{"items":[{"name":"a","devices":10},{"name":"longer\u0007\n","devices":2}],"next_cursor":null}"#
        let (_, terminal, _) = try await Terminal.run(["topic", "list"], body: list)
        #expect(terminal.output == "NAME      DEVICES  EXPIRES_AT\na         10\nlonger    2\n")
        let (_, empty, _) = try await Terminal.run(["topic", "list"], body: #"{"items":[],"next_cursor":null}"#)
        #expect(empty.output == "none\n")
        let (_, one, _) = try await Terminal.run(
            ["message", "show", message], body: #"{"id":"x","counts":{"sent":1}}"#)
        #expect(one.output == "id           x\ncounts.sent  1\n")
    }

    @Test("align tables with characters that take two columns of a terminal")
    func wideTable() async throws {
        let list = #"{"items":[{"name":"ニュース","devices":1},{"name":"für 👩‍👧","devices":2}],"next_cursor":null}"#
        let (_, terminal, _) = try await Terminal.run(["topic", "list"], body: list)
        #expect(terminal.output == "NAME      DEVICES  EXPIRES_AT\nニュース  1\nfür 👩‍👧    2\n")
    }

    @Test("say what was done when the answer is empty")
    func emptyAnswer() async throws {
        let (code, terminal, _) = try await Terminal.run(["topic", "delete", "news"], status: 204, body: "")
        #expect(code == 0 && terminal.output == "Topic news deleted.\n")
        let (_, json, _) = try await Terminal.run(["topic", "delete", "news", "--json"], status: 204, body: "")
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
        let (code, terminal, _) = try await Terminal.run(["app", "show"], status: status, body: body)
        #expect(code == 1)
        #expect(terminal.errors == reason)
        #expect(terminal.output == "")
    }

    @Test(
        "say that a key is not an admin's if the status has no details",
        arguments: [("\"version\":\"1\",", "key", ""), ("", "key", "an admin's key shows more"), ("", "", "")])
    func status(details: String, key: String, warning: String) async throws {
        let (code, terminal, _) = try await Terminal.run(
            ["status"], body: #"{\#(details)"status":"ok","subsystems":{"store":"ok"}}"#,
            environment: ["PEAL_API_KEY": key])
        #expect(code == 0 && terminal.output.contains("ready"))
        #expect(warning == "" ? terminal.errors == "" : terminal.errors.contains(warning), "\(terminal.errors)")
    }

    @Test("show the server's warnings about an accepted request")
    func warnings() async throws {
        let (code, terminal, _) = try await Terminal.run(
            ["key", "create", "native", "--name", "x"], status: 201, body: #"{"id":"k"}"#,
            headers: [("Warning", #"299 - "token is easy to guess", 299 - "name is odd""#)])
        #expect(code == 0 && terminal.errors == "warning: token is easy to guess\nwarning: name is odd\n")
    }

    @Test("say when to try again")
    func retryAfter() async throws {
        let (code, terminal, _) = try await Terminal.run(
            ["app", "show"], status: 429, body: #"{"error":{"code":"rate_limited","message":"slow down"}}"#,
            headers: [("Retry-After", "7")])
        #expect(code == 1 && terminal.errors == "slow down (rate_limited); retry in 7 s\n")
    }

    @Test(
        "end with 1 when the push network refused the credential",
        arguments: [("false", 1), ("true", 0), ("null", 0)])
    func verify(ok: String, code: Int32) async throws {
        let result = try await Terminal.run(
            ["credential", "verify", "fcm"], body: #"{"result":"x","ok":\#(ok),"reason":"BadKey"}"#)
        #expect(result.code == code)
        let isRefused = result.terminal.errors.contains("the push network refused the credential: BadKey")
        #expect(isRefused == (code == 1), "\(result.terminal.errors)")
        #expect(result.terminal.output.contains("BadKey"))
    }

    @Test("end with 1 when the push network did not answer, because the credential may be invalid")
    func unverified() async throws {
        let body = #"{"result":"unreachable","ok":null,"reason":"NoConnection"}"#
        let (code, terminal, _) = try await Terminal.run(["credential", "verify", "fcm"], body: body)
        #expect(code == 1)
        #expect(terminal.errors.hasPrefix("the push network did not answer: NoConnection; "), "\(terminal.errors)")
    }

    @Test(
        "name what is wrong with the arguments of a credential, in the words of the command line",
        arguments: [
            (["verify", "huawei"], "huawei is not a push network; networks are apns, fcm, wns, mpns, webpush\n"),
            (["verify", "apns", "prod"], "prod is not an environment; environments are production and sandbox\n"),
            (
                ["put", "apns", "production", "--key-id", "K"],
                "no credential: give --private-key-file, --certificate-file or --p12-file\n"
            ),
        ])
    func credentialUsage(arguments: [String], reason: String) async throws {
        let (code, terminal, seen) = try await Terminal.run(["credential"] + arguments)
        #expect(code == 2 && seen.isEmpty)
        #expect(terminal.errors == reason)
    }

    @Test(
        "refuse invalid options in lower case, like invalid arguments",
        arguments: [
            ["message", "send", "--all", "--yes", "--count", "1"], ["audit", "list", "--all", "--app", Terminal.app],
            ["campaign", "change-share", "c", "2"],
        ])
    func lowerCase(arguments: [String]) async throws {
        let (code, terminal, _) = try await Terminal.run(arguments)
        #expect(code == 2)
        #expect(terminal.errors.contains(/^Error: [a-z][^.]*\n/), "\(terminal.errors)")
    }

    @Test("write counts in the singular and plural", arguments: [(1, "1 row"), (2, "2 rows"), (0, "0 rows")])
    func auditRows(count: Int, text: String) async throws {
        let (code, terminal, _) = try await Terminal.run(["audit", "verify"], body: #"{"ok":true,"rows":\#(count)}"#)
        #expect(code == 0 && terminal.output == "The audit log is intact: \(text).\n")
    }

    @Test(
        "end with 2 on wrong usage, without asking the server",
        arguments: [
            ["app"], ["nonsense"], ["app", "nonsense"], ["app", "list", "--limit", "0"],
            ["app", "list", "--limit", "x"], ["audit", "list", "--all", "--export", "--limit", "5"],
            ["audit", "list", "--all", "--app", Terminal.app],
            ["message", "send", "--all", "--title", "x", "--yes", "--count", "5"],
            ["app", "show", "--app", "no-uuid"], ["app", "delete"], ["app", "list", "--server", "ftp://x"],
            ["app", "list", "--api-key", "a b"], ["app", "create", "--file", "absent.json"],
            ["app", "create", "--file", "broken.json"], ["app", "create", "--file", "list.json"],
            ["credential", "put", "apns"], ["credential", "verify", "fcm", "production"],
            ["credential", "delete", "fcm", "--fingerprint", "x"],
            ["credential", "put", "fcm", "--service-account-file", "absent.json"], ["channel", "list"],
            ["message", "send", "--data", "{"], ["message", "send", "--address", "x"],
            ["message", "show"], ["version", "--nonsense"], ["app", "list", "--server", "http://"],
            ["app", "list", "--server", "http://127.0.0.1?x"], ["app", "list", "--server", "http://127.0.0.1/#x"],
        ])
    func usage(arguments: [String]) async throws {
        let (code, terminal, seen) = try await Terminal.run(arguments, files: ["broken.json": "{", "list.json": "[]"])
        // A group without a command prints its help, which is not an error.
        #expect(code == (arguments == ["app"] ? 0 : 2), "\(terminal.errors)")
        #expect(seen.isEmpty)
        #expect(arguments == ["app"] || !terminal.errors.isEmpty)
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

    @Test("check the audit log, on the server or from an export")
    func auditVerify() async throws {
        let good = try await Terminal.run(["audit", "verify"], body: #"{"ok":true,"rows":7}"#)
        #expect(
            good.code == 0 && good.terminal.output.contains("7 rows") && good.seen[0].uri == "/peal/v1/audit:verify")
        let bad = try await Terminal.run(
            ["audit", "verify"], body: #"{"ok":false,"id":"r9","reason":"the row was changed"}"#)
        #expect(bad.code == 1 && bad.terminal.errors.contains("row r9: the row was changed"))
        let (first, second) = (#"{"id":"a","hash":"00"}"#, #"{"id":"b","hash":"11"}"#)
        let marks = String(repeating: "\u{301}", count: Limits.combiningMarksMax + 1)
        let odd = "{\"id\":\"a\",\"object\":\"topic x\u{2028}y\u{85}z\(marks)\",\"hash\":\"00\"}\r\n\r\n"
        let files = [
            "one.jsonl": first + "\n", "two.jsonl": "\(first)\n\(second)\n", "text.jsonl": "hello\n",
            "odd.jsonl": odd,
        ]
        for (file, expected) in [
            ("one.jsonl", 0), ("two.jsonl", 1), ("text.jsonl", 1), ("odd.jsonl", 0),
        ] as [(String, Int32)] {
            let (code, terminal, seen) = try await Terminal.run(["audit", "verify", "--file", file], files: files)
            #expect(code == expected && seen.isEmpty, "\(file): \(terminal.errors)")
        }
    }
}
