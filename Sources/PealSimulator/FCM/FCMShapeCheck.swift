/// Reads a request along the schema, as Google's reading of JSON does: unknown names, wrong types and fields that come
/// twice are violations. What it gives back has all names in `camelCase`.
struct FCMShapeCheck {
    private(set) var violations: [FieldViolation] = []

    /// Checks `value` as the message `type` at `path` (empty at the root).
    mutating func object(_ value: JSONValue, _ type: String, at path: String) -> JSONValue {
        guard let members = value.members else {
            wrong(value, .message(type), at: path)
            return .null
        }
        let fields = FCMSchema.messages[type] ?? [:]
        var kept: [JSONValue.Member] = []
        for member in members {
            let name = FCMSchema.camelCase(member.name)
            guard let type = fields[name] else {
                let text = "Invalid JSON payload received. Unknown name \"\(member.name)\""
                note(path, path.isEmpty ? "\(text): Cannot find field." : "\(text) at '\(path)': Cannot find field.")
                continue
            }
            let place = path.isEmpty ? member.name : "\(path).\(member.name)"
            guard !kept.contains(where: { $0.name == name }) else {
                note(place, "Invalid value at '\(path)', field '\(member.name)' is already set.")
                continue
            }
            // null is the same as absence.
            if member.value != .null {
                kept.append(.init(name: name, value: field(member.value, type, at: place)))
            }
        }
        return .object(kept)
    }

    private mutating func field(_ value: JSONValue, _ type: FCMType, at path: String) -> JSONValue {
        switch type {
        case .message(let name): return object(value, name, at: path)
        case .list(let element):
            guard case .array(let values) = value else {
                wrong(value, element, at: path)
                return .array([])
            }
            return .array(values.enumerated().map { field($1, element, at: "\(path)[\($0)]") })
        case .strings:
            guard let members = value.members else {
                wrong(value, .anything, at: path)
                return .object([])
            }
            for (index, member) in members.enumerated() where member.value.string == nil {
                wrong(member.value, .string, at: "\(path)[\(index)].value")
            }
        default:
            if !Self.fits(value, type) { wrong(value, type, at: path) }
        }
        return value
    }

    private static func fits(_ value: JSONValue, _ type: FCMType) -> Bool {
        switch (type, value) {
        case (.string, .string), (.truth, .truth), (.double, .number), (.anything, .object): true
        case (.int32, .number): value.integer.map { Int32(exactly: $0) != nil } ?? false
        case (.int32, .string(let text)): Int32(text) != nil
        case (.double, .string(let text)): Double(text) != nil
        case (.duration, .string(let text)): FCMDuration.seconds(text) != nil
        case (.timestamp, .string(let text)): isTimestamp(text)
        // Google's servers take the names of choices in either case.
        case (.choice(let names), .string(let text)): names.contains(text.uppercased())
        case (.choice(let names), .number): value.integer.map { names.indices.contains(Int($0)) } ?? false
        default: false
        }
    }

    /// RFC 3339 with `Z` or an offset.
    private static func isTimestamp(_ text: String) -> Bool {
        text.wholeMatch(of: #/\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)/#) != nil
    }

    private mutating func wrong(_ value: JSONValue, _ type: FCMType, at path: String) {
        note(path, "Invalid value at '\(path)' (\(type.name)), \(value.text)")
    }

    private mutating func note(_ path: String, _ description: String) {
        violations.append(FieldViolation(field: path, description: description))
    }
}
