import Testing

/// A pattern that must not occur in a line of code, with the folders it is checked in and the files that may break it.
struct LineRule: Sendable, CustomTestStringConvertible {
    /// Reads as the end of "the sources …".
    let name: String
    let pattern: String
    /// Prefixes of paths; a file counts when one of them fits and none of `exempt` does.
    var folders = ["Sources/", "SDK/Sources/"]
    var exempt: [String] = []
    /// Files that break the rule for a reason. An entry that is no longer needed fails the test.
    var exceptions: [String: String] = [:]
    /// Whether string literals are checked too. Comments never are.
    var readsStrings = false

    var testDescription: String { name }

    func covers(_ path: String) -> Bool {
        folders.contains(where: path.hasPrefix) && !exempt.contains(where: path.hasPrefix)
    }

    /// Where the file breaks the rule, as `path:line: text`.
    func findings(in file: Repository.File) throws -> [String] {
        // With the default boundaries "Clock.now" is one word, as in prose.
        let regex = try Regex(pattern).wordBoundaryKind(.simple)
        let code = SwiftText(file.text, keepsStrings: readsStrings).lines
        return zip(code, file.lines).enumerated().compactMap { number, line in
            line.0.contains(regex) ? "\(file.path):\(number + 1): \(line.1.drop { $0 == " " })" : nil
        }
    }
}

extension LineRule {
    /// The composition root, and programs that are not part of the server.
    private static let outermost = [
        "Sources/PealServer/", "Sources/PealSimulator/", "Sources/PealTesting/", "Sources/PealLab/",
    ]

    static let all = [
        LineRule(name: "contain no forced try or cast", pattern: #"\b(try!|as!)"#),
        LineRule(
            name: "start unstructured tasks only for a stated reason",
            pattern: #"(^|[^\w.])Task(\.detached)?(\([^)]*\))?\s*\{"#,
            exceptions: [
                "Sources/PealDelivery/DeliveryService.swift":
                    "a cancelled caller must not cancel workers that still have answers to settle",
                "Sources/PealProviders/Requests/RequestPool.swift":
                    "a page is accepted at once and sent later; close() awaits the task",
                "Sources/PealProviders/OAuth/AccessTokens.swift":
                    "callers share one token request, and event loops that start one cannot await it",
            ]),
        LineRule(
            name: "take the time from TimeSource",
            pattern:
                #"\bDate(\(\)|\.now)|\b(Continuous|Suspending)Clock\b|\b(NIODeadline|DispatchTime)\.now\(|\bTask\.sleep\("#,
            folders: ["Sources/"], exempt: outermost),
        LineRule(
            name: "take randomness from Randomness",
            pattern: #"\.random\(|\.randomElement\(|\.shuffled?\(|\bSystemRandomNumberGenerator\b|\bUUID\(\)"#,
            folders: ["Sources/"], exempt: outermost),
        LineRule(
            name: "use no empty name for a type",
            pattern:
                #"\b(struct|class|enum|actor|protocol|typealias)\s+\w*(Manager|Helper|Util|Utils|Common|Info|Processor)s?\b"#,
            folders: ["Sources/", "SDK/", "Tests/"]),
        LineRule(name: "say which token a name means", pattern: #"\b(let|var)\s+token\b"#),
        LineRule(
            name: "state native JSON paths only in the native dialect",
            pattern:
                #""content\.(ios|android|windows|windows_phone|web|title|subtitle|body|data|image_url|badge|sound)\b"#,
            folders: ["Sources/"], exempt: ["Sources/PealAPI/Dialects/Native/"], readsStrings: true),
        LineRule(
            name: "name no dialect below PealAPI",
            pattern: #"(?i)\b(richie|devtodev|contextpush|pivotal)\b|\.native\b"#,
            folders: [
                "Sources/PealCore/", "Sources/PealStore/", "Sources/PealSQLite/", "Sources/PealDelivery/",
                "Sources/PealProviders/", "Sources/PealReports/",
            ],
            readsStrings: true),
    ]
}
