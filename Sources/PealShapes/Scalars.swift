package import PealCore

extension Shape where Value == String {
    /// A name of 1 to `max` characters (code points, as JSON Schema counts) or bytes, without control characters.
    package static func text(characters: Int = Limits.nameCharactersMax, bytes: Int? = nil) -> Shape {
        Shape { json, reading throws(PealError) in
            let text = try plain(json, reading)
            let (count, max, unit) =
                bytes.map { (text.utf8.count, $0, "bytes") } ?? (text.unicodeScalars.count, characters, "characters")
            guard (1...max).contains(count) else {
                throw reading.refusal(
                    reading.policy.isTolerant
                        ? "must be at most \(max) \(unit) long" : "must be 1 to \(max) \(unit) long")
            }
            guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw reading.refusal("must not contain control characters")
            }
            return text
        } describe: { describing in
            // A text of n bytes has n characters at most.
            schema(describing, 1...(bytes ?? characters), #"[^\u0000-\u001f\u007f]+"#)
        }
    }

    /// A text of any length for people to read: of control characters only tabs and line ends.
    package static let content = Shape { json, reading throws(PealError) in
        let text = try plain(json, reading)
        try reading.checkContent(of: text)
        return text
    } describe: { describing in
        schema(describing, nil, #"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*"#)
    }

    /// A text of any length and characters.
    package static let anyText = Shape { json, reading throws(PealError) in
        try plain(json, reading)
    } describe: { describing in
        Schema([("type", type(describing))])
    }

    /// The same text where `isValid` holds.
    /// - Parameters:
    ///   - pattern: what `isValid` checks, as a regular expression of ECMA-262 for the whole text.
    ///   - message: what goes on after the path: `must be …`.
    package func matching(
        _ pattern: String, _ message: String, _ isValid: @escaping @Sendable (String) -> Bool
    ) -> Shape {
        checked { text, reading throws(PealError) in
            guard isValid(text) else { throw reading.refusal(message) }
            return text
        }.stating(("pattern", .string("^(?:\(pattern))$")))
    }

    /// A text; a tolerant reader takes that of a number or a flag.
    package static func plain(_ json: JSON, _ reading: borrowing Reading) throws(PealError) -> String {
        switch json {
        case .string(let text): return text
        case .number(let text) where reading.policy.isTolerant: return text
        case .bool(let flag) where reading.policy.isTolerant: return flag ? "true" : "false"
        case .null, .bool, .number, .array, .object: throw reading.wrongType(json, "a string")
        }
    }

    private static func type(_ describing: Describing) -> JSON {
        describing.policy.isTolerant ? ["string", "number", "boolean"] : "string"
    }

    private static func schema(_ describing: Describing, _ range: ClosedRange<Int>?, _ pattern: String) -> Schema {
        var schema = Schema([("type", type(describing))])
        if let range {
            schema = schema.with("minLength", .integer(range.lowerBound)).with(
                "maxLength", .integer(range.upperBound))
        }
        return schema.with("pattern", .string("^\(pattern)$"))
    }
}

extension Shape where Value == Bool {
    package static let flag = Shape { json, reading throws(PealError) in
        if case .bool(let flag) = json { return flag }
        guard reading.policy.isTolerant else { throw reading.wrongType(json, "a boolean") }
        switch (json.stringValue ?? (json.isNumber ? json.text : "")).lowercased() {
        case "true", "1": return true
        case "false", "0": return false
        default: throw reading.refusal("must be a boolean")
        }
    } describe: { describing in
        guard describing.policy.isTolerant else { return .flag }
        return Schema([
            ("type", ["boolean", "integer", "string"]), ("minimum", 0), ("maximum", 1),
            ("pattern", "^(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|0|1)$"),
        ])
    }
}

extension Shape where Value == Int64 {
    /// - Parameter text: what to say of a number outside the range, after the path.
    package static func integer(_ range: ClosedRange<Int64>, refusing text: String? = nil) -> Shape {
        Shape { json, reading throws(PealError) in
            let isTolerant = reading.policy.isTolerant
            if !isTolerant, !json.isNumber { throw reading.wrongType(json, "an integer") }
            let given = isTolerant ? json.stringValue.map(JSON.number) ?? json : json
            if isTolerant, given.integerValue == nil { throw reading.refusal("must be an integer") }
            guard let number = given.integerValue, range.contains(number) else {
                throw reading.refusal(text ?? "must be an integer from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        } describe: { describing in
            let schema = Schema.integer(range)
            guard describing.policy.isTolerant else { return schema }
            let digits = range.lowerBound < 0 ? "-?(?:0|[1-9][0-9]{0,17})" : "0*(?:\(digits(to: range.upperBound)))"
            return schema.with("type", ["integer", "string"]).with("pattern", .string("^\(digits)$"))
        }
    }

    /// The numbers from 0 to `last` as a regular expression of ECMA-262: limits in patterns are derived too.
    package static func digits(to last: Int64) -> String {
        let digits = String(last).map { $0.wholeNumberValue ?? 0 }
        var choices = digits.count > 1 ? ["[0-9]{1,\(digits.count - 1)}"] : []
        for (index, digit) in digits.enumerated() where digit > 0 {
            let rest = digits.count - index - 1
            choices.append(
                digits[..<index].map(String.init).joined() + "[0-\(digit - 1)]" + (rest > 0 ? "[0-9]{\(rest)}" : ""))
        }
        return (choices + [String(last)]).joined(separator: "|")
    }
}

extension Shape where Value == Double {
    package static func number(_ range: ClosedRange<Int64>) -> Shape {
        Shape { json, reading throws(PealError) in
            guard let number = json.doubleValue, number >= Double(range.lowerBound), number <= Double(range.upperBound)
            else { throw reading.refusal("must be a number from \(range.lowerBound) to \(range.upperBound)") }
            return number
        } describe: { _ in
            Schema.number.with("minimum", .integer(range.lowerBound)).with("maximum", .integer(range.upperBound))
        }
    }

    /// A number above 0; as text in decimal digits.
    package static func decimal(above0UpTo max: Int64) -> Shape {
        Shape { json, reading throws(PealError) in
            let text = reading.policy.isTolerant ? json.stringValue?.trimmedBlanks : nil
            guard text?.isDecimal ?? true, let number = (text.map(JSON.number) ?? json).doubleValue else {
                throw reading.refusal("must be a number")
            }
            guard number > 0, number <= Double(max) else {
                throw reading.refusal("must be more than 0 and at most \(max)")
            }
            return number
        } describe: { describing in
            let schema = Schema.number.with("exclusiveMinimum", 0).with("maximum", .integer(max))
            guard describing.policy.isTolerant else { return schema }
            let whole = "0*(?:\(Shape<Int64>.digits(to: max - 1)))(?:\\.[0-9]+)?|0*\(max)(?:\\.0+)?"
            return schema.with("type", ["number", "string"]).with(
                "pattern", .string("^[ \\t\\r\\n]*(?!0*(?:\\.0*)?[ \\t\\r\\n]*$)(?:\(whole))[ \\t\\r\\n]*$"))
        }
    }
}

extension Shape where Value == Timestamp {
    /// RFC 3339 with any offset.
    package static let time = Shape { json, reading throws(PealError) in
        let text = json.stringValue
        if text == nil, !reading.policy.isTolerant { throw reading.wrongType(json, "a string") }
        guard let time = text.flatMap(Timestamp.init(rfc3339:)) else {
            throw reading.refusal("must be a time such as 2026-11-21T02:30:00Z")
        }
        return time
    } describe: { _ in
        .time
    }
}

extension Shape {
    /// One of some words, by a table: aliases are further rows. Tolerant readers take any letter case.
    package static func words(
        _ name: String, _ words: [(String, Value)], expected: String? = nil, code: PealError.Code = .invalidField
    ) -> Shape {
        let list = words.map(\.0)
        let expected = expected ?? "one of \(list.joined(separator: ", "))"
        return Shape { json, reading throws(PealError) in
            let given = try Shape<String>.plain(json, reading)
            let text = reading.policy.isTolerant ? given.lowercased() : given
            guard let index = list.firstIndex(where: { $0.utf8.elementsEqual(text.utf8) }) else {
                throw PealError(code, "\(reading.path) must be \(expected)", field: reading.path)
            }
            return words[index].1
        } describe: { describing in
            guard describing.policy.isTolerant else { return .component(name, .words(list)) }
            let caseless = list.map { $0.map { $0.isLetter ? "[\($0.uppercased())\($0.lowercased())]" : "\($0)" } }
            return .text(pattern: "(?:\(caseless.map { $0.joined() }.joined(separator: "|")))")
        }
    }

    /// One of the words of an enumeration.
    package static func words(_ name: String, _ cases: [Value] = Array(Value.allCases)) -> Shape
    where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
        words(name, cases.map { ($0.rawValue, $0) })
    }

    /// An id (RFC 9562).
    package static func id<Of>() -> Shape where Value == Identifier<Of> {
        Shape { json, reading throws(PealError) in
            guard let text = json.stringValue else { throw reading.wrongType(json, "a string") }
            guard let id = Identifier<Of>(text) else { throw reading.refusal("must be a UUID") }
            return id
        } describe: { _ in
            .uuid
        }
    }
}

extension JSON {
    var isNumber: Bool { if case .number = self { true } else { false } }
}

extension String {
    /// Without blanks, tabs and line ends around it.
    fileprivate var trimmedBlanks: String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
        let rest = utf8.drop(while: isBlank)
        return String(decoding: rest.dropLast(rest.reversed().prefix(while: isBlank).count), as: UTF8.self)
    }

    /// Digits, perhaps with a sign and a fraction: no exponent, no infinity, no hexadecimal digits.
    fileprivate var isDecimal: Bool {
        let isDigit = { (byte: UInt8) in byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
        let unsigned = utf8.first == UInt8(ascii: "-") ? utf8.dropFirst() : utf8[...]
        let fraction = unsigned.drop(while: isDigit)
        guard fraction.startIndex > unsigned.startIndex else { return false }
        guard let point = fraction.first else { return true }
        return point == UInt8(ascii: ".") && fraction.count > 1 && fraction.dropFirst().allSatisfy(isDigit)
    }
}
