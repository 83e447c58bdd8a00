import Foundation
import Testing

/// The rules of docs/style.md that a program can check.
///
/// Serialized: scanning every file on all threads at once would starve tests that wait for connections.
@Suite("The sources", .serialized) struct SourcesTests {
    private let repository = Repository.here

    @Test("keep every line rule", arguments: LineRule.all)
    func lines(rule: LineRule) throws {
        let files = try repository.paths().filter { $0.hasSuffix(".swift") && rule.covers($0) }.map(repository.file)
        #expect(!files.isEmpty)
        let findings = try files.map { (path: $0.path, found: try rule.findings(in: $0)) }
        let unexcused = findings.filter { rule.exceptions[$0.path] == nil }.flatMap(\.found)
        #expect(unexcused == [])
        let broken = Set(findings.filter { !$0.found.isEmpty }.map(\.path))
        #expect(Set(rule.exceptions.keys).subtracting(broken) == [], "exceptions that nothing needs")
    }

    @Test("prove beside it what the compiler cannot check")
    func unchecked() throws {
        let claim = /@unchecked\s+Sendable|nonisolated\(unsafe\)/
        for file in try swiftFiles() {
            let lines = file.lines
            for (number, code) in SwiftText(file.text).lines.enumerated() where code.contains(claim) {
                let isProven = lines[max(0, number - 1)...number].contains { $0.contains("//") }
                #expect(isProven, "\(file.path):\(number + 1)")
            }
        }
    }

    @Test("declare each top-level type name once")
    func typeNames() throws {
        let declaration =
            /^(?:(?:package|public|private|fileprivate|internal|final|indirect)\s+)*(?:struct|class|enum|actor|protocol|typealias)\s+([A-Z]\w*)/
        var paths: [String: [String]] = [:]
        for file in try swiftFiles() where file.path.hasPrefix("Sources/") {
            for line in SwiftText(file.text).lines {
                guard let name = line.firstMatch(of: declaration)?.output.1 else { continue }
                paths[String(name), default: []].append(file.path)
            }
        }
        #expect(paths.count > 300, "the types were not found")
        #expect(paths.filter { $0.value.count > 1 } == [:])
    }

    @Test("have files of a readable size")
    func sizes() throws {
        let sizes = try swiftFiles().map { $0.lines.count - 1 }.sorted()
        #expect((80...160).contains(sizes[sizes.count / 2]), "median \(sizes[sizes.count / 2])")
        #expect(sizes[sizes.count * 9 / 10] < 320)
        #expect(sizes.count { $0 < 40 } * 10 <= sizes.count, "\(sizes.count { $0 < 40 }) files below 40 lines")
        let large = try swiftFiles().filter { $0.lines.count > 420 }.map(\.path)
        #expect(large == [])
    }

    /// Build products contain zero bytes; nothing else here but images does.
    @Test("are text, except for images in docs")
    func text() throws {
        let paths = try repository.paths().filter { !$0.hasPrefix("docs/images/") }
        let binary = try paths.filter { try Data(contentsOf: repository.root.appending(path: $0)).contains(0) }
        #expect(binary == [])
    }

    private func swiftFiles() throws -> [Repository.File] {
        let files = try repository.swiftFiles(under: "Sources") + repository.swiftFiles(under: "SDK/Sources")
        #expect(files.count > 100, "the sources were not found")
        return files
    }
}

@Suite("The line rules") struct LineRuleTests {
    @Test(
        "find what they are for and nothing else",
        arguments: [
            ("contain no forced try or cast", "try! x()", true),
            ("contain no forced try or cast", "x as! Y", true),
            ("contain no forced try or cast", "try? x() // try! y", false),
            ("contain no forced try or cast", "let s = \"try! x\"", false),
            ("start unstructured tasks only for a stated reason", "Task { await x() }", true),
            ("start unstructured tasks only for a stated reason", "let t = Task.detached(priority: .low) { }", true),
            ("start unstructured tasks only for a stated reason", "group.addTask { x() }", false),
            ("start unstructured tasks only for a stated reason", "SendTask { }", false),
            ("take the time from TimeSource", "let now = Foundation.Date()", true),
            ("take the time from TimeSource", "ContinuousClock.now", true),
            ("take the time from TimeSource", "NIODeadline.now()", true),
            ("take the time from TimeSource", "Date(timeIntervalSince1970: 0)", false),
            ("take randomness from Randomness", "Int.random(in: 0...1)", true),
            ("take randomness from Randomness", "list.shuffled()", true),
            ("take randomness from Randomness", "randomness.next()", false),
            ("use no empty name for a type", "struct DeviceManager {}", true),
            ("use no empty name for a type", "enum Utils {}", true),
            ("use no empty name for a type", "struct DeviceInformation {}", false),
            ("use the terms of docs/style.md in names", "static func place(_ id: Slice.ID) -> SQL {", true),
            ("use the terms of docs/style.md in names", "struct AppTrouble {", true),
            ("use the terms of docs/style.md in names", "let placeholder = replace(text)", false),
            ("say which token a name means", "if let token {", true),
            ("say which token a name means", "let deviceToken = 1", false),
            ("write the native API's field paths only in its dialect", "throw .invalid(\"content.android.ttl\")", true),
            ("write the native API's field paths only in its dialect", "// \"content.android.ttl\"", false),
            ("take no field path apart", "field.split(separator: \".\")", true),
            ("know push networks as data outside their own files", "guard platform == .ios else { return }", true),
            ("know push networks as data outside their own files", "platform.network.delivery.namesExpiry", false),
            ("know dialects below the API as data", "message.dialect == .richie", true),
            ("know dialects below the API as data", "let key = \"contextpush\"", true),
            ("know dialects below the API as data", "switch draft.dialect {", true),
            ("know dialects below the API as data", "let native = 1", false),
        ])
    func finds(name: String, source: String, isFound: Bool) throws {
        let rule = try #require(LineRule.all.first { $0.name == name })
        let file = Repository.File(path: "Sources/Sample.swift", text: source)
        #expect(try !rule.findings(in: file).isEmpty == isFound)
    }

    @Test("read code as code, and text as text")
    func swiftText() {
        let source = #"""
            let a = "x \(f("y")) z" // c
            let b = #"\(no) "quoted" "# /* d /* e */ f */ let c = 1
            let d = """
                "struct X" \(g)
                """
            """#
        let code = SwiftText(source).code
        for word in ["let a = ", "let b = ", "let c = 1", "let d = "] { #expect(code.contains(word)) }
        for word in ["x", "y", "z", "no", "quoted", "struct", "// c", "d /*"] {
            #expect(!code.contains(word), "\(word)")
        }
        #expect(SwiftText(source).lines.count == 5)
        let withStrings = SwiftText(source, keepsStrings: true).code
        #expect(withStrings.contains("quoted") && withStrings.contains("struct X") && !withStrings.contains("// c"))
    }
}
