@testable import PealCommands
import PealCore
import Testing

@Suite("The program") struct ProgramTests {
    @Test(
        "prints help on standard output and ends with 0",
        arguments: [
            ["--help"], ["help"], [], ["message", "send", "-h"], ["help", "message"], ["help", "message", "send"],
        ])
    func help(arguments: [String]) async {
        let terminal = Terminal()
        #expect(await terminal.run(arguments) == 0)
        #expect(terminal.output.contains("USAGE: peal") && terminal.errors.isEmpty)
    }

    @Test("needs the arguments of its process, which cannot be read without /proc")
    func noArguments() async {
        let terminal = Terminal()
        #expect(await terminal.run(process: []) == 1)
        #expect(terminal.output.isEmpty && terminal.errors.contains("/proc"))
        #expect(await terminal.run(process: ["peal", "version"]) == 0)
    }

    @Test("prints its version with the usual options")
    func versionOption() async {
        let terminal = Terminal()
        #expect(await terminal.run(["--version"]) == 0)
        #expect(terminal.output.hasPrefix("peal ") && terminal.errors.isEmpty)
    }

    @Test("writes completion scripts", arguments: ["bash", "zsh", "fish"])
    func completion(shell: String) async {
        let terminal = Terminal()
        #expect(await terminal.run(["--generate-completion-script", shell]) == 0)
        #expect(terminal.output.contains("peal"))
    }

    @Test("prints its version")
    func version() async throws {
        let terminal = Terminal()
        #expect(await terminal.run(["version", "--json"]) == 0)
        #expect(try JSONParser.parse(terminal.output)["version"]?.stringValue?.isEmpty == false)
    }

    @Test(
        "refuses an invalid configuration with one line and ends with 2",
        arguments: [
            (["serve", "--print-config", "--http-port", "x"], "http"), (["serve", "--nonsense", "1"], "nonsense"),
            (["serve", "stray"], "stray"), (["migrate", "--store-url", "postgres://h/d"], "PEAL_MASTER_KEY_FILE"),
            (["serve", "--config", "/nonexistent.yaml"], "PEAL_CONFIG"),
        ])
    func badConfiguration(arguments: [String], word: String) async {
        let terminal = Terminal()
        #expect(await terminal.run(arguments) == 2)
        #expect(terminal.errors.lowercased().contains(word.lowercased()), "\(terminal.errors)")
        #expect(terminal.errors.split(separator: "\n").count == 1)
    }

    @Test("prints the effective configuration, secrets masked")
    func printConfig() async {
        let secret = String(repeating: "s", count: 40)
        let terminal = Terminal(environment: ["PEAL_ADMIN_TOKEN": secret, "PEAL_LOG_LEVEL": "debug"])
        #expect(await terminal.run(["serve", "--http-port", "0", "--print-config"]) == 0)
        #expect(terminal.output.contains("debug") && !terminal.output.contains(secret))
    }

    @Test("examines a server's environment, and ends with 0 despite warnings, but not despite a failure")
    func doctor() async throws {
        let terminal = Terminal(environment: ["PEAL_STORE_URL": "sqlite:/tmp/peal-no-such-database.db"])
        #expect(await terminal.run(["doctor", "--offline"]) == 0)
        #expect(terminal.output.hasPrefix("ok       configuration  valid\n"), "\(terminal.output)")
        #expect(terminal.output.contains("\nwarning  store          no database at"))

        let broken = Terminal(environment: ["PEAL_HTTP_PORT": "x"])
        #expect(await broken.run(["doctor", "--json"]) == 1)
        let report = try JSONParser.parse(broken.output)
        #expect(report["state"] == "failed")
        #expect(report["checks"]?.arrayValue?.first?["subject"] == "configuration")
        #expect(report["checks"]?.arrayValue?.first?["detail"]?.stringValue?.hasPrefix("PEAL_HTTP_PORT: ") == true)
        #expect(broken.errors == "peal: 1 check failed\n")
    }

    @Test(
        "names what does not work in a running server, even if the key may not see why",
        arguments: [
            (["store": "the disk is full"], "store: the disk is full, delivery"), (nil, "store, delivery"),
        ] as [([String: String]?, String)])
    func unready(reasons: [String: String]?, text: String) {
        let failures = reasons.map { JSON.object(JSON.Members($0.map { ($0.key, .string($0.value)) })) }
        let document = JSON.compact([
            ("status", "failed"), ("subsystems", ["store": "failed", "delivery": "failed", "webhooks": "ok"]),
            ("failures", failures),
        ])
        #expect(RunningServerCheck.failures(document) == text)
    }
}
