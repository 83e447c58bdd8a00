internal import PealCore

/// The fields of a query or of a form (`application/x-www-form-urlencoded`). A name may occur several times.
package struct Form: Sendable, Hashable {
    package private(set) var pairs: [(name: String, value: String)] = []

    package init() {}

    /// Invalid escapes are kept as they are: the page shows what arrived. Invalid UTF-8 and U+0000, which PostgreSQL's
    /// texts cannot contain, become U+FFFD, as in HTML.
    package init(encoded: some StringProtocol) {
        // Bytes, because comparing a character with very many combining marks takes very long.
        for pair in Substring(encoded).utf8.split(separator: UInt8(ascii: "&")) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            pairs.append((Self.decoded(halves[0]), halves.count > 1 ? Self.decoded(halves[1]) : ""))
        }
    }

    private static func decoded(_ part: Substring.UTF8View) -> String {
        let text = PercentCoding.decodeLeniently(Substring(part))
        return text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
    }

    package static func == (left: Form, right: Form) -> Bool {
        left.pairs.elementsEqual(right.pairs) { $0.name == $1.name && $0.value == $1.value }
    }

    package func hash(into hasher: inout Hasher) {
        for pair in pairs {
            hasher.combine(pair.name)
            hasher.combine(pair.value)
        }
    }

    /// The first value of that name without surrounding white space; nil when it is missing or empty.
    package subscript(_ name: String) -> String? {
        let value = pairs.first { $0.name == name }?.value.trimmed ?? ""
        return value.isEmpty ? nil : value
    }

    /// The first value of that name as it was sent, with line ends as `\n`.
    package func raw(_ name: String) -> String {
        (pairs.first { $0.name == name }?.value ?? "").replacing("\r\n", with: "\n")
    }

    /// All values of that name.
    package func all(_ name: String) -> [String] { pairs.filter { $0.name == name }.map(\.value) }

    /// The entries of a field that holds a list: separated by commas or line ends, without empty ones and repetitions.
    /// An entry may be in quotation marks, which are doubled in it.
    package func list(_ name: String) -> [String] {
        var seen: Set<ExactText> = []
        return all(name).flatMap(Self.entries).filter { !$0.isEmpty && seen.insert(ExactText($0)).inserted }
    }

    private static func entries(_ text: String) -> [String] {
        var (entries, entry, isBlank, isQuoted, isOpen) = ([String](), "", true, false, false)
        func end() { entries.append(isQuoted ? entry : entry.trimmed) }
        var rest = text[...]
        while let character = rest.popFirst() {
            if isOpen, character == "\"" {
                isOpen = rest.first == "\""
                if isOpen { entry.append(rest.removeFirst()) }
            } else if isOpen {
                entry.append(character)
            } else if character == "," || character.isNewline {
                end()
                (entry, isBlank, isQuoted) = ("", true, false)
            } else if character == "\"", !isQuoted, isBlank {
                (entry, isQuoted, isOpen) = ("", true, true)
            } else if !isQuoted || !character.isWhitespace {
                entry.append(character)
                isBlank = isBlank && character.isWhitespace
            }
        }
        end()
        return entries
    }

    /// A name as an entry of a list, in quotation marks if necessary.
    package static func listed(_ name: String) -> String {
        let isPlain = !name.contains { $0 == "," || $0 == "\"" || $0.isNewline } && name == name.trimmed
        return isPlain ? name : "\"\(name.replacing("\"", with: "\"\""))\""
    }

    /// Whether a box is checked.
    package func isSet(_ name: String) -> Bool { self[name] != nil }

    /// Makes it the only value under that name.
    package mutating func set(_ name: String, _ value: String) {
        pairs.removeAll { $0.name == name }
        pairs.append((name, value))
    }

    /// The form with exactly one value under that name.
    package func with(_ name: String, _ value: String) -> Form {
        var form = self
        form.set(name, value)
        return form
    }

    /// The form with only the fields whose names are kept.
    package func keeping(_ isKept: (String) -> Bool) -> Form {
        var form = self
        form.pairs.removeAll { !isKept($0.name) }
        return form
    }

    /// The form with one more value under that name.
    package func adding(_ name: String, _ value: String) -> Form {
        var form = self
        form.pairs.append((name, value))
        return form
    }

    /// As a query, for links.
    package var encoded: String {
        pairs.map { "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))" }.joined(separator: "&")
    }
}

/// Paths of pages.
package enum URLPath {
    /// The decoded segments, without doubled or trailing slashes; nil if an escape is invalid, or if one contains
    /// U+0000, which no page's name contains.
    package static func segments(_ path: some StringProtocol) -> [String]? {
        var segments: [String] = []
        for part in path.split(separator: "/") {
            guard let segment = PercentCoding.decode(Substring(part)), !segment.utf8.contains(0) else { return nil }
            segments.append(segment)
        }
        return segments
    }

    /// A name as a segment. Browsers resolve `.` and `..`, even if they are percent-encoded (WHATWG URL, §4.4). So these
    /// names, and those that look like the result, begin with a further `~`.
    package static func segment(_ name: String) -> String {
        PercentCoding.encode(isDots(name) ? "~" + name : name)
    }

    /// The name that a decoded segment represents.
    package static func name(_ segment: String) -> String {
        isDots(segment) && segment.hasPrefix("~") ? String(segment.dropFirst()) : segment
    }

    private static func isDots(_ name: String) -> Bool { [".", ".."].contains(name.drop { $0 == "~" }) }
}

extension String {
    package var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
