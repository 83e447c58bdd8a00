/// A JSON value whose form only the app knows, such as the custom data of a message.
public enum JSONValue: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The members of an object; nil for anything else.
    public var members: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
    /// The text of a string; nil for anything else.
    public var text: String? { if case .string(let text) = self { text } else { nil } }

    /// A value of `userInfo` or of `JSONSerialization`: texts, numbers, lists and dictionaries with text keys.
    /// - Returns: nil for a value that JSON cannot express.
    public init?(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        // On Apple's systems a number from a push may answer to every one of these types: exact matches come first.
        case let flag as Bool where "\(type(of: value))".contains("Bool"): self = .bool(flag)
        case let number as Int: self = .integer(Int64(number))
        case let number as Int64: self = .integer(number)
        case let number as Double: self = .number(number)
        case let flag as Bool: self = .bool(flag)
        case let list as [Any]: self = .array(list.compactMap(JSONValue.init))
        case let members as [AnyHashable: Any]:
            var object: [String: JSONValue] = [:]
            for (key, member) in members {
                guard let key = key as? String, let member = JSONValue(member) else { continue }
                object[key] = member
            }
            self = .object(object)
        default: return nil
        }
    }

    /// The value for `userInfo`: property list values. Null is left out of lists and objects.
    public var propertyList: Any? {
        switch self {
        case .null: nil
        case .bool(let flag): flag
        case .integer(let number): number
        case .number(let number): number
        case .string(let text): text
        case .array(let items): items.compactMap(\.propertyList)
        case .object(let members): members.compactMapValues(\.propertyList)
        }
    }

    /// Reads any JSON value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .bool(flag)
        } else if let number = try? container.decode(Int64.self) {
            self = .integer(number)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let items = try? container.decode([JSONValue].self) {
            self = .array(items)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let flag): try container.encode(flag)
        case .integer(let number): try container.encode(number)
        case .number(let number): try container.encode(number)
        case .string(let text): try container.encode(text)
        case .array(let items): try container.encode(items)
        case .object(let members): try container.encode(members)
        }
    }
}
