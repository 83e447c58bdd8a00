import PealCommands
import PealCore
import Testing

@Suite("Client commands and their surroundings")
struct ClientOptionTests {
    @Test("require a key and an app from options, variables or a profile")
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

    @Test("read server, key and app from a profile")
    func profile() async throws {
        let profiles = #"""
            {"a":{"server":"http://127.0.0.1:1","api_key":"other"},"b":{"app":"\#(Terminal.app)","api_key":"own"}}
            """#
        let files = ["/p.json": profiles]
        let environment = ["PEAL_PROFILES_FILE": "/p.json", "PEAL_APP": ""]
        let chosen = try await Terminal.run(["app", "show", "--profile", "b"], files: files, environment: environment)
        #expect(chosen.code == 0 && chosen.seen.first?.headers["authorization"] == "Bearer own")
        let other = try await Terminal.run(["app", "list", "--profile=a"], files: files, environment: environment)
        #expect(other.code == 3 && other.seen.isEmpty)
        let inherited = try await Terminal.run(
            ["app", "show"], files: files, environment: environment.merging(["PEAL_PROFILE": "b"]) { $1 })
        #expect(inherited.code == 0 && inherited.seen.first?.headers["authorization"] == "Bearer key")
        let unknown = try await Terminal.run(["app", "list", "--profile", "c"], files: files, environment: environment)
        #expect(unknown.code == 2 && unknown.terminal.errors.contains("it has a, b"))
    }

    @Test(
        "ask the server of this machine at its configured address",
        arguments: [("127.0.0.1", 0), ("0.0.0.0", 0), ("localhost", 0), ("127.0.0.2", 3)])
    func ownServer(host: String, code: Int32) async throws {
        try await ScriptedServer.with({ _ in .init(status: 200, body: #"{"status":"ok"}"#) }) { url, _ in
            let port = try #require(url.split(separator: ":").last)
            let terminal = Terminal(environment: ["PEAL_HTTP_HOST": host, "PEAL_HTTP_PORT": String(port)])
            #expect(await terminal.run(["status"]) == code, "\(terminal.errors)")
        }
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
            let own = ["PEAL_SERVER_URL": url, "PEAL_APP": Terminal.app, "PEAL_PROFILES_FILE": "/p.json"]
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

    @Test("refuse a certificate file without certificates, for any server", arguments: ["http", "https"])
    func certificates(scheme: String) async throws {
        let folder = try Folder()
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        for text in ["", "no certificate\n", key, garbage] {
            let file = try folder.write("ca.pem", text)
            for (arguments, variable) in [(["--ca-file", file], ""), ([], file)] as [([String], String)] {
                let (code, terminal, seen) = try await Terminal.run(
                    ["topic", "list", "--server", "\(scheme)://127.0.0.1:1"] + arguments,
                    environment: ["PEAL_CA_FILE": variable])
                #expect(code == 2 && seen.isEmpty)
                #expect(terminal.errors.hasPrefix("\(file) contains no certificate"), "\(terminal.errors)")
            }
        }
    }

    @Test("explain why a server cannot be reached")
    func plainWords() async throws {
        let terminal = Terminal(environment: ["PEAL_API_KEY": "key"])
        #expect(await terminal.run(["app", "list", "--server", "http://127.0.0.1:1"]) == 3)
        #expect(terminal.errors == "cannot reach http://127.0.0.1:1: nothing listens there; is the server running?\n")
        let unknown = Terminal(environment: ["PEAL_API_KEY": "key"])
        #expect(await unknown.run(["app", "list", "--server", "http://no-such-host.invalid"]) == 3)
        #expect(unknown.errors.contains("there is no such host"), "\(unknown.errors)")
        let (code, noTLS, _) = try await Terminal.run(["app", "list", "--ca-file", "/nonexistent"])
        #expect(code == 2 && noTLS.errors == "cannot read /nonexistent\n")
    }

    @Test("end with 3 when there is no server")
    func unreachable() async {
        let terminal = Terminal(environment: ["PEAL_API_KEY": "key"])
        #expect(await terminal.run(["app", "list", "--server", "http://127.0.0.1:1"]) == 3)
        #expect(terminal.errors.hasPrefix("cannot reach http://127.0.0.1:1"))
    }
}
