import Testing

/// The rules themselves: each must find what it is there for, and leave alone what it is not.
@Suite("The rules find what they are for") struct RuleTests {
    private func file(_ text: String, _ path: String = "Sources/PealCore/Sample.swift") -> Repository.File {
        Repository.File(path: path, text: text)
    }

    @Test(
        "names that say nothing",
        arguments: [
            ("struct DeviceManager {}", true), ("enum Utils {}", true), ("final class HTTPHelper {}", true),
            ("protocol CommonStore {}", true), ("struct DeviceInfo {}", true), ("actor PushProcessor {}", true),
            ("typealias Info = Int", true), ("struct DeviceInformation {}", false), ("struct Commons {}", true),
            ("// struct DeviceManager {}", false), ("let text = \"struct DeviceManager {}\"", false),
            ("struct Management {}", false), ("struct Utility {}", false),
        ])
    func names(source: String, isFound: Bool) {
        #expect(!SourceRules.bannedNames(file(source)).isEmpty == isFound)
    }

    @Test(
        "paths of another dialect",
        arguments: [
            ("Sources/PealProviders/APNs/X.swift", #"throw .invalid("content.ios.payload", "x")"#, true),
            ("Sources/PealProviders/APNs/X.swift", #"let path = "content.\(platform)""#, true),
            ("Sources/PealProviders/APNs/X.swift", #"// as "content.ios""#, false),
            ("Sources/PealProviders/APNs/X.swift", #"let type = "content-type""#, false),
            ("Sources/PealAPI/Dialects/Native/X.swift", #"case .title: "content.title""#, false),
            ("Sources/PealAPI/Dialects/Richie/X.swift", #"let names = path.split(separator: ".")"#, true),
            ("Sources/PealAPI/Dialects/Richie/X.swift", #"guard field.hasPrefix("payloads.") else {"#, true),
            ("Sources/PealCore/X.swift", #"let parts = version.split(separator: ".")"#, false),
        ])
    func fieldPaths(path: String, source: String, isFound: Bool) {
        let found = FieldRules.nativePaths(file(source, path)) + FieldRules.parsedPaths(file(source, path))
        #expect(!found.isEmpty == isFound)
    }

    @Test(
        "bare tokens",
        arguments: [
            ("let token = 1", true), ("var token: String", true), ("let deviceToken = 1", false),
            ("if let token {", true),
        ])
    func bareToken(source: String, isFound: Bool) {
        #expect(!SourceRules.bareToken(file(source)).isEmpty == isFound)
    }

    @Test(
        "unstructured tasks",
        arguments: [
            ("Task { await x() }", true), ("let t = Task.detached { x() }", true),
            ("Task(priority: .high) { x() }", true),
            ("group.addTask { x() }", false), ("Task.isCancelled", false), ("// Task { }", false),
            ("SendTask { }", false),
            ("try await Task.sleep(for: x)", false),
        ])
    func tasks(source: String, isFound: Bool) {
        #expect(!SourceRules.unstructuredTasks(file(source)).isEmpty == isFound)
    }

    @Test(
        "forced tries and casts",
        arguments: [
            ("try! x()", true), ("x as! Y", true), ("try? x()", false), ("x as? Y", false), ("// try! x", false),
            ("let s = \"try!\"", false), ("let s = \"\\(try! x())\"", false),
        ])
    func traps(source: String, isFound: Bool) {
        #expect(!SourceRules.traps(file(source)).isEmpty == isFound)
    }

    @Test(
        "the system's clock and chance",
        arguments: [
            ("let now = Date()", true), ("Date.now", true), ("Int.random(in: 0...1)", true), ("list.shuffled()", true),
            ("UUID()", true), ("let now = Foundation.Date()", true), ("ContinuousClock.now", true),
            ("NIODeadline.now()", true), ("time.now", false),
            ("Date(timeIntervalSince1970: 0)", false), ("randomness.next()", false),
        ])
    func systemSources(source: String, isFound: Bool) {
        #expect(!SourceRules.systemSources(file(source)).isEmpty == isFound)
    }

    @Test(
        "unproven claims",
        arguments: [
            ("final class A: @unchecked Sendable {}", true), ("final class A: @unchecked Sendable {}  // proof", false),
            ("// proof\nfinal class A: @unchecked Sendable {}", false),
            ("// far\n\nclass A: @unchecked Sendable {}", true),
            ("nonisolated(unsafe) var x = 1", true),
        ])
    func sendable(source: String, isFound: Bool) {
        #expect(!SourceRules.unprovenSendable(file(source)).isEmpty == isFound)
    }

    @Test(
        "imports between siblings",
        arguments: [
            ("Sources/PealAPI/A.swift", "internal import PealStore", true),
            ("Sources/PealAPI/A.swift", "package import struct PealDelivery.X", true),
            ("Sources/PealAPI/A.swift", "@preconcurrency import PealProviders", true),
            ("Sources/PealAPI/A.swift", "internal import PealCore", false),
            ("Sources/PealAPI/A.swift", "internal import Hummingbird", false),
            ("Sources/PealCore/A.swift", "import PealAPI", true),
            ("Sources/PealServer/A.swift", "import PealAPI", false),
            ("Sources/peal/main.swift", "import PealServer", true), ("Sources/PealNew/A.swift", "", true),
            ("Sources/PealSQLite/A.swift", "import PealStore", false),
            ("Tests/PealAPITests/A.swift", "import PealStore", false),
        ])
    func imports(path: String, source: String, isFound: Bool) {
        #expect(!ImportRules.forbidden(file(source, path)).isEmpty == isFound)
    }

    @Test("long files, lines and functions")
    func lengths() {
        let line = String(repeating: "x", count: 121)
        #expect(SourceRules.longLines(file("a\n\(line)\n")).map(\.line) == [2])
        #expect(SourceRules.longLines(file(String(repeating: "é", count: 120))) == [])
        #expect(SourceRules.longFile(file(String(repeating: "x\n", count: 401))).count == 1)
        #expect(SourceRules.longFile(file(String(repeating: "x\n", count: 400))) == [])
        func function(_ lines: Int, _ head: String) -> String {
            head + " {\n" + String(repeating: "    x()\n", count: lines - 2) + "}\n"
        }
        for head in [
            "func f()", "    static func f<A>(_ a: A) async throws -> B", "init?(a: B)", "func f(\n    a: B\n) -> C",
            "func f(a: B)\n    where C: D",
        ] {
            #expect(SourceRules.longFunctions(file(function(61, head))).count == 1, "\(head)")
            #expect(SourceRules.longFunctions(file(function(50, head))) == [], "\(head)")
        }
        let requirement = "protocol P {\n    func f()\n    func g() async throws -> Int\n}\n" + function(55, "func h()")
        #expect(SourceRules.longFunctions(file(requirement)) == [])
        let braces = "func f() {\n let a = \"{{{\" // {\n}\n" + String(repeating: "x\n", count: 90)
        #expect(SourceRules.longFunctions(file(braces)) == [])
    }

    @Test("mentions of what is not ours")
    func mentions() {
        let folder = "shared" + "/"
        #expect(SourceRules.foreignMentions(file("see ../\(folder)design")).count == 1)
        #expect(SourceRules.foreignMentions(file("see \(folder)design")).count == 1)
        #expect(SourceRules.foreignMentions(file("see unshared/x and shared values")) == [])
    }

    @Test("text is read as text and code as code")
    func swiftText() {
        let source = #"""
            let a = "x \(f("y")) z" // c
            let b = #"\(no) "quoted" "# /* d /* e */ f */ let c = 1
            let d = """
                "struct X" \(g)
                """
            """#
        let code = SwiftText(source).code
        #expect(code.contains("let a = ") && code.contains("let b = ") && code.contains("let c = 1"))
        #expect(code.contains("let d = "))
        for word in ["x", "y", "z", "no", "quoted", "struct", "// c", "d /*"] {
            #expect(!code.contains(word), "\(word)")
        }
        #expect(SwiftText(source).lines.count == 5)
    }

    @Test("facts in documents")
    func documents() throws {
        let text = "| code | status |\n|---|---|\n| `a_b` | 400 |\n| plain | `c` |\n| `d` `e` | 1 |\n\n`not a row`\n"
        #expect(DocumentRules.firstColumn(file(text)) == ["a_b"])
        #expect(DocumentRules.quoted(file(text)).contains("c"))
        #expect(DocumentRules.constants(file("static let aMax = 1\n// static let b = 2\n")) == ["aMax"])
        let links = file("[a](x.md) [b](../y.md#z) [c](https://e.org/x) [d](#here)", "docs/a/b.md")
        #expect(try DocumentRules.brokenLinks(links) { $0 == "docs/a/x.md" }.map(\.what) == ["no file docs/y.md"])
    }
}
