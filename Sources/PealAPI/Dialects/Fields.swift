internal import PealCore
internal import PealShapes

/// Reads the members of one object strictly: a value of another type is an error that names its path, `null` counts as
/// absent, and unknown members are ignored.
struct Fields {
    let members: JSON.Members
    /// The path of the object itself; empty for the body.
    let path: String

    init(_ json: JSON, path: String = "") throws(PealError) {
        guard let members = json.objectValue else {
            throw Self.wrongType(json, path.isEmpty ? "body" : path, "an object")
        }
        self.members = members
        self.path = path
    }

    func path(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// The member; nil if missing or null.
    subscript(name: String) -> JSON? {
        guard let value = members[name], !value.isNull else { return Optional.none }
        return value
    }

    /// Whether the member is present, null included: null in a change clears the value.
    func mentions(_ name: String) -> Bool { members[name] != nil }

    private static func wrongType(_ value: JSON, _ path: String, _ expected: String) -> PealError {
        .invalid(path, "\(path) must be \(expected), not \(value.typeName)")
    }

    /// - Throws: `not_supported` for each of `names` that is given.
    func refuse(_ names: String...) throws(PealError) {
        for name in names where self[name] != nil { throw .unsupported(path(name)) }
    }

    /// A string of 1 to `charactersMax` code points without control characters.
    func text(_ name: String, charactersMax: Int = Limits.nameCharactersMax) throws(PealError) -> String? {
        guard let value = self[name] else { return nil }
        return try Self.text(value, path(name), charactersMax: charactersMax)
    }

    func requiredText(
        _ name: String, charactersMax: Int = Limits.nameCharactersMax
    ) throws(PealError) -> String {
        guard let value = try text(name, charactersMax: charactersMax) else { throw .missing(path(name)) }
        return value
    }

    /// Counts code points, as JSON Schema does.
    static func text(
        _ value: JSON, _ path: String, charactersMax: Int = Limits.nameCharactersMax
    ) throws(PealError) -> String {
        guard let text = value.stringValue else { throw wrongType(value, path, "a string") }
        guard (1...charactersMax).contains(text.unicodeScalars.count) else {
            throw .invalid(path, "\(path) must be 1 to \(charactersMax) characters long")
        }
        guard text.isPrintable else { throw .invalid(path, "\(path) must not hold control characters") }
        return text
    }

    static func text(_ value: JSON, _ path: String, bytesMax: Int) throws(PealError) -> String {
        guard let text = value.stringValue else { throw wrongType(value, path, "a string") }
        guard (1...bytesMax).contains(text.utf8.count) else {
            throw .invalid(path, "\(path) must be 1 to \(bytesMax) bytes long")
        }
        guard text.isPrintable else { throw .invalid(path, "\(path) must not hold control characters") }
        return text
    }

    /// A string of any length and characters.
    func freeText(_ name: String) throws(PealError) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.stringValue else { throw Self.wrongType(value, path(name), "a string") }
        return text
    }

    func flag(_ name: String) throws(PealError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard let flag = value.boolValue else { throw Self.wrongType(value, path(name), "a boolean") }
        return flag
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(PealError) -> Int64? {
        guard let value = self[name] else { return nil }
        guard case .number = value else { throw Self.wrongType(value, path(name), "an integer") }
        guard let number = value.integerValue, range.contains(number) else {
            throw .invalid(
                path(name), "\(path(name)) must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// RFC 3339 with any offset.
    func time(_ name: String) throws(PealError) -> Timestamp? {
        guard let value = self[name] else { return nil }
        guard let text = value.stringValue else { throw Self.wrongType(value, path(name), "a string") }
        guard let time = Timestamp(rfc3339: text) else {
            throw .invalid(path(name), "\(path(name)) must be a time as 2026-11-21T02:30:00Z")
        }
        return time
    }

    /// A case of an enumeration, by its raw value.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _: Choice.Type = Choice.self
    ) throws(PealError) -> Choice? where Choice.RawValue == String {
        try choice(name, of: Choice.allCases.map(\.rawValue)).flatMap(Choice.init)
    }

    /// One of `words`.
    func choice(_ name: String, of words: [String]) throws(PealError) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.stringValue else { throw Self.wrongType(value, path(name), "a string") }
        guard words.contains(text) else {
            throw .invalid(path(name), "\(path(name)) must be one of \(words.joined(separator: ", "))")
        }
        return text
    }

    func environment(_ name: String = "environment") throws(PealError) -> Environment? {
        guard let value = self[name] else { return nil }
        guard let text = value.stringValue else { throw Self.wrongType(value, path(name), "a string") }
        guard let environment = Environment(alias: text) else {
            throw .invalid(path(name), "\(path(name)) must be production or sandbox")
        }
        return environment
    }

    func platform(_ name: String = "platform") throws(PealError) -> Platform? {
        guard let value = self[name] else { return nil }
        return try Self.platform(value, path(name))
    }

    static func platform(_ value: JSON, _ path: String) throws(PealError) -> Platform {
        guard let text = value.stringValue else { throw wrongType(value, path, "a string") }
        guard let platform = Platform(rawValue: text), Platform.addressable.contains(platform) else {
            let names = Platform.addressable.map(\.rawValue).joined(separator: ", ")
            throw .invalid(path, "\(path) must be one of \(names)")
        }
        return platform
    }

    func object(_ name: String) throws(PealError) -> Fields? {
        guard let value = self[name] else { return nil }
        return try Fields(value, path: path(name))
    }

    func requiredObject(_ name: String) throws(PealError) -> Fields {
        guard let fields = try object(name) else { throw .missing(path(name)) }
        return fields
    }

    /// The elements with their paths; nil if the list is missing.
    func list(_ name: String, countMax: Int) throws(PealError) -> [(value: JSON, path: String)]? {
        guard let value = self[name] else { return nil }
        guard let elements = value.arrayValue else { throw Self.wrongType(value, path(name), "an array") }
        guard elements.count <= countMax else {
            throw .invalid(path(name), "\(path(name)) may hold \(countMax) elements at most")
        }
        return elements.enumerated().map { ($1, "\(path(name))[\($0)]") }
    }

    /// The distinct strings of a list.
    func texts(_ name: String, countMax: Int) throws(PealError) -> [String]? {
        guard let list = try list(name, countMax: countMax) else { return nil }
        // Compares bytes, because Swift's `==` treats different spellings of a character as equal.
        var seen: Set<[UInt8]> = []
        var texts: [String] = []
        for (value, path) in list {
            let text = try Self.text(value, path)
            if seen.insert(Array(text.utf8)).inserted { texts.append(text) }
        }
        return texts
    }
}

extension String {
    /// Whether it contains no control character (C0, DEL).
    var isPrintable: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
