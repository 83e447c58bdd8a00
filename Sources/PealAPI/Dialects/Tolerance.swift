internal import PealCore

/// Reads members as the four adopted dialects do. Numbers may also be strings; booleans may also be 0, 1 and strings;
/// null and "" count as absent; unknown members are ignored. A value of any other type is an error that names its path.
struct Tolerance {
    let members: JSON.Members
    let path: String

    init(_ json: JSON, path: String = "") throws(PealError) {
        guard let members = json.objectValue else {
            throw .invalid(
                path.isEmpty ? "body" : path,
                "\(path.isEmpty ? "the body" : path) must be an object, not \(json.typeName)")
        }
        self.members = members
        self.path = path
    }

    func path(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// The member under one of `names`; null and "" count as absent.
    subscript(names: String...) -> (value: JSON, path: String)? {
        for name in names {
            if let value = members[name], !value.isNull, value != .string("") { return (value, path(name)) }
        }
        return nil
    }

    /// Whether the member is the empty string, which clears the value in some requests.
    func isCleared(_ name: String) -> Bool { members[name] == .string("") }

    /// A string; a number or a boolean is read as its JSON text.
    func text(_ name: String, bytesMax: Int) throws(PealError) -> String? {
        guard let (value, path) = self[name] else { return nil }
        return try Self.text(value, path, bytesMax: bytesMax)
    }

    /// A name of at most 255 code points; a number or a boolean is read as its JSON text.
    func text(_ name: String) throws(PealError) -> String? {
        guard let (value, path) = self[name] else { return nil }
        let charactersMax = Limits.nameCharactersMax
        let text = try Self.text(value, path, bytesMax: 4 * charactersMax)
        guard text.unicodeScalars.count <= charactersMax else {
            throw .invalid(path, "\(path) may be \(charactersMax) characters long at most")
        }
        return text
    }

    static func text(_ value: JSON, _ path: String, bytesMax: Int) throws(PealError) -> String {
        guard let text = plainText(value) else {
            throw .invalid(path, "\(path) must be a string, not \(value.typeName)")
        }
        guard text.utf8.count <= bytesMax else {
            throw .invalid(path, "\(path) may be \(bytesMax) bytes long at most")
        }
        guard text.isPrintable else { throw .invalid(path, "\(path) must not hold control characters") }
        return text
    }

    /// A string of any length for people to read. Its only control characters are tabs and line breaks.
    func freeText(_ name: String) throws(PealError) -> String? {
        guard let (value, path) = self[name] else { return nil }
        guard let text = Self.plainText(value) else {
            throw .invalid(path, "\(path) must be a string, not \(value.typeName)")
        }
        try ControlCharacters.refuse(in: text, path, except: ControlCharacters.inContent)
        return text
    }

    /// The object under `name`, or an empty one.
    func part(_ name: String) throws(PealError) -> Tolerance {
        if let given = try object(name) { return given }
        return try Tolerance(.object(.init()), path: path(name))
    }

    /// The objects of a list; a single object counts as a list of one.
    func objects(_ name: String) throws(PealError) -> [Tolerance] {
        guard let (value, path) = self[name] else { return [] }
        if value.objectValue != nil { return [try Tolerance(value, path: path)] }
        guard let elements = value.arrayValue else {
            throw .invalid(path, "\(path) must be an array, not \(value.typeName)")
        }
        var objects: [Tolerance] = []
        for (index, element) in elements.enumerated() where !element.isNull {
            objects.append(try Tolerance(element, path: "\(path)[\(index)]"))
        }
        return objects
    }

    /// The text of a scalar; nil for anything else.
    static func plainText(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text
        case .number(let text): text
        case .bool(let flag): flag ? "true" : "false"
        default: nil
        }
    }

    func integer(_ name: String) throws(PealError) -> Int64? {
        guard let (value, path) = self[name] else { return nil }
        return try Self.integer(value, path)
    }

    static func integer(_ value: JSON, _ path: String) throws(PealError) -> Int64 {
        if let number = value.integerValue { return number }
        if let text = value.stringValue, let number = JSON.number(text).integerValue { return number }
        throw .invalid(path, "\(path) must be an integer")
    }

    /// The number on an app's icon.
    func badge(_ name: String) throws(PealError) -> Int64? {
        guard let number = try integer(name) else { return nil }
        guard (0...Int64(Int32.max)).contains(number) else {
            throw .invalid(path(name), "\(path(name)) must be an integer from 0 to \(Int32.max)")
        }
        return number
    }

    func flag(_ names: String...) throws(PealError) -> Bool? {
        for name in names {
            if let (value, path) = self[name] { return try Self.flag(value, path) }
        }
        return nil
    }

    static func flag(_ value: JSON, _ path: String) throws(PealError) -> Bool {
        switch plainText(value)?.lowercased() {
        case "true", "1": return true
        case "false", "0": return false
        default: throw .invalid(path, "\(path) must be a boolean")
        }
    }

    func object(_ name: String) throws(PealError) -> Tolerance? {
        guard let (value, path) = self[name] else { return nil }
        return try Tolerance(value, path: path)
    }

    /// The elements of a list with their paths, without null; nil if the list is missing.
    func elements(_ name: String, countMax: Int) throws(PealError) -> [(value: JSON, path: String)]? {
        guard let (value, path) = self[name] else { return nil }
        guard let elements = value.arrayValue else {
            throw .invalid(path, "\(path) must be an array, not \(value.typeName)")
        }
        guard elements.count <= countMax else {
            throw .invalid(path, "\(path) may hold \(countMax) elements at most")
        }
        return elements.enumerated().map { ($1, "\(path)[\($0)]") }.filter { !$0.0.isNull }
    }

    /// The distinct strings of a list, without empty ones; an empty list counts as absent.
    func texts(_ names: String..., countMax: Int, bytesMax: Int) throws(PealError) -> [String] {
        var texts: [String] = []
        for name in names {
            for (value, path) in try elements(name, countMax: countMax) ?? [] {
                texts.append(try Self.text(value, path, bytesMax: bytesMax))
            }
        }
        return Self.distinct(texts)
    }

    /// The distinct names of a list. Accepts names that nothing can have, because they are too long or contain control
    /// characters.
    func names(_ names: String..., countMax: Int) throws(PealError) -> [String] {
        var texts: [String] = []
        for name in names {
            for (value, path) in try elements(name, countMax: countMax) ?? [] {
                guard let text = Self.plainText(value) else {
                    throw .invalid(path, "\(path) must be a string, not \(value.typeName)")
                }
                texts.append(text)
            }
        }
        return Self.distinct(texts)
    }

    private static func distinct(_ texts: [String]) -> [String] {
        // Compares bytes, because Swift's `==` treats different spellings of a character as equal.
        var seen: Set<[UInt8]> = []
        return texts.filter { !$0.isEmpty && seen.insert(Array($0.utf8)).inserted }
    }

    /// An instant in milliseconds since 1970, up to the end of the year 9999.
    func milliseconds(_ name: String) throws(PealError) -> Timestamp? {
        guard let number = try integer(name), number != 0 else { return nil }
        guard (0...Self.latestMilliseconds).contains(number) else {
            throw .invalid(path(name), "\(path(name)) must be milliseconds since 1970")
        }
        return Timestamp(milliseconds: number)
    }

    /// 9999-12-31T23:59:59.999Z.
    private static let latestMilliseconds: Int64 = 253_402_300_799_999
}
