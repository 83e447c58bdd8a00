internal import PealCore

extension JSON {
    /// A string member where the option is given.
    static func text(_ value: String?) -> JSON? { value.map { .string($0) } }

    /// An array member where the option is given at least once.
    static func texts(_ values: [String]) -> JSON? {
        values.isEmpty ? nil : .array(values.map { .string($0) })
    }

    /// A number member where the option is given.
    static func whole(_ value: Int64?) -> JSON? { value.map { .integer($0) } }

    /// `true` where the flag is set.
    static func flag(_ value: Bool) -> JSON? { value ? .bool(true) : nil }

    /// An object member, left out when it would be empty.
    static func filled(_ members: [(String, JSON?)]) -> JSON? {
        let object = JSON.compact(members)
        return object == .empty ? Optional.none : object
    }

    /// `{}`.
    static let empty = JSON.object(Members())
}
