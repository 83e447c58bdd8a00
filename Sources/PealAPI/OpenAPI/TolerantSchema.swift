internal import PealCore
internal import PealShapes

/// What the four adopted dialects take, as `Tolerance` reads it.
extension Schema {
    /// A text; a number or a boolean gives its own text, null and "" are absent.
    static func tolerantText(_ range: ClosedRange<Int> = 0...Int.max, pattern: String? = nil) -> Schema {
        text(range, pattern: pattern).with("type", ["string", "number", "boolean", "null"])
    }

    /// An integer, also as text; null and "" are absent.
    static let tolerantInteger = tolerantInteger(Int64.min...Int64.max, pattern: "-?(0|[1-9][0-9]{0,17})")

    /// An integer of a range, also as text; null and "" are absent.
    /// - Parameter pattern: the range as a regular expression of ECMA-262.
    static func tolerantInteger(_ range: ClosedRange<Int64>, pattern: String) -> Schema {
        integer(range).with("type", ["integer", "string", "null"]).with("pattern", .string("^(\(pattern))?$"))
    }

    /// A number, also as text; null and "" are absent.
    static let tolerantNumber = number.with("type", ["number", "string", "null"]).with(
        "pattern", "^(-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?)?$")

    /// A boolean, also as 0, 1 and text in any letter case; null and "" are absent.
    static let tolerantFlag = integer(0...1).with("type", ["boolean", "integer", "string", "null"]).with(
        "pattern", "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|0|1)?$")

    /// An object; null and "" are absent.
    static func tolerantObject(_ properties: [Property]) -> Schema { object(properties).orAbsent }

    /// A list; null and "" are absent, as is null within it.
    static func tolerantList(_ items: Schema, _ range: ClosedRange<Int> = 0...Int.max) -> Schema {
        list(items.orNull, range).orAbsent
    }

    /// Also what counts as absent: null and "".
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
