package import PealCore

/// A parameter of a statement. NULL carries its type too: one engine needs to know it before the statement runs.
package enum SQLValue: Sendable, Hashable {
    case int(Int64)
    case text(String)
    case bytes([UInt8])
    case null(Kind)

    package enum Kind: Sendable, Hashable {
        case int, text, bytes
    }
}

extension SQLValue {
    package static func int(_ value: Int) -> SQLValue { .int(Int64(value)) }
    package static func int(_ value: Int64?) -> SQLValue { value.map { .int($0) } ?? .null(.int) }
    package static func text(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null(.text) }
    package static func bytes(_ value: [UInt8]?) -> SQLValue { value.map { .bytes($0) } ?? .null(.bytes) }
    package static func flag(_ value: Bool) -> SQLValue { .int(value ? 1 : 0) }
    /// 16 bytes, big-endian.
    package static func id<Of>(_ value: Identifier<Of>) -> SQLValue { .bytes(value.bytes) }
    /// Milliseconds since 1970.
    package static func time(_ value: Timestamp) -> SQLValue { .int(value.milliseconds) }
    package static func time(_ value: Timestamp?) -> SQLValue { .int(value?.milliseconds) }
    package static func route(_ value: Route) -> SQLValue { .int(value.rawValue) }
}
