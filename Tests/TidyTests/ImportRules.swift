import RegexBuilder

/// Which module may import which: the siblings know the core and never each other.
enum ImportRules {
    /// What each target's sources may import of the project itself.
    static let allowed: [String: Set<String>] = [
        "PealCore": [],
        "PealNetwork": ["PealCore"],
        "PealShapes": ["PealCore"],
        "PealAPI": ["PealCore", "PealShapes"],
        "PealConsole": ["PealCore"],
        "PealDelivery": ["PealCore"],
        "PealProviders": ["PealCore", "PealNetwork"],
        "PealReports": ["PealCore", "PealNetwork"],
        "PealStore": ["PealCore"],
        "PealSQLite": ["PealCore", "PealStore"],
        "PealPostgres": ["PealCore", "PealStore"],
        "PealServer": [
            "PealAPI", "PealConsole", "PealCore", "PealDelivery", "PealNetwork", "PealPostgres", "PealProviders",
            "PealReports", "PealSQLite", "PealStore",
        ],
        "PealCommands": ["PealCore", "PealServer"],
        "peal": ["PealCommands"],
        "PealSimulator": [],
        "peal-sim": ["PealSimulator"],
        "PealLab": ["PealCore", "PealProviders"],
        "peal-lab": ["PealLab"],
        "PealTesting": ["PealCore", "PealSQLite", "PealPostgres", "PealStore"],
    ]

    static func forbidden(_ file: Repository.File) -> [Finding] {
        let folders = file.path.split(separator: "/")
        guard folders.count > 2, folders[0] == "Sources" else { return [] }
        let target = String(folders[1])
        guard let permitted = allowed[target] else {
            return [Finding(path: file.path, line: 1, what: "\(target) has no place in the plan")]
        }
        return imports(file).filter { $0.module.hasPrefix("Peal") && !permitted.contains($0.module) }.map {
            Finding(path: file.path, line: $0.line, what: "\(target) imports \($0.module)")
        }
    }

    private static func imports(_ file: Repository.File) -> [(line: Int, module: String)] {
        let attributes = #/^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?/#
        let pattern = Regex {
            attributes
            #/import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var)\s+)?(\w+)/#
        }
        return SwiftText(file.text).lines.enumerated().compactMap { number, line in
            line.firstMatch(of: pattern).map { (number + 1, String($0.output.1)) }
        }
    }
}
