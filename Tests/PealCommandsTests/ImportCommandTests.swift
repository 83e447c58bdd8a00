import Foundation
import PealCommands
import PealCore
import Synchronization
import Testing

private let firstApp = "0199b2c0-0000-7000-8000-000000000001"
private let secondApp = "0199b2c0-0000-7000-8000-000000000002"

private func plain(_ text: String) -> [UInt8] { Array(text.utf8) }

/// ASCII in UTF-16, little-endian.
private func wide(_ text: String, after mark: [UInt8]) -> [UInt8] { mark + text.utf8.flatMap { [$0, 0] } }

@Suite("Import and export")
struct ImportCommandTests {
    static let app = firstApp

    /// A server that keeps devices by address, as the native API answers; `address` beginning with `bad` is refused.
    final class FakeServer: Sendable {
        let devices = Mutex<[String: JSON]>([:])
        let batches = Mutex<[(key: String, count: Int)]>([])
        /// Answers this many batches, then 503.
        let batchesMax: Mutex<Int>

        var batchCount: Int { batches.withLock { $0.count } }

        init(batchesMax: Int = .max) { self.batchesMax = Mutex(batchesMax) }

        func answer(_ seen: ScriptedServer.Seen) -> ScriptedServer.Reply {
            guard seen.uri.hasSuffix("devices:batch") else { return .init(status: 404, body: "{}") }
            let given = (try? JSONParser.parse(seen.body))?["devices"]?.arrayValue ?? []
            let count = batches.withLock { batches in
                batches.append((seen.headers["idempotency-key"] ?? "", given.count))
                return batches.count
            }
            guard count <= batchesMax.withLock({ $0 }) else { return .init(status: 503, body: "{}") }
            let results = given.enumerated().map { index, device -> JSON in
                let address = device["address"]?.stringValue ?? ""
                if address.hasPrefix("bad") {
                    let message = "devices[\(index)].address is no hexadecimal text"
                    return ["index": .integer(index), "error": ["code": "invalid_field", "message": .string(message)]]
                }
                let isNew = devices.withLock { $0.updateValue(device, forKey: address) == nil }
                return ["id": .string(address), "status": isNew ? "created" : "updated"]
            }
            return .init(status: 200, body: JSON.object(.init([("results", .array(results))])).text)
        }
    }

    private func with(
        _ fake: FakeServer, _ body: (_ run: ([String]) async -> (Int32, Terminal)) async throws -> Void
    ) async throws {
        try await ScriptedServer.with({ fake.answer($0) }) { url, _ in
            try await body { arguments in
                let terminal = Terminal(
                    environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app])
                return (await terminal.run(arguments), terminal)
            }
        }
    }

    private static func lines(_ numbers: ClosedRange<Int>, bad: Set<Int> = []) -> String {
        numbers.map { number in
            bad.contains(number) ? "{broken" : #"{"platform":"ios","address":"a\#(number)"}"#
        }.joined(separator: "\n")
    }

    @Test("imports valid devices, reports invalid ones with their lines, and ends with 1")
    func badLines() async throws {
        let folder = try Folder()
        let text = Self.lines(1...5, bad: [2]) + "\n[]\n" + #"{"platform":"ios","address":"bad"}"# + "\n"
        let file = try folder.write("d.jsonl", text)
        let fake = FakeServer()
        try await with(fake) { run in
            let (code, terminal) = await run(["import", file, "--json", "--errors", "\(folder.path)/errors"])
            #expect(code == 1)
            let summary = try JSONParser.parse(terminal.output)
            #expect(summary == ["created": 4, "updated": 0, "refused": 3, "skipped": 0, "resumed_after": 0])
            #expect(terminal.errors.contains("line 2: not JSON"))
            #expect(terminal.errors.contains("line 6: expected a JSON object, not an array"))
            #expect(terminal.errors.contains("line 7: address is no hexadecimal text"))
            #expect(terminal.errors.hasSuffix("3 of 7 devices were refused\n"), "\(terminal.errors)")
            let errors = (folder.text("errors") ?? "").split(separator: "\n").map { try? JSONParser.parse(String($0)) }
            #expect(errors.map { $0?["line"] } == [2, 6, 7])
            #expect(fake.devices.withLock { Set($0.keys) } == ["a1", "a3", "a4", "a5"])
            let (again, told) = await run(["import", file])
            #expect(again == 1 && told.output.contains("updated"))
        }
    }

    @Test("a dry run sends nothing and says how many devices it would import")
    func dryRun() async throws {
        let folder = try Folder()
        let file = try folder.write("d.jsonl", Self.lines(1...5, bad: [2]))
        let fake = FakeServer()
        try await with(fake) { run in
            let (code, terminal) = await run(["import", file, "--dry-run", "--json"])
            #expect(code == 1)
            let summary = try JSONParser.parse(terminal.output)
            #expect(
                summary == ["dry_run": true, "would_import": 4, "refused": 1, "skipped": 0, "resumed_after": 0],
                "\(terminal.output)")
            #expect(terminal.errors.hasSuffix("1 of 5 devices was refused\n"), "\(terminal.errors)")
        }
        #expect(fake.batchCount == 0)
    }

    @Test("an environment belongs only to platforms that have several", arguments: [[], ["--environment", "sandbox"]])
    func environments(options: [String]) async throws {
        let folder = try Folder()
        let file = try folder.write(
            "d.csv", "platform,address,environment\nios,a1,\nios,a2,production\nandroid,a3,sandbox\nweb,a4,\n")
        let fake = FakeServer()
        try await with(fake) { run in #expect(await run(["import", file] + options).0 == 0) }
        let found = fake.devices.withLock { $0.mapValues { $0["environment"]?.stringValue } }
        #expect(found == ["a1": options.last, "a2": "production", "a3": nil, "a4": nil])
    }

    @Test("sends batches of a thousand and continues after the last accepted one, with the same key")
    func resume() async throws {
        let folder = try Folder()
        let file = try folder.write("d.jsonl", Self.lines(1...2500, bad: [7, 1500]))
        let resume = ["--resume-file", "\(folder.path)/resume", "--errors", "\(folder.path)/errors"]
        let fake = FakeServer(batchesMax: 1)
        try await with(fake) { run in
            let (code, terminal) = await run(["import", file] + resume)
            #expect(code == 1)
            #expect(terminal.output.isEmpty)
            #expect(folder.text("resume")?.contains(#""done":1001"#) == true)
            fake.batchesMax.withLock { $0 = .max }
            let (next, resumed) = await run(["import", file, "--json"] + resume)
            #expect(next == 1)
            let summary = try JSONParser.parse(resumed.output)
            #expect(summary == ["created": 1498, "updated": 0, "refused": 1, "skipped": 0, "resumed_after": 1001])
            #expect(fake.batches.withLock { $0.map(\.count) } == [1000, 1000, 1000, 498])
            let keys = fake.batches.withLock { $0.map(\.key) }
            #expect(keys[1] == keys[2] && !keys[1].isEmpty)
            #expect((folder.text("errors") ?? "").split(separator: "\n").count == 2)
            let (done, quiet) = await run(["import", file, "--json"] + resume)
            #expect(done == 0 && quiet.output.contains(#""resumed_after":2500"#))
            let other = try folder.write("other.jsonl", "")
            #expect(await run(["import", other] + resume).0 == 2)
        }
        #expect(fake.batches.withLock(\.count) == 4)
    }

    @Test(
        "continues only with the resume file of the same import",
        arguments: [
            // The app, the members of the file, and the exit code.
            (firstApp, #""server":"URL","app":"FIRST","done":5"#, 0), (firstApp, #""done":5"#, 0),
            (firstApp.uppercased(), #""server":"URL","app":"FIRST","done":9"#, 0),
            (secondApp, #""server":"URL","app":"FIRST","done":5"#, 2),
            (firstApp, #""server":"http://other:8080","app":"FIRST","done":5"#, 2),
            (firstApp, #""app":5,"done":5"#, 2), (firstApp, #""done":-1"#, 2), (firstApp, #""done":10"#, 2),
        ] as [(String, String, Int32)])
    func otherImport(app: String, members: String, code: Int32) async throws {
        let folder = try Folder()
        let file = try folder.write("d.jsonl", Self.lines(1...9) + "\n\n")
        let fake = FakeServer()
        try await ScriptedServer.with({ fake.answer($0) }) { url, _ in
            let rest = members.replacing("URL", with: url).replacing("FIRST", with: firstApp)
            let text = "{\"source\":\"\(file)\",\(rest)}"
            let resume = try folder.write("resume", text)
            let terminal = Terminal(environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": app])
            #expect(await terminal.run(["import", file, "--resume-file", resume]) == code, "\(terminal.errors)")
            if code == 2 {
                #expect(folder.text("resume") == text)
                #expect(fake.batchCount == 0)
                #expect(terminal.errors.contains("\(folder.path)/resume"), "\(terminal.errors)")
            } else if !members.contains(#""done":9"#) {
                let written = try JSONParser.parse(folder.text("resume") ?? "")
                let run = try #require(written["run"]?.stringValue)
                #expect(
                    written == [
                        "source": .string(file), "server": .string(url), "app": .string(firstApp),
                        "run": .string(run), "done": 9,
                    ])
            }
        }
    }

    @Test(
        "never writes to a file that is something else",
        arguments: [
            ["--errors", "d.jsonl"], ["--errors", "link"], ["--errors", "hard"], ["--errors", "other"],
            ["--errors", "inner"], ["--errors", "missing/x"], ["--errors", "new", "--resume-file", "new"],
            ["--errors", "./new", "--resume-file", "new"], ["--resume-file", "d.jsonl"], ["--resume-file", "link"],
            ["--resume-file", "hard"], ["--resume-file", "other"], ["--resume-file", "inner"],
            ["--resume-file", "missing/x"], ["--resume-file", "broken"],
        ])
    func foreignFiles(options: [String]) async throws {
        let folder = try Folder()
        let file = try folder.write("d.jsonl", Self.lines(1...3))
        _ = try folder.write("other", "my notes\n")
        let files = FileManager.default
        try files.createDirectory(atPath: "\(folder.path)/inner", withIntermediateDirectories: false)
        try files.createSymbolicLink(atPath: "\(folder.path)/link", withDestinationPath: "d.jsonl")
        try files.createSymbolicLink(atPath: "\(folder.path)/broken", withDestinationPath: "nothing")
        try files.linkItem(atPath: file, toPath: "\(folder.path)/hard")
        let fake = FakeServer()
        try await with(fake) { run in
            let paths = options.map { $0.hasPrefix("--") ? $0 : "\(folder.path)/\($0)" }
            let (code, terminal) = await run(["import", file] + paths)
            #expect(code == 2)
            #expect(!terminal.errors.contains("Error Domain"), "\(terminal.errors)")
        }
        #expect(fake.batchCount == 0)
        #expect(folder.text("d.jsonl") == Self.lines(1...3))
        #expect(folder.text("other") == "my notes\n")
        let names = try files.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["broken", "d.jsonl", "hard", "inner", "link", "other"])
    }

    @Test("keeps an earlier import's refusals until the server answers")
    func earlierRefusals() async throws {
        let folder = try Folder()
        let file = try folder.write("d.jsonl", Self.lines(1...3, bad: [2]))
        let old = #"{"line":9,"reason":"old"}"# + "\n"
        let errors = try folder.write("errors", old)
        let fake = FakeServer(batchesMax: 0)
        try await with(fake) { run in
            #expect(await run(["import", file, "--errors", errors]).0 == 1)
            #expect(folder.text("errors") == old)
            fake.batchesMax.withLock { $0 = .max }
            #expect(await run(["import", file, "--errors", errors]).0 == 1)
            #expect(folder.text("errors")?.hasPrefix(#"{"line":2,"#) == true)
            #expect(await run(["import", file, "--errors", "/dev/null"]).0 == 1)
            let good = try folder.write("good.jsonl", Self.lines(1...3))
            #expect(await run(["import", good, "--errors", errors]).0 == 0)
            #expect(folder.text("errors") == "")
        }
    }

    @Test(
        "reports a file that it cannot read as wrong usage",
        arguments: [
            ("d.csv", wide("platform,address\nios,00\n", after: [0xFF, 0xFE]), "is not UTF-8"),
            ("d.csv", wide("platform,address\nios,00\n", after: [0xFE, 0xFF, 0x00]), "is not UTF-8"),
            ("d.csv", wide("platform,address\nios,00\n", after: []), "is not UTF-8"),
            ("d.csv", [0x61, 0x2C, 0xE4, 0x0A], "is not UTF-8"),
            ("d.jsonl", wide("{}\n", after: [0xFF, 0xFE]), "is not UTF-8"),
            ("d.csv", plain(""), "has no header"), ("d.csv", plain("\n\n"), "has no header"),
            ("d.csv", plain("\"platform\"x\n"), "has no valid header: text follows a closing quote"),
            ("d.csv", plain("address\n"), "has no column platform"),
            ("d.csv", plain("platform,address,user_id,user_id\nios,00,a,b\n"), "more than one column user_id"),
            ("d.csv/", plain(""), "is a folder"),
        ] as [(String, [UInt8], String)])
    func unreadable(name: String, bytes: [UInt8], reason: String) async throws {
        let folder = try Folder()
        if name.hasSuffix("/") {
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/\(name)", withIntermediateDirectories: false)
        } else {
            _ = try folder.write(name, bytes)
        }
        let fake = FakeServer()
        try await with(fake) { run in
            let (code, terminal) = await run(["import", "\(folder.path)/\(name)"])
            #expect(code == 2)
            #expect(terminal.errors.contains(reason), "\(terminal.errors)")
        }
        #expect(fake.batchCount == 0)
    }

    @Test("reads CSV by its header")
    func csv() async throws {
        let folder = try Folder()
        let file = try folder.write(
            "d.csv",
            "address,platform,topics,extra\r\n0a,ios,\"[\"\"x;y\"\"]\",1\r\n0b,ios,a;b,2\r\n0c,ios\r\n\"0d\"x,ios,,\r\n"
        )
        let fake = FakeServer()
        try await with(fake) { run in
            let (code, terminal) = await run(["import", file, "--environment", "sandbox"])
            #expect(code == 1)
            #expect(terminal.errors.contains("ignored columns: extra"))
            #expect(terminal.errors.contains("line 4: has 2 fields, the header has 4"))
            #expect(terminal.errors.contains("line 5: text follows a closing quote"))
        }
        let devices = fake.devices.withLock { $0 }
        #expect(
            devices["0a"] == ["address": "0a", "platform": "ios", "topics": ["x;y"], "environment": "sandbox"])
        #expect(devices["0b"]?["topics"] == ["a", "b"])
        #expect(devices.count == 2)
    }

    @Test(
        "cannot be begun without what it needs",
        arguments: [
            (["import"], 2), (["import", "/nowhere/file"], 2),
            (["import", "--from", "pivotal", "--url", "http://h"], 2),
            (["import", "--from", "pivotal", "--url", "h", "--application-uuid", "a", "--api-key", "k"], 2),
            (["export", "--json", "--format", "csv"], 2), (["import", "--format", "xml", "f"], 2),
            (["import", "/dev/null", "--url", "http://h"], 2), (["import", "/dev/null", "--without-topics"], 2),
        ] as [([String], Int32)])
    func usage(arguments: [String], code: Int32) async throws {
        try await with(FakeServer()) { run in #expect(await run(arguments).0 == code) }
    }
}
