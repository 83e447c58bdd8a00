/// Reads facts out of the documents.
enum DocumentRules {
    /// The words in backticks in the first column of every table.
    static func firstColumn(_ file: Repository.File) -> [String] {
        file.lines.compactMap { line in
            guard line.hasPrefix("|") else { return nil }
            return line.dropFirst().prefix { $0 != "|" }.firstMatch(of: #/^\s*`([^`]+)`\s*$/#).map {
                String($0.output.1)
            }
        }
    }

    /// Every word in backticks.
    static func quoted(_ file: Repository.File) -> Set<String> {
        Set(file.text.matches(of: #/`([^`\n]+)`/#).map { String($0.output.1) })
    }

    /// The names of the constants in a Swift file.
    static func constants(_ file: Repository.File) -> [String] {
        SwiftText(file.text).code.matches(of: #/\bstatic let (\w+)/#).map { String($0.output.1) }
    }

    /// The names of the limits in a Swift file: a dialect's own stand in its folder.
    static func limits(_ file: Repository.File) -> [String] {
        guard let start = file.text.firstMatch(of: #/\b(?:enum|extension) Limits \{/#)?.range.lowerBound else {
            return []
        }
        let end = file.text[start...].firstRange(of: "\n}")?.upperBound ?? file.text.endIndex
        return SwiftText(String(file.text[start..<end])).code.matches(of: #/\bstatic let (\w+)/#).map {
            String($0.output.1)
        }
    }

    /// The words that a Swift file puts into answers as their reason.
    static func reasons(_ file: Repository.File) -> [String] {
        let places =
            #/(?:\.unsent\(|\.lost\(|\.unreachable\(|\.unusable\(|\.address\(|rejection\(|reason: )"([A-Z]\w+)"/#
        return file.text.matches(of: places).map { String($0.output.1) }
    }

    /// Links to files that are not there.
    static func brokenLinks(_ file: Repository.File, exists: (String) -> Bool) throws -> [Finding] {
        let folder = file.path.split(separator: "/").dropLast().map(String.init)
        return file.lines.enumerated().flatMap { number, line in
            line.matches(of: #/\]\(([^)#\s]+)(?:#[^)]*)?\)/#).compactMap { match -> Finding? in
                let target = String(match.output.1)
                guard !target.contains("://"), !target.hasPrefix("mailto:") else { return nil }
                let path = resolved(target, from: folder)
                return exists(path) ? nil : Finding(path: file.path, line: number + 1, what: "no file \(path)")
            }
        }
    }

    private static func resolved(_ target: String, from folder: [String]) -> String {
        var parts = folder
        for part in target.split(separator: "/") {
            switch part {
            case ".": continue
            case "..": if !parts.isEmpty { parts.removeLast() }
            default: parts.append(String(part))
            }
        }
        return parts.joined(separator: "/")
    }
}
