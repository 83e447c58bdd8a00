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
        return Int64(text) ?? Double(text).flatMap(Int64.init(exactly:))
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
