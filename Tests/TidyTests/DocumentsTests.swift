import Foundation
import PealCore
import PealServer
import PealTesting
import Testing

/// Checks the documents against the code that they describe.
@Suite("The documents") struct DocumentsTests {
    private let repository = Repository.here

    @Test("list every error code, once, in errors.md")
    func errors() throws {
        let codes = try firstColumn("docs/errors.md").filter { !$0.contains(" ") }
        #expect(codes.sorted() == PealError.Code.allCases.map(\.rawValue).sorted())
    }

    @Test("list every configuration key, and no other")
    func configuration() throws {
        let keys = ConfigurationKey.all.map(\.environmentName)
        #expect(!keys.isEmpty)
        let words = try quotedWords("docs/configuration.md")
        #expect(keys.filter { !words.contains($0) } == [])
        let known = Set(keys).union(Self.clientVariables)
        #expect(try firstColumn("docs/configuration.md").filter { $0.hasPrefix("PEAL_") && !known.contains($0) } == [])
    }

    /// The variables of the client commands.
    private static let clientVariables: Set<String> = [
        "PEAL_SERVER_URL", "PEAL_API_KEY", "PEAL_API_KEY_FILE", "PEAL_APP", "PEAL_CA_FILE", "PEAL_CLIENT_CERT_FILE",
        "PEAL_CLIENT_KEY_FILE", "PEAL_PROFILE", "PEAL_PROFILES_FILE", "PEAL_CONFIRM_ABOVE",
    ]

    @Test("list every limit")
    func limits() throws {
        let names = try repository.swiftFiles(under: "Sources").flatMap(Self.limits)
        #expect(names.count > 30, "the limits were not found")
        let words = try quotedWords("docs/configuration.md")
        #expect(names.filter { !words.contains($0) } == [])
    }

    /// The constants of `Limits` and of its extensions; a file may have several. The limits of one dialect are in that
    /// dialect's folder.
    private static func limits(_ file: Repository.File) -> [String] {
        file.text.matches(of: /\b(?:enum|extension) Limits \{/).flatMap { start in
            let body = file.text[start.range.lowerBound...].components(separatedBy: "\n}").first ?? ""
            return SwiftText(body).code.matches(of: /\bstatic let (\w+)/).map { String($0.output.1) }
        }
    }

    @Test("name every state in states.md")
    func states() throws {
        let text = try repository.file("docs/states.md").text
        let names =
            Message.State.allCases.map(\.name) + Slice.State.allCases.map { String(describing: $0) }
            + WebhookDelivery.State.allCases.map(\.name)
        #expect(names.filter { !text.contains($0) } == [])
    }

    /// Arrows that the API's contract allows and Peal does not take; states.md says why.
    private static let unusedArrows: Set<String> = ["scheduled --> expired", "sending --> failed"]

    @Test("draw exactly the arrows between states that the code allows")
    func arrows() throws {
        let messages = Set(Message.State.allCases.flatMap { from in from.successors.map { "\(from) --> \($0)" } })
        #expect(try drawn("Message") == messages.subtracting(Self.unusedArrows))
        let moments = Moment.State.allCases.flatMap { from in from.successors.map { "\(from) --> \($0)" } }
        #expect(try drawn("Moment") == Set(moments))
        let deliveries = WebhookDelivery.State.allCases.flatMap { from in
            from.successors.map { "\(from) --> \($0)" }
        }
        #expect(try drawn("Webhook delivery") == Set(deliveries))
    }

    /// The arrows in the drawing of a section, without those from and to `[*]`. `PealStoreTests` and
    /// `PealDeliveryTests` check those of slices and routes.
    private func drawn(_ section: String) throws -> Set<String> {
        try StateDrawing.arrows(section).filter { !$0.contains("[*]") }
    }

    @Test("explain every reason of Peal's own that a delivery can end with")
    func reasons() throws {
        let own = /(?:\.unsent\(|\.lost\(|\.unreachable\(|\.unusable\(|\.address\(|rejection\(|reason: )"([A-Z]\w+)"/
        let providers = try repository.swiftFiles(under: "Sources/PealProviders")
        let thrown = providers.flatMap { $0.text.matches(of: own).map { String($0.output.1) } }
        #expect(thrown.count > 40, "the reasons were not found")
        let shared = try repository.swiftFiles(under: "Sources/PealCore/Delivery").flatMap(Self.reasonConstants)
        #expect(shared.count > 10, "the shared reasons were not found")
        let documents = try repository.paths(under: "docs/providers") + ["docs/states.md"]
        let words = try documents.reduce(into: Set<String>()) { $0.formUnion(try quotedWords($1)) }
        #expect(Set(thrown + shared).subtracting(words) == [])
    }

    /// The constants of `enum Reason`, as the trail spells them.
    private static func reasonConstants(_ file: Repository.File) -> [String] {
        guard let start = file.text.range(of: "enum Reason") else { return [] }
        let body = file.text[start.upperBound...].prefix { $0 != "}" }
        return body.matches(of: /static let (\w)(\w*)/).map { $0.output.1.uppercased() + $0.output.2 }
    }

    @Test("walk through files and symbols that exist")
    func walks() throws {
        let lines = try repository.file("docs/ARCHITECTURE.md").lines
        let steps = lines.compactMap { $0.firstMatch(of: /^\d+\. `([\w\/.+-]+\.swift)`/).map { ($0.output.1, $0.0) } }
        #expect(steps.count > 40, "the walks were not found")
        for line in lines {
            guard let path = line.firstMatch(of: /^\d+\. `([\w\/.+-]+\.swift)`/)?.output.1 else { continue }
            let full = "Sources/\(path)"
            guard repository.exists(full) else {
                Issue.record("\(full) does not exist")
                continue
            }
            let text = try repository.file(full).text
            for symbol in line.matches(of: /`([A-Za-z]\w*(?:\.\w+)*)(?:\([\w:]*\))?`/).map(\.output.1) {
                let name = String(symbol.split(separator: ".").last ?? "")
                #expect(text.contains(name), "\(path) does not contain \(name)")
            }
        }
    }

    /// A newcomer must be able to follow them: fewer than 90 files for a push, fewer than 40 for a registration.
    @Test("walk through few files, each once", arguments: [("Follow a push", 90), ("Follow a registration", 40)])
    func walkLengths(section: String, filesBelow: Int) throws {
        let text = try repository.file("docs/ARCHITECTURE.md").text
        let start = try #require(text.range(of: "\n## \(section)\n")).upperBound
        let lines = text[start...].components(separatedBy: "\n## ")[0].split(separator: "\n")
        let files = lines.compactMap { $0.firstMatch(of: /^(\d+)\. `([^`]+)`/) }
        #expect(files.count < filesBelow)
        #expect(files.map { Int($0.output.1) } == Array(1...files.count))
        #expect(Set(files.map(\.output.2)).count == files.count)
        #expect(lines.contains { $0.contains("in \(files.count) files under `Sources/`") })
    }

    @Test("avoid the phrases that docs/style.md lists, as do the sources and the names of tests")
    func phrases() throws {
        let style = try repository.file("docs/style.md").text
        let phrases =
            style.components(separatedBy: "```phrases\n").last?.components(separatedBy: "\n```").first?
            .split(separator: "\n").map(String.init) ?? []
        #expect(phrases.count > 10, "the phrases were not found")
        let all = try LinePattern(phrases.map { "(?:\($0))" }.joined(separator: "|"), ignoresCase: true)
        let found = try repository.paths().filter(Self.hasCheckedProse).flatMap { path in
            (try? repository.file(path)).map { file in
                all.lines(of: file.text).filter { !Self.isTests(path) || Self.isTestName(file.lines[$0]) }
                    .map { "\(path):\($0 + 1): \(file.lines[$0])" }
            } ?? []
        }
        #expect(found == [])
    }

    private static func hasCheckedProse(_ path: String) -> Bool {
        guard path != "docs/style.md", path != "CHANGELOG.md" else { return false }
        if isTests(path) { return path.hasSuffix(".swift") }
        return path.hasSuffix(".md") || path.hasSuffix(".py") || path.hasSuffix(".sh") || path == "Makefile"
            || path.hasPrefix("Sources/") || path.hasPrefix("SDK/Sources/")
    }

    private static func isTests(_ path: String) -> Bool { path.hasPrefix("Tests/") || path.hasPrefix("SDK/Tests/") }

    /// Whether the line has the name of a test or a suite; a long name is alone on its line.
    private static func isTestName(_ line: Substring) -> Bool {
        let line = line.drop { $0 == " " }
        return ["@Test(\"", "@Suite(\"", "\""].contains { line.hasPrefix($0) }
    }

    @Test("link to files that exist")
    func links() throws {
        let documents = try repository.paths().filter { $0.hasSuffix(".md") }
        #expect(!documents.isEmpty)
        for path in documents {
            let folder = URL(filePath: path, directoryHint: .notDirectory).deletingLastPathComponent()
            for link in try repository.file(path).text.matches(of: /\]\(([^)#\s]+)(?:#[^)]*)?\)/).map(\.output.1) {
                guard !link.contains("://"), !link.hasPrefix("mailto:") else { continue }
                let target = folder.appending(path: String(link)).standardized.relativePath
                #expect(repository.exists(target), "\(path) links to \(link)")
            }
        }
    }

    /// The single words in backticks that are a whole cell of the first column.
    private func firstColumn(_ path: String) throws -> [String] {
        try repository.file(path).lines.compactMap { line in
            guard line.hasPrefix("|") else { return nil }
            return line.dropFirst().prefix { $0 != "|" }.firstMatch(of: /^\s*`([^`]+)`\s*$/).map { String($0.output.1) }
        }
    }

    private func quotedWords(_ path: String) throws -> Set<String> {
        Set(try repository.file(path).text.matches(of: /`([^`\n]+)`/).map { String($0.output.1) })
    }
}
