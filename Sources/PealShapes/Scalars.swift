package import PealCore

extension Shape where Value == String {
    /// A string of 1 to `characters` code points, as JSON Schema counts, or of 1 to `bytes` bytes, without control
    /// characters.
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
            guard text.isPrintable else {
                throw reading.refusal("must not contain control characters")
            }
            return text
        } describe: { describing in
            // A string of n bytes has at most n characters.
            schema(describing, 1...(bytes ?? characters), #"[^\u0000-\u001f\u007f]+"#)
        }
    }

    /// A string of any length for people to read. Its only control characters are tabs and line ends.
    package static let content = Shape { json, reading throws(PealError) in
        let text = try plain(json, reading)
        try reading.checkContent(of: text)
        return text
    } describe: { describing in
        schema(describing, nil, #"[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*"#)
    }

    /// A string of any length and characters.
    package static let anyText = Shape { json, reading throws(PealError) in
        try plain(json, reading)
    } describe: { describing in
        Schema([("type", type(describing))])
    }

    /// The same string, if `isValid` returns true.
    /// - Parameters:
    ///   - pattern: the condition as a regular expression (ECMA-262) for the whole string.
    ///   - message: the text after the path in the error: `must be …`.
    package func matching(
        _ pattern: String, _ message: String, _ isValid: @escaping @Sendable (String) -> Bool
    ) -> Shape {
        checked { text, reading throws(PealError) in
            guard isValid(text) else { throw reading.refusal(message) }
            return text
        }.stating(("pattern", .string("^(?:\(pattern))$")))
    }

    /// An http or https URL with a host and without blanks.
    package var httpURL: Shape {
        matching(
            #"[Hh][Tt][Tt][Pp][Ss]?://[^/?#:\u0000-\u0020\u007f][^\u0000-\u0020\u007f]*"#,
            "must be an http or https URL"
        ) { url in
            let parts = url.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
            let host = parts.count == 2 ? parts[1].prefix { !"/?#:".contains($0) } : ""
            return ["https", "http"].contains(parts[0].lowercased()) && !host.isEmpty && !url.contains(" ")
        }
    }

    /// A string. Tolerant readers also accept the text of a number or a boolean.
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
        guard let flag = json.tolerantFlag else { throw reading.refusal("must be a boolean") }
        return flag
    } describe: { describing in
        guard describing.policy.isTolerant else { return .flag }
        return Schema([
            ("type", ["boolean", "integer", "string"]), ("minimum", 0), ("maximum", 1),
            ("pattern", "^[ \\t\\r\\n]*(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|0|1)[ \\t\\r\\n]*$"),
        ])
    }
}

extension Shape where Value == Int64 {
    /// - Parameter text: the text after the path in the error for a number out of range.
    package static func integer(_ range: ClosedRange<Int64>, refusing text: String? = nil) -> Shape {
        Shape { json, reading throws(PealError) in
            let isTolerant = reading.policy.isTolerant
            if !isTolerant, !json.isNumber { throw reading.wrongType(json, "an integer") }
            let given = isTolerant ? json.tolerantInteger : json.integerValue
            if isTolerant, given == nil { throw reading.refusal("must be an integer") }
            guard let number = given, range.contains(number) else {
                throw reading.refusal(text ?? "must be an integer from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        } describe: { describing in
            let schema = Schema.integer(range)
            guard describing.policy.isTolerant else { return schema }
            let digits = range.lowerBound < 0 ? "-?(?:0|[1-9][0-9]{0,17})" : "0*(?:\(digits(to: range.upperBound)))"
            return schema.with("type", ["integer", "string"]).with(
                "pattern", .string("^[ \\t\\r\\n]*(?:\(digits))[ \\t\\r\\n]*$"))
        }
    }

    /// The numbers from 0 to `last` as a regular expression (ECMA-262), so that patterns derive from the limits too.
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

    /// A number above 0.
    package static func decimal(above0UpTo max: Int64) -> Shape {
        Shape { json, reading throws(PealError) in
            let text = reading.policy.isTolerant ? json.stringValue?.trimmedBlanks : nil
            guard text?.isNumeral ?? true, let number = (text.map(JSON.number) ?? json).doubleValue else {
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
    /// RFC 3339 with any offset. Tolerant readers accept other forms of ISO 8601 too.
    package static let time = Shape { json, reading throws(PealError) in
        let text = json.stringValue
        let isTolerant = reading.policy.isTolerant
        if text == nil, !isTolerant { throw reading.wrongType(json, "a string") }
        guard let time = text.flatMap(isTolerant ? Timestamp.init(iso8601:) : Timestamp.init(rfc3339:)) else {
            throw reading.refusal("must be a time such as 2026-11-21T02:30:00Z")
        }
        return time
    } describe: { _ in
        .time
    }
}

extension Shape {
    /// One of the words in a table; aliases are further rows. Tolerant readers ignore letter case.
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
            return .caseless(list)
        }
    }

    /// A case of an enumeration, by its raw value.
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
    /// Whether it contains no control character (C0, DEL).
    package var isPrintable: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}

extension Timestamp {
    /// Reads RFC 3339 and these forms of ISO 8601: without seconds, without a zone (UTC), with a zone such as `+0100`
    /// or `+01`, in the basic form without dashes and colons, and with a decimal comma.
    fileprivate init?(iso8601 text: String) {
        let parts = text.filter { !$0.isNewline }.split(maxSplits: 1) { $0 == "T" || $0 == "t" || $0 == " " }
        guard parts.count == 2 else { return nil }
        let given = parts[1].prefix { $0.isNumber || ":.,".contains($0) }
        let day = String(parts[0]).punctuated(with: "-", at: [4, 6])
        let clock = String(given.replacing(",", with: ".")).punctuated(with: ":", at: [2, 4])
        var zone = String(parts[1].dropFirst(given.count))
        if zone.isEmpty { zone = "Z" }
        if zone.count == 5 { zone.insert(":", at: zone.index(zone.startIndex, offsetBy: 3)) }
        if zone.count == 3 { zone += ":00" }
        let seconds = clock.count(where: { $0 == ":" }) == 1 ? ":00" : ""
        self.init(rfc3339: "\(day)T\(clock)\(seconds)\(zone)")
    }
}

extension String {
    /// The extended form of a date or time of day: `20261121` with dashes, `0230` or `023000` with colons.
    fileprivate func punctuated(with mark: Character, at positions: [Int]) -> String {
        let digits = prefix { $0.isNumber }.count
        guard !contains(mark), digits > positions[0] else { return self }
        var text = self
        for position in positions.reversed() where position < digits {
            text.insert(mark, at: text.index(text.startIndex, offsetBy: position))
        }
        return text
    }
}
