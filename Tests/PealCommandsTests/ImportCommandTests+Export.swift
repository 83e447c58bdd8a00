import Foundation
import PealCommands
import PealCore
import Synchronization
import Testing

extension ImportCommandTests {
    @Test("writes every page of devices, or no file")
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
            let document = Terminal(environment: environment)
            #expect(await document.run(["export", "--json"]) == 0)
            #expect(
                document.output == """
                    {"items":[
                    {"id":"1","address":"x"}
                    ,{"id":"2","user_id":"a,b"}
                    ,{"id":"3","topics":["t"]}
                    ]}

                    """)
            let output = "\(folder.path)/out.csv"
            let file = Terminal(environment: environment)
            #expect(await file.run(["export", "--output", output, "--json"]) == 0)
            #expect(file.output == #"{"devices":3,"output":"\#(output)"}"# + "\n")
            let lines = (folder.text("out.csv") ?? "").split(separator: "\n")
            #expect(lines.count == 4 && lines[0].hasPrefix("id,platform,"))
            #expect(
                lines[1].hasPrefix("1,,,x,") && lines[2].contains(",\"a,b\",") && lines[3].contains("\"[\"\"t\"\"]\""))
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(files == ["out.csv"])
        }
    }

    @Test("fails after writing what it got, if the server could not read every device", arguments: [true, false])
    func incompleteExport(toFile: Bool) async throws {
        let folder = try Folder()
        try await ScriptedServer.with({ seen in
            guard seen.uri.contains("cursor=p2") else {
                return .init(status: 200, body: #"{"items":[{"id":"1"}],"next_cursor":"p2","incomplete":true}"#)
            }
            return .init(status: 200, body: #"{"items":[{"id":"3"}],"next_cursor":null}"#)
        }) { url, _ in
            let terminal = Terminal(
                environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app])
            let output = "\(folder.path)/out.jsonl"
            #expect(await terminal.run(["export"] + (toFile ? ["--output", output, "--json"] : [])) == 1)
            let devices = #"{"id":"1"}"# + "\n" + #"{"id":"3"}"# + "\n"
            let summary = #"{"devices":2,"output":"\#(output)","incomplete":true}"# + "\n"
            #expect(terminal.output == (toFile ? summary : devices))
            #expect(folder.text("out.jsonl") == (toFile ? devices : nil))
            let document = Terminal(
                environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app])
            #expect(await document.run(["export", "--json"]) == 1)
            let shown = try JSONParser.parse(document.output)
            #expect(shown["incomplete"] == true && shown["items"]?.arrayValue?.count == 2, "\(document.output)")
            #expect(terminal.errors.contains("items or their details are missing"), "\(terminal.errors)")
            let list = Terminal(
                environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app])
            #expect(await list.run(["device", "list", "--json"]) == 0)
            #expect(list.output.contains(#""incomplete":true"#))
            #expect(list.errors.contains("items or their details are missing"), "\(list.errors)")
        }
    }

    @Test(
        "writes only to a file, before anything is requested",
        arguments: ["inner", "inner/", "linked", "broken", "/dev/null", "missing/x", "new/", ""])
    func exportTargets(name: String) async throws {
        let folder = try Folder()
        let files = FileManager.default
        try files.createDirectory(atPath: "\(folder.path)/inner", withIntermediateDirectories: false)
        _ = try folder.write("inner/kept", "kept")
        try files.createSymbolicLink(atPath: "\(folder.path)/linked", withDestinationPath: "inner")
        try files.createSymbolicLink(atPath: "\(folder.path)/broken", withDestinationPath: "nothing")
        try await ScriptedServer.with({ _ in .init(status: 200, body: #"{"items":[]}"#) }) { url, server in
            let terminal = Terminal(
                environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app])
            let output = name.isEmpty || name.hasPrefix("/") ? name : "\(folder.path)/\(name)"
            #expect(await terminal.run(["export", "--output", output]) == 2)
            #expect(!terminal.errors.contains("Error Domain"), "\(terminal.errors)")
            #expect(server.requests.isEmpty)
        }
        #expect(folder.text("inner/kept") == "kept")
        #expect(try files.contentsOfDirectory(atPath: folder.path).sorted() == ["broken", "inner", "linked"])
        #expect(try files.destinationOfSymbolicLink(atPath: "\(folder.path)/linked") == "inner")
    }

    @Test("replaces a file through its link, and only with all devices", arguments: ["out.jsonl", "link"])
    func exportReplacement(name: String) async throws {
        let folder = try Folder()
        _ = try folder.write("out.jsonl", "old\n")
        _ = try folder.write("out.jsonl.partial", "of the user\n")
        let files = FileManager.default
        try files.createSymbolicLink(atPath: "\(folder.path)/link", withDestinationPath: "out.jsonl")
        let isRefused = Mutex(true)
        try await ScriptedServer.with({ seen in
            guard seen.uri.contains("cursor=p2") else {
                return .init(status: 200, body: #"{"items":[{"id":"1"}],"next_cursor":"p2"}"#)
            }
            return isRefused.withLock { $0 }
                ? .init(status: 403, body: "{}") : .init(status: 200, body: #"{"items":[{"id":"2"}]}"#)
        }) { url, _ in
            let terminal = Terminal(
                environment: ["PEAL_SERVER_URL": url, "PEAL_API_KEY": "key", "PEAL_APP": Self.app])
            let arguments = ["export", "--output", "\(folder.path)/\(name)"]
            #expect(await terminal.run(arguments) == 1)
            #expect(folder.text("out.jsonl") == "old\n")
            isRefused.withLock { $0 = false }
            #expect(await terminal.run(arguments) == 0, "\(terminal.errors)")
        }
        #expect(folder.text("out.jsonl") == #"{"id":"1"}"# + "\n" + #"{"id":"2"}"# + "\n")
        #expect(folder.text("out.jsonl.partial") == "of the user\n")
        #expect(try files.destinationOfSymbolicLink(atPath: "\(folder.path)/link") == "out.jsonl")
        let names = try files.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["link", "out.jsonl", "out.jsonl.partial"])
        let mode = try files.attributesOfItem(atPath: "\(folder.path)/out.jsonl")[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }
}
