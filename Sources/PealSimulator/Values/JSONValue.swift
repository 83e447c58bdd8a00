/// A JSON text taken apart, with every member in its order and every number as it was written.
enum JSONValue: Sendable, Equatable {
    /// A name and its value in an object.
    struct Member: Sendable, Equatable {
        let name: String
        let value: JSONValue
    }

    case null
    case truth(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// Reads a whole text (RFC 8259, UTF-8); nil when it is no JSON.
    init?(bytes: some Collection<UInt8>) {
        var parser = JSONParser(Array(bytes))
        guard let value = parser.document() else { return nil }
        self = value
    }

    /// The last member `name` of an object.
    subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The members of an object.
    var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The text of a string.
    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// A number that is whole and fits.
    var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }
    }

    /// The value as JSON text.
    var text: String {
        switch self {
        case .null: "null"
        case .truth(let truth): truth ? "true" : "false"
        case .number(let text): text
        case .string(let text): JSONText.quoted(text)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members): JSONText.object(members.map { ($0.name, $0.value.text) })
        }
    }

    /// Whether a string in it, or a name, contains `piece`.
    func containsText(_ piece: String) -> Bool {
        switch self {
        case .string(let text): text.contains(piece)
        case .array(let values): values.contains { $0.containsText(piece) }
        case .object(let members): members.contains { $0.name.contains(piece) || $0.value.containsText(piece) }
        case .null, .truth, .number: false
        }
    }
}
