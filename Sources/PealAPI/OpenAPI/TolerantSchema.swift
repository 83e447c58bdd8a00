internal import PealCore
internal import PealShapes

/// The schemas of what `Tolerance` accepts in the four adopted dialects.
extension Schema {
    /// A string; numbers and booleans count as strings, null and "" as absent.
    static func tolerantText(_ range: ClosedRange<Int> = 0...Int.max, pattern: String? = nil) -> Schema {
        text(range, pattern: pattern).with("type", ["string", "number", "boolean", "null"])
    }

    /// An integer, also as a string; null and "" count as absent.
    static let tolerantInteger = tolerantInteger(Int64.min...Int64.max, pattern: "-?(0|[1-9][0-9]{0,17})")

    /// An integer in a range, also as a string; null and "" count as absent.
    /// - Parameter pattern: the range as a regular expression (ECMA-262).
    static func tolerantInteger(_ range: ClosedRange<Int64>, pattern: String) -> Schema {
        integer(range).with("type", ["integer", "string", "null"]).with("pattern", .string("^(\(pattern))?$"))
    }

    /// A number, also as a string; null and "" count as absent.
    static let tolerantNumber = number.with("type", ["number", "string", "null"]).with(
        "pattern", "^(-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?)?$")

    /// A boolean, also as 0, 1 or a string in any letter case; null and "" count as absent.
    static let tolerantFlag = integer(0...1).with("type", ["boolean", "integer", "string", "null"]).with(
        "pattern", "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|0|1)?$")

    /// An object; null and "" count as absent.
    static func tolerantObject(_ properties: [Property]) -> Schema { object(properties).orAbsent }

    /// A list; null and "" count as absent, and so does null within the list.
    static func tolerantList(_ items: Schema, _ range: ClosedRange<Int> = 0...Int.max) -> Schema {
        list(items.orNull, range).orAbsent
    }

    /// Allows null and "", which count as absent.
    var orAbsent: Schema { Describing(policy: .tolerant, now: Timestamp(milliseconds: 0)).optional(self) }
}

extension Schema {
    /// What has a text of its own, and null.
    static let scalarOrNull: JSON = ["string", "number", "boolean", "null"]

    /// One of these words in any letter case.
    static func caseless(_ words: [String]) -> Schema {
        let patterns = words.map { word in
            word.map { $0.isLetter ? "[\($0.uppercased())\($0.lowercased())]" : String($0) }.joined()
        }
        return .text(pattern: "(\(patterns.joined(separator: "|")))")
    }
}
