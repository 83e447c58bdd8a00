/// The rules that one source file is held to.
enum SourceRules {
    static let fileLinesMax = 400
    static let functionLinesMax = 60
    static let lineCharactersMax = 120

    static func longFile(_ file: Repository.File) -> [Finding] {
        let count = file.lines.count - (file.text.hasSuffix("\n") ? 1 : 0)
        return count > fileLinesMax ? [Finding(path: file.path, line: count, what: "\(count) lines")] : []
    }

    static func longLines(_ file: Repository.File) -> [Finding] {
        file.lines.enumerated().filter { $1.count > lineCharactersMax }.map {
            Finding(path: file.path, line: $0 + 1, what: "\($1.count) characters")
        }
    }

    /// Functions and initializers whose body has outgrown the plan.
    static func longFunctions(_ file: Repository.File) -> [Finding] {
        FunctionLengths.measure(SwiftText(file.text)).filter { $0.lineCount > functionLinesMax }.map {
            Finding(path: file.path, line: $0.line, what: "\($0.name) has \($0.lineCount) lines")
        }
    }

    static let bannedWords = ["Manager", "Helper", "Util", "Common", "Info", "Processor"]

    /// Types whose name says nothing: a banned word as one of its words (`Information` is another word than `Info`).
    static func bannedNames(_ file: Repository.File) -> [Finding] {
        let declaration = #/\b(?:struct|class|enum|actor|protocol|typealias|macro)\s+([A-Za-z_]\w*)/#
        return matches(declaration, in: file).compactMap { line, name in
            let words = name.split { $0 == "_" }.flatMap { camelWords(String($0)) }
            guard let banned = bannedWords.first(where: { words.contains($0) || words.contains($0 + "s") }) else {
                return nil
            }
            return Finding(path: file.path, line: line, what: "\(name): \(banned) says nothing")
        }
    }

    /// Names that are just `token`: say which one.
    static func bareToken(_ file: Repository.File) -> [Finding] {
        matches(#/\b(?:let|var)\s+(token)\b/#, in: file).map {
            Finding(path: file.path, line: $0.0, what: "bare token: say deviceToken, providerToken or apiKey")
        }
    }

    /// Folders that know a dialect by its name alone, as data.
    static let foldersWithoutDialects = [
        "PealCore", "PealStore", "PealSQLite", "PealDelivery", "PealProviders", "PealReports", "PealNetwork",
        "PealTesting", "PealAPI/Access", "PealAPI/Gate", "PealAPI/OpenAPI",
    ].map { "Sources/\($0)/" }

    /// Words of one dialect where only data may name one.
    static func namedDialects(_ file: Repository.File) -> [Finding] {
        guard foldersWithoutDialects.contains(where: file.path.hasPrefix) else { return [] }
        return file.lines.enumerated().compactMap { number, line in
            let names = ["richie", "pivotal", "devtodev", "contextpush"]
            guard let name = names.first(where: line.lowercased().contains) else { return nil }
            return Finding(path: file.path, line: number + 1, what: "names the dialect \(name)")
        }
    }

    /// Decisions by dialect, which a dialect's own value should answer.
    static func switchedDialects(_ file: Repository.File) -> [Finding] {
        matches(#/\bswitch\s+(\w*(?:\.|\b)dialect)\b/#, in: file).map {
            Finding(path: file.path, line: $0.0, what: "switches over dialects")
        }
    }

    static func unstructuredTasks(_ file: Repository.File) -> [Finding] {
        matches(#/(?:^|[^\w.])(Task(?:\.detached)?(?:\([^)]*\))?)\s*\{/#, in: file).map {
            Finding(path: file.path, line: $0.0, what: "unstructured task")
        }
    }

    static func traps(_ file: Repository.File) -> [Finding] {
        matches(#/\b(try!|as!)/#, in: file).map { Finding(path: file.path, line: $0.0, what: $0.1) }
    }

    /// The system's clock and its randomness: only the composition root may ask them.
    static func systemSources(_ file: Repository.File) -> [Finding] {
        let clocks = #/(\bDate(?:\(\)|\.now)|\b(?:Continuous|Suspending)Clock\b)/#
        let waits = #/(\b(?:NIODeadline|DispatchTime)\.now\(|\bTask\.sleep\()/#
        let chance = #/(\.random\(|\.randomElement\(|\.shuffled?\(|\bSystemRandomNumberGenerator\b|\bUUID\(\))/#
        return (matches(clocks, in: file) + matches(waits, in: file) + matches(chance, in: file)).map {
            Finding(path: file.path, line: $0.0, what: "\($0.1): use TimeSource or Randomness")
        }
    }

    /// `@unchecked Sendable` and its kin without the proof in a comment on the same line or on the one before.
    static func unprovenSendable(_ file: Repository.File) -> [Finding] {
        let lines = file.lines
        return matches(#/(@unchecked\s+Sendable|nonisolated\(unsafe\))/#, in: file).compactMap { line, what in
            let isProven = lines[line - 1].contains("//") || line > 1 && lines[line - 2].contains("//")
            return isProven ? nil : Finding(path: file.path, line: line, what: "\(what) without its proof beside it")
        }
    }

    /// Mentions of what is no part of the project.
    static func foreignMentions(_ file: Repository.File) -> [Finding] {
        // Written in two halves, so that this file does not find itself.
        let foreign = ["shared" + "/"]
        return file.lines.enumerated().flatMap { number, line in
            foreign.filter { mentions(line, $0) }.map {
                Finding(path: file.path, line: number + 1, what: "mentions \($0)")
            }
        }
    }

    /// Whether `folder` stands in `line` as a path's beginning: `x-shared/` and `.../prefix_shared/` are other names.
    private static func mentions(_ line: Substring, _ folder: String) -> Bool {
        line.ranges(of: folder).contains { range in
            guard range.lowerBound > line.startIndex else { return true }
            let before = line[line.index(before: range.lowerBound)]
            return !before.isLetter && !before.isNumber && before != "_" && before != "-"
        }
    }

    private static func matches(
        _ pattern: Regex<(Substring, Substring)>, in file: Repository.File
    ) -> [(Int, String)] {
        // By default "Clock.now" is one word, because text in sentences is.
        let pattern = pattern.wordBoundaryKind(.simple)
        return SwiftText(file.text).lines.enumerated().flatMap { number, line in
            line.matches(of: pattern).map { (number + 1, String($0.output.1)) }
        }
    }

    /// `JSONParserUtil` is `JSON`, `Parser`, `Util`.
    static func camelWords(_ name: String) -> [String] {
        var words: [String] = []
        let characters = Array(name)
        for (position, character) in characters.enumerated() {
            let previousIsLower = position > 0 && !characters[position - 1].isUppercase
            let nextIsLower = position + 1 < characters.count && characters[position + 1].isLowercase
            if character.isUppercase, position == 0 || previousIsLower || nextIsLower {
                words.append(String(character))
            } else if words.isEmpty {
                words.append(String(character))
            } else {
                words[words.count - 1].append(character)
            }
        }
        return words.map { $0.prefix(1).uppercased() + $0.dropFirst() }
    }
}
