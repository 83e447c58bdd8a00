internal import Foundation
internal import PealWire

/// A fact about a device, by which a backend chooses an audience. Write it as a literal: `["plan": "pro", "age": 30]`.
public enum AttributeValue: Sendable, Hashable {
    case text(String)
    case integer(Int64)
    case number(Double)
    case flag(Bool)

    fileprivate var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .integer(let number): .integer(number)
        case .number(let number): .number(number)
        case .flag(let flag): .bool(flag)
        }
    }
}

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral
{
    /// A text.
    public init(stringLiteral text: String) { self = .text(text) }
    /// A number.
    public init(integerLiteral number: Int64) { self = .integer(number) }
    /// A number.
    public init(floatLiteral number: Double) { self = .number(number) }
    /// True or false.
    public init(booleanLiteral flag: Bool) { self = .flag(flag) }
}

/// The attributes of a device, checked as the server checks them: if it refused them, it would refuse the registration
/// with everything else in it.
struct Attributes {
    /// The device API, `attributes`.
    static let bytesMax = 4096

    let members: [String: JSONValue]

    /// - Throws: `PealError.refused`, worded like the server's refusal.
    init(_ given: [String: AttributeValue]) throws(PealError) {
        members = given.mapValues(\.json)
        for (name, value) in given {
            guard Self.isContent(name), Self.isContent(value) else {
                throw Self.refusal("must not contain control characters")
            }
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        guard let bytes = try? encoder.encode(members) else { throw Self.refusal("must not contain infinite numbers") }
        guard bytes.count <= Self.bytesMax else { throw Self.refusal("must be at most \(Self.bytesMax) bytes long") }
    }

    private static func isContent(_ value: AttributeValue) -> Bool {
        if case .text(let text) = value { isContent(text) } else { true }
    }

    /// Tabs and line feeds are content.
    private static func isContent(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A }
    }

    private static func refusal(_ text: String) -> PealError {
        .refused(code: "invalid_field", message: "attributes \(text)", field: "attributes")
    }
}
