extension JSON {
    package static func integer(_ value: some BinaryInteger) -> JSON { .number(String(value)) }

    /// An object without the members whose value is nil.
    package static func compact(_ pairs: [(String, JSON?)]) -> JSON {
        .object(Members(pairs.compactMap { name, value in value.map { (name, $0) } }))
    }

    /// The member `name` of an object; nil for a missing one and for anything that is not an object.
    package subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    package var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    package var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var arrayValue: [JSON]? { if case .array(let value) = self { value } else { nil } }
    package var objectValue: Members? { if case .object(let value) = self { value } else { nil } }
    package var isNull: Bool { if case .null = self { true } else { false } }

    /// A whole number within Int64: `5`, `5.0` and `5e0` are, `5.5` and `1e30` are not.
    package var integerValue: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text) ?? Self.wholeNumber(text)
    }

    /// Reads a number with a fraction or an exponent without rounding: its digits with the point moved.
    private static func wholeNumber(_ text: String) -> Int64? {
        let parts = text.split(maxSplits: 1) { $0 == "e" || $0 == "E" }
        // Dialects read texts as numbers too, and a text may be no number at all.
        guard let head = parts.first else { return nil }
        let isNegative = text.hasPrefix("-")
        let mantissa = head.drop { $0 == "-" }.split(separator: ".", maxSplits: 1)
        guard let integer = mantissa.first else { return nil }
        let fraction = mantissa.count == 2 ? mantissa[1] : ""
        var digits = integer + fraction
        guard digits.contains(where: { $0 != "0" }) else { return 0 }
        let exponent = parts.count == 2 ? Int(parts[1]) ?? (parts[1].hasPrefix("-") ? .min : .max) : 0
        // An exponent beyond these bounds cannot give a whole number within Int64 whatever the digits are.
        let shift = max(-text.utf8.count, min(text.utf8.count + 19, exponent)) - fraction.count
        let dropped = digits.suffix(max(0, -shift))
        guard dropped.allSatisfy({ $0 == "0" }), dropped.count == max(0, -shift) else { return nil }
        digits = digits.dropLast(dropped.count) + String(repeating: "0", count: max(0, shift))
        return Int64((isNegative ? "-" : "") + digits)
    }

    package var doubleValue: Double? {
        guard case .number(let text) = self, let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The word for this value's type in messages to people.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Lays `other` over this value: objects merge member by member, anything else is replaced.
    package func merging(_ other: JSON) -> JSON {
        guard case .object(var members) = self, case .object(let above) = other else { return other }
        for (name, value) in above.pairs {
            members[name] = members[name]?.merging(value) ?? value
        }
        return .object(members)
    }
}
