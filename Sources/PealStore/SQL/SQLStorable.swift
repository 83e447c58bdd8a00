package import PealCore

/// A type that can be stored in a column. A NULL carries its type too, because PostgreSQL must know it before the
/// statement runs.
package protocol SQLStorable {
    static var kind: SQLValue.Kind { get }
    var stored: SQLValue { get }
    /// - Throws: `internal` when the column's value is not valid for this type.
    init(_ row: any SQLRow, _ column: Int) throws
}

extension Int64: SQLStorable {
    package static var kind: SQLValue.Kind { .int }
    package var stored: SQLValue { .int(self) }
    package init(_ row: any SQLRow, _ column: Int) { self = row.int(column) }
}

extension Int: SQLStorable {
    package static var kind: SQLValue.Kind { .int }
    package var stored: SQLValue { .int(Int64(self)) }
    package init(_ row: any SQLRow, _ column: Int) { self = Int(row.int(column)) }
}

/// 0 or 1.
extension Bool: SQLStorable {
    package static var kind: SQLValue.Kind { .int }
    package var stored: SQLValue { .int(self ? 1 : 0) }
    package init(_ row: any SQLRow, _ column: Int) { self = row.int(column) != 0 }
}

/// Milliseconds since 1970.
extension Timestamp: SQLStorable {
    package static var kind: SQLValue.Kind { .int }
    package var stored: SQLValue { .int(milliseconds) }
    package init(_ row: any SQLRow, _ column: Int) { self.init(milliseconds: row.int(column)) }
}

extension String: SQLStorable {
    package static var kind: SQLValue.Kind { .text }
    package var stored: SQLValue { .text(self) }
    package init(_ row: any SQLRow, _ column: Int) { self = row.text(column) }
}

extension Array: SQLStorable where Element == UInt8 {
    package static var kind: SQLValue.Kind { .bytes }
    package var stored: SQLValue { .bytes(self) }
    package init(_ row: any SQLRow, _ column: Int) { self = row.withBytes(column) { Array($0) } }
}

/// 16 bytes, big-endian.
extension Identifier: SQLStorable {
    package static var kind: SQLValue.Kind { .bytes }
    package var stored: SQLValue { .bytes(bytes) }

    package init(_ row: any SQLRow, _ column: Int) throws {
        guard let id = row.withBytes(column, { Self(bytes: $0) }) else { throw PealError.damaged("an id") }
        self = id
    }
}

extension Optional: SQLStorable where Wrapped: SQLStorable {
    package static var kind: SQLValue.Kind { Wrapped.kind }
    package var stored: SQLValue { self?.stored ?? .null(Wrapped.kind) }
    package init(_ row: any SQLRow, _ column: Int) throws { self = row.isNull(column) ? nil : try Wrapped(row, column) }
}

/// An enum is stored as its raw value.
extension SQLStorable where Self: RawRepresentable, RawValue: SQLStorable {
    package static var kind: SQLValue.Kind { RawValue.kind }
    package var stored: SQLValue { rawValue.stored }

    package init(_ row: any SQLRow, _ column: Int) throws {
        guard let value = Self(rawValue: try RawValue(row, column)) else {
            throw PealError.damaged("an unknown \(Self.self)")
        }
        self = value
    }
}

extension Route: SQLStorable {}
extension Platform: SQLStorable {}
extension Environment: SQLStorable {}
extension ProviderName: SQLStorable {}
extension DialectName: SQLStorable {}
extension Message.State: SQLStorable {}
extension Slice.State: SQLStorable {}
extension Slice.Lane: SQLStorable {}
extension RouteGate.State: SQLStorable {}
extension Moment.State: SQLStorable {}
extension Arm: SQLStorable {}
extension Exploration: SQLStorable {}
extension DeliveryWindow.Method: SQLStorable {}
extension Receipt.Kind: SQLStorable {}
extension Webhook.Kind: SQLStorable {}
extension WebhookDelivery.State: SQLStorable {}
extension Geofence.Trigger: SQLStorable {}
extension Geofence.Reach: SQLStorable {}

extension PealError {
    /// A stored value that this program cannot have written.
    static func damaged(_ what: String) -> PealError {
        PealError(.internal, "the database contains \(what) that cannot be read")
    }
}
