import Foundation
import PealCommands
import PealCore
import Synchronization
import Testing

@Suite("Import and export") struct ImportCommandTests {
    private static let app = "0199b2c0-0000-7000-8000-000000000001"

    /// A server that keeps devices by address, as the native API answers; `address` beginning with `bad` is refused.
    private final class FakeServer: Sendable {
        let devices = Mutex<[String: JSON]>([:])
        let batches = Mutex<[(key: String, count: Int)]>([])
        /// Answers this many batches, then 503.
        let batchesMax: Int

        init(batchesMax: Int = .max) { self.batchesMax = batchesMax }

        func answer(_ seen: ScriptedServer.Seen) -> ScriptedServer.Reply {
            guard seen.uri.hasSuffix("devices:batch") else { return .init(status: 404, body: "{}") }
            let given = (try? JSONParser.parse(seen.body))?["devices"]?.arrayValue ?? []
            let count = batches.withLock { batches in
                batches.append((seen.headers["idempotency-key"] ?? "", given.count))
                return batches.count
            }
            guard count <= batchesMax else { return .init(status: 503, body: "{}") }
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

    @Test("keeps the good, tells the bad with their lines, and ends with 1")
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

    @Test("cuts batches of a thousand and goes on after the last that was taken, with the same key")
    func resume() async throws {
        let folder = try Folder()
        let file = try folder.write("d.jsonl", Self.lines(1...2500, bad: [7, 1500]))
        let resume = ["--resume-file", "\(folder.path)/resume", "--errors", "\(folder.path)/errors"]
        let first = FakeServer(batchesMax: 1)
        try await with(first) { run in
            let (code, terminal) = await run(["import", file] + resume)
            #expect(code == 1)
            #expect(terminal.output.isEmpty)
        }
        #expect(first.batches.withLock { $0.map(\.count) } == [1000, 1000])
        #expect(folder.text("resume")?.contains(#""done":1001"#) == true)
        let second = FakeServer()
        try await with(second) { run in
            let (code, terminal) = await run(["import", file, "--json"] + resume)
            #expect(code == 1)
            let summary = try JSONParser.parse(terminal.output)
            #expect(summary == ["created": 1498, "updated": 0, "refused": 1, "skipped": 0, "resumed_after": 1001])
            #expect(second.batches.withLock { $0.map(\.count) } == [1000, 498])
            let keys = (first.batches.withLock { $0[1].key }, second.batches.withLock { $0[0].key })
            #expect(keys.0 == keys.1 && !keys.0.isEmpty)
            #expect((folder.text("errors") ?? "").split(separator: "\n").count == 2)
            let (done, quiet) = await run(["import", file, "--json"] + resume)
            #expect(done == 0 && quiet.output.contains(#""resumed_after":2500"#))
            let other = try folder.write("other.jsonl", "")
            #expect(await run(["import", other] + resume).0 == 2)
        }
        #expect(second.batches.withLock(\.count) == 2)
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
            (["export", "--json"], 2), (["import", "--format", "xml", "f"], 2),
        ] as [([String], Int32)])
    func usage(arguments: [String], code: Int32) async throws {
        try await with(FakeServer()) { run in #expect(await run(arguments).0 == code) }
    }

    @Test("writes every page of devices, whole or not at all")
    func export() async throws {
        let folder = try Folder()
        let pages: [String: String] = [
            "": #"{"items":[{"id":"1","address":"x"},{"id":"2","user_id":"a,b"}],"next_cursor":"p2"}"#,
            "p2": #"{"items":[{"id":"3","topics":["t"]}],"next_cursor":null}"#,
        ]
        try await ScriptedServer.with({ seen in
            let cursor = seen.uri.split(separator: "cursor=").dropFirst().first.map(String.init) ?? ""
            return .init(status: 200, body: pages[cursor] ?? "{}")
        }) { url, _ in
            let environment = ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app]
            let terminal = Terminal(environment: environment)
            #expect(await terminal.run(["export"]) == 0)
            #expect(
                terminal.output == """
                    {"id":"1","address":"x"}
                    {"id":"2","user_id":"a,b"}
                    {"id":"3","topics":["t"]}

                    """)
            let output = "\(folder.path)/out.csv"
            let file = Terminal(environment: environment)
            #expect(await file.run(["export", "--output", output, "--json"]) == 0)
            #expect(file.output == #"{"devices":3,"output":"\#(output)"}"# + "\n")
            let lines = (folder.text("out.csv") ?? "").split(separator: "\n")
            #expect(lines.count == 4 && lines[0].hasPrefix("id,platform,"))
            #expect(
                lines[1].hasPrefix("1,,,x,") && lines[2].contains(",\"a,b\",") && lines[3].contains("\"[\"\"t\"\"]\""))
            #expect(folder.text("out.csv.partial") == nil)
        }
    }

    @Test("reads every registration of a page as its platform, or is refused with what is missing", arguments: [6, 50])
    func platforms(count: Int) async throws {
        let fake = FakeServer()
        let misses = Mutex(false)
        try await ScriptedServer.with({ seen in
            if seen.uri.contains("/v2/topics") { return .init(status: 404, body: "") }
            if seen.uri.contains("/v1/registration/"), let id = seen.uri.split(separator: "/").last {
                if id == "u2", misses.withLock({ $0 }) { return .init(status: 404, body: "{}") }
                let found: JSON = [
                    "os": "ios", "device_uuid": .string(String(id)), "registration_token": .string("t\(id)"),
                    "tags": [["text": "News"]], "custom_user_id": "ann",
                ]
                return .init(status: 200, body: found.text)
            }
            guard seen.uri.contains("/v2/registrations") else { return fake.answer(seen) }
            let list = (1...count).map { number -> JSON in
                ["os": "ios", "device_uuid": .string("u\(number)"), "registration_token": .string("t\(number)")]
            }
            let answer: JSON = ["registrations": .array(list), "totalRegistrations": .integer(count), "totalPages": 1]
            return .init(status: 200, body: answer.text)
        }) { url, server in
            let arguments = [
                "import", "--from", "pivotal", "--url", url, "--application-uuid", "a", "--source-api-key", "s",
                "--platform", "p:q", "--json",
            ]
            let environment = ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app]
            let terminal = Terminal(environment: environment)
            #expect(await terminal.run(arguments) == 0, "\(terminal.errors)")
            let sent = try #require(server.requests.first { $0.uri.contains("devices:batch") })
            let devices = try #require(try JSONParser.parse(sent.body)["devices"]?.arrayValue)
            #expect(devices.map { $0["id"]?.stringValue } == (1...count).map { "u\($0)" })
            #expect(devices.allSatisfy { $0["user_id"] == "ann" && $0["topics"] == ["news"] })
            misses.withLock { $0 = true }
            let before = server.requests.count { $0.uri.contains("devices:batch") }
            let refused = Terminal(environment: environment)
            #expect(await refused.run(arguments) == 1)
            #expect(refused.errors.contains("none of the given platforms can read 1 of os ios"), "\(refused.errors)")
            #expect(server.requests.count { $0.uri.contains("devices:batch") } == before)
        }
    }

    @Test("pages a Pivotal server, and knows its platforms, tags and inactive devices")
    func pivotal() async throws {
        let pages = Mutex<[String]>([])
        let fake = FakeServer()
        try await ScriptedServer.with({ seen in
            guard seen.uri.contains("/v2/registrations") else { return fake.answer(seen) }
            pages.withLock { $0.append("\(seen.uri) \(seen.headers["authorization"] ?? "")") }
            let page = seen.uri.hasSuffix("page=1") ? 1 : 2
            let registrations = (1...(page == 1 ? 50 : 3)).map { index -> JSON in
                let number = (page - 1) * 50 + index
                return [
                    "os": number == 51 ? "bb10" : number == 2 ? "android-fcm" : "ios", "os_version": "",
                    "device_uuid": .string("u\(number)"), "registration_token": .string("t\(number)"),
                    "active": number == 3 ? false : true, "tags": [["text": "News"]], "custom_user_id": "ann",
                ]
            }
            let answer: JSON = [
                "registrations": .array(registrations), "totalRegistrations": 53, "totalPages": 2, "size": 50,
            ]
            return .init(status: 200, body: answer.text)
        }) { url, _ in
            let terminal = Terminal(
                environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app])
            let code = await terminal.run(
                [
                    "import", "--from", "pivotal", "--url", "\(url)/v1/", "--application-uuid", "a", "--api-key", "k",
                    "--json",
                ])
            #expect(code == 1)
            let summary = try JSONParser.parse(terminal.output)
            #expect(
                summary == [
                    "created": 51, "updated": 0, "refused": 1, "skipped": 1, "resumed_after": 0, "topics": 0,
                    "subscriptions": 51,
                ])
            #expect(terminal.errors.contains(#"registration 51: os "bb10""#), "\(terminal.errors)")
            #expect(terminal.errors.contains("has no /v2/topics"))
        }
        #expect(
            pages.withLock { $0 } == [
                "/v2/registrations?size=50&page=1 Basic YTpr", "/v2/registrations?size=50&page=2 Basic YTpr",
            ])
        let device = fake.devices.withLock { $0["t2"] }
        #expect(
            device == [
                "id": "u2", "platform": "android", "address": "t2", "user_id": "ann", "topics": ["news"],
                "vendor_os": "android-fcm",
            ])
    }
}
