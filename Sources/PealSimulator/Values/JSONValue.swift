/// A parsed JSON text, with every member in its original order and every number as it was written.
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

    /// Reads a whole text (RFC 8259, UTF-8); nil if it is not JSON.
    init?(bytes: some Collection<UInt8>) {
        var parser = JSONTextReader(Array(bytes))
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

/// Reads JSON strictly, from bytes to values.
struct JSONTextReader {
    private static let depthMax = 64
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The value of the whole text; nil if it is invalid.
    mutating func document() -> JSONValue? {
        guard let value = value() else { return nil }
        skipSpace()
        return position == bytes.count ? value : nil
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func value() -> JSONValue? {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return nested { $0.object() }
        case UInt8(ascii: "["): return nested { $0.array() }
        case UInt8(ascii: "\""): return string().map(JSONValue.string)
        case UInt8(ascii: "t"): return word("true", .truth(true))
        case UInt8(ascii: "f"): return word("false", .truth(false))
        case UInt8(ascii: "n"): return word("null", .null)
        default: return number()
        }
    }

    private mutating func nested(_ body: (inout JSONTextReader) -> JSONValue?) -> JSONValue? {
        guard depth < Self.depthMax else { return nil }
        depth += 1
        position += 1
        defer { depth -= 1 }
        return body(&self)
    }

    private mutating func word(_ word: String, _ value: JSONValue) -> JSONValue? {
        guard bytes[position...].starts(with: word.utf8) else { return nil }
        position += word.utf8.count
        return value
    }

    private mutating func object() -> JSONValue? {
        var members: [JSONValue.Member] = []
        if take(UInt8(ascii: "}")) { return .object([]) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\""), let name = string(), take(UInt8(ascii: ":")), let value = value() else {
                return nil
            }
            members.append(.init(name: name, value: value))
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? .object(members) : nil
    }

    private mutating func array() -> JSONValue? {
        var values: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return .array([]) }
        repeat {
            guard let value = value() else { return nil }
            values.append(value)
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? .array(values) : nil
    }

    /// `-?`, digits without a needless zero, a fraction and an exponent.
    private mutating func number() -> JSONValue? {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        if next == UInt8(ascii: "0") {
            position += 1
        } else {
            guard skipDigits() else { return nil }
        }
        if next == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() else { return nil }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            guard skipDigits() else { return nil }
        }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    /// Whether there was a digit.
    private mutating func skipDigits() -> Bool {
        let start = position
        while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
        return position > start
    }

    private mutating func string() -> String? {
        position += 1
        var units: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: units, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                units.append(contentsOf: String(Character(scalar)).utf8)
            case 0..<0x20: return nil
            default: units.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        position += 1
        switch byte {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "u"): return unicode()
        default: return nil
        }
    }

    /// `XXXX` after `\u`, or a pair of surrogates.
    private mutating func unicode() -> Unicode.Scalar? {
        guard let high = unit() else { return nil }
        guard (0xD800..<0xDC00).contains(high) else { return Unicode.Scalar(high) }
        guard bytes[position...].starts(with: "\\u".utf8) else { return nil }
        position += 2
        guard let low = unit(), (0xDC00..<0xE000).contains(low) else { return nil }
        return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    }

    private mutating func unit() -> UInt32? {
        guard bytes.count - position >= 4, bytes[position..<(position + 4)].allSatisfy(Hexadecimal.isDigit) else {
            return nil
        }
        defer { position += 4 }
        return UInt32(String(decoding: bytes[position..<(position + 4)], as: UTF8.self), radix: 16)
    }
}

/// Writes JSON by hand, because the answers of the control interface mix values with payloads that are kept as bytes.
enum JSONText {
    /// `text` as a JSON string with its quotation marks.
    static func quoted(_ text: String) -> String {
        var result = "\""
        result.reserveCapacity(text.utf8.count + 2)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// An object of names and values that are already JSON.
    static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { quoted($0.0) + ":" + $0.1 }.joined(separator: ",") + "}"
    }

    /// An object of names and numbers, sorted by name.
    static func counts(_ counts: [String: Int]) -> String {
        object(counts.sorted { $0.key < $1.key }.map { ($0.key, String($0.value)) })
    }
}
