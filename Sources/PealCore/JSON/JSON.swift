/// A JSON document as it was written: members keep their order and numbers their text, so what an author sends to a
/// provider passes through unchanged (`1.0` stays `1.0`, 20-digit integers stay whole).
package indirect enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    /// The number's own text, valid by RFC 8259 §6.
    case number(String)
    case string(String)
    case array([JSON])
    case object(Members)
}

extension JSON {
    /// The members of an object in written order. Of a repeated name the last value counts (RFC 8259 §4 leaves it
    /// open).
    package struct Members: Sendable, Hashable {
        package private(set) var names: [String] = []
        package private(set) var values: [JSON] = []
        /// Built once an object is large: small ones are faster to scan.
        private var index: [Name: Int]?
        private static let scannedCountMax = 12

        /// A name compared by its code points: Swift's strings also take canonically equivalent ones for the same.
        private struct Name: Hashable {
            let text: String

            static func == (left: Name, right: Name) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
            func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
        }

        package init() {}

        package init(_ pairs: [(String, JSON)]) {
            for (name, value) in pairs { self[name] = value }
        }

        package var count: Int { names.count }
        package var isEmpty: Bool { names.isEmpty }
        package var pairs: Zip2Sequence<[String], [JSON]> { zip(names, values) }

        /// Reads, replaces (in place), appends, or with nil removes the member `name`.
        package subscript(name: String) -> JSON? {
            get { position(of: name).map { values[$0] } }
            set {
                switch (position(of: name), newValue) {
                case (let position?, let value?): values[position] = value
                case (let position?, nil): remove(at: position)
                case (nil, let value?): append(name, value)
                case (nil, nil): break
                }
            }
        }

        private func position(of name: String) -> Int? {
            index.map { $0[Name(text: name)] } ?? names.firstIndex { Name(text: $0) == Name(text: name) }
        }

        private mutating func append(_ name: String, _ value: JSON) {
            names.append(name)
            values.append(value)
            if index != nil {
                index?[Name(text: name)] = names.count - 1
            } else if names.count > Self.scannedCountMax {
                rebuildIndex()
            }
        }

        private mutating func remove(at position: Int) {
            names.remove(at: position)
            values.remove(at: position)
            if index != nil { rebuildIndex() }
        }

        private mutating func rebuildIndex() {
            index = Dictionary(uniqueKeysWithValues: names.enumerated().map { (Name(text: $1), $0) })
        }

        package static func == (left: Members, right: Members) -> Bool {
            left.names == right.names && left.values == right.values
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(names)
            hasher.combine(values)
        }
    }
}

/// There is no literal for null: where a JSON is optional, `nil` would be taken for it without a word.
extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .number(String(value)) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) { self = .object(Members(elements)) }
}
