internal import PealCore

extension Tolerance {
    /// The same object without the line ends that templates leave behind values (`{{ user.id }}` and a new line).
    /// - Parameter kept: members that stay as they are written.
    func withoutLineEnds(except kept: Set<String> = []) throws(PealError) -> Tolerance {
        var trimmed = members
        for (name, value) in members.pairs where !kept.contains(name) {
            guard let text = value.stringValue else { continue }
            // By bytes: Swift takes a carriage return with its line feed for one character, and knows other line ends.
            let end = text.utf8.reversed().prefix { $0 == 0x0A || $0 == 0x0D }.count
            if end > 0, let start = String(text.utf8.dropLast(end)) { trimmed[name] = .string(start) }
        }
        return try Tolerance(.object(trimmed), path: path)
    }
}
