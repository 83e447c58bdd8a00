/// Where the paths of request fields may be written: each dialect spells its own, and nobody reads another's.
enum FieldRules {
    /// Dialects whose own requests have a member `content`.
    static let spellers = ["Sources/PealAPI/Dialects/Native/", "Sources/PealAPI/Dialects/ContextPush/"]
    private static let dialects = "Sources/PealAPI/Dialects/"

    /// Literals of a field path of the native API outside its dialect.
    static func nativePaths(_ file: Repository.File) -> [Finding] {
        guard !spellers.contains(where: file.path.hasPrefix) else { return [] }
        return findings(#/"(?:content|options)\.(?:[a-z_]|\\\()/#, in: file, "a path of the native API")
    }

    /// A dialect that takes the path of a field apart.
    static func parsedPaths(_ file: Repository.File) -> [Finding] {
        guard file.path.hasPrefix(dialects) else { return [] }
        return findings(
            #/\b(?:field|path)\)?\??\.(?:split\(separator: "\."|hasPrefix\("[a-z_]+\.)/#, in: file, "takes a path apart"
        )
    }

    private static func findings(
        _ pattern: Regex<Substring>, in file: Repository.File, _ what: String
    ) -> [Finding] {
        file.lines.enumerated().compactMap { number, line in
            let code = line.drop { $0 == " " }
            guard !code.hasPrefix("//"), line.contains(pattern) else { return nil }
            return Finding(path: file.path, line: number + 1, what: what)
        }
    }
}
