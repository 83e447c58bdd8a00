extension ServerConfiguration {
    /// Every key with present value, default, type and range, and meaning: valid YAML comments and values, so that the
    /// output can be saved and used as `--config`.
    package func printed() -> String {
        var lines: [String] = []
        for (key, value, isGiven) in values where key != .configFile {
            lines.append("# \(key.environmentName) (\(key.kind.name); default \(key.fallback ?? "none"))")
            lines.append("# \(key.meaning)")
            let name = key.words.replacing(".", with: "_")
            if let value, !key.isSecret {
                lines.append("\(isGiven ? "" : "# ")\(name): \(Self.quoted(value))")
            } else {
                lines.append("# \(name): \(value ?? "")")
            }
            lines.append("")
        }
        return lines.joined(separator: "\n")
    }

    private static func quoted(_ value: String) -> String {
        "\"" + value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
