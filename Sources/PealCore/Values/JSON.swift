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
        /// Built once an object is large; small ones are faster to scan.
        private var index: [ExactText: Int]?
        private static let scannedCountMax = 12

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

        /// Sets the member.
        /// - Returns: whether it is new.
        package mutating func insert(_ name: String, _ value: JSON) -> Bool {
            guard let position = position(of: name) else {
                append(name, value)
                return true
            }
            values[position] = value
            return false
        }

        /// Removes all members with such a name at once: each removal alone rebuilds the index of a large object.
        /// - Returns: how many.
        package mutating func removeAll(where isRemoved: (String) -> Bool) -> Int {
            let kept = pairs.filter { !isRemoved($0.0) }
            let count = names.count - kept.count
            guard count > 0 else { return 0 }
            (names, values) = (kept.map(\.0), kept.map(\.1))
            if index != nil { rebuildIndex() }
            return count
        }

        private func position(of name: String) -> Int? {
            index.map { $0[ExactText(name)] } ?? names.firstIndex { ExactText($0) == ExactText(name) }
        }

        private mutating func append(_ name: String, _ value: JSON) {
            names.append(name)
            values.append(value)
            if index != nil {
                index?[ExactText(name)] = names.count - 1
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
            index = Dictionary(uniqueKeysWithValues: names.enumerated().map { (ExactText($1), $0) })
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

/// There is no literal for null: for an optional JSON, `nil` would silently mean JSON's null.
extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .number(String(value)) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) { self = .object(Members(elements)) }
}

extension JSON {
    package static func integer(_ value: some BinaryInteger) -> JSON { .number(String(value)) }

    /// An object of the members whose value is not nil.
    package static func compact(_ pairs: [(String, JSON?)]) -> JSON {
        .object(Members(pairs.compactMap { name, value in value.map { (name, $0) } }))
    }

    /// The member `name` of an object; nil for a missing one and for anything that is not an object.
    package subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    package var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    package var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var arrayValue: [JSON]? { if case .array(let value) = self { value } else { nil } }
    package var objectValue: Members? { if case .object(let value) = self { value } else { nil } }
    package var isNull: Bool { if case .null = self { true } else { false } }

    /// A whole number within Int64: `5`, `5.0` and `5e0` are, `5.5` and `1e30` are not.
    package var integerValue: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text) ?? Self.wholeNumber(text)
    }

    /// Reads a number with a fraction or an exponent without rounding: its digits with the point moved.
    private static func wholeNumber(_ text: String) -> Int64? {
        let parts = text.split(maxSplits: 1) { $0 == "e" || $0 == "E" }
        // Dialects also read texts as numbers, and a text may not be a number.
        guard let head = parts.first else { return nil }
        let isNegative = text.hasPrefix("-")
        let mantissa = head.drop { $0 == "-" }.split(separator: ".", maxSplits: 1)
        guard let integer = mantissa.first else { return nil }
        let fraction = mantissa.count == 2 ? mantissa[1] : ""
        var digits = integer + fraction
        guard digits.contains(where: { $0 != "0" }) else { return 0 }
        let exponent = parts.count == 2 ? Int(parts[1]) ?? (parts[1].hasPrefix("-") ? .min : .max) : 0
        // An exponent beyond these bounds cannot give a whole number within Int64 whatever the digits are.
        let shift = max(-text.utf8.count, min(text.utf8.count + 19, exponent)) - fraction.count
        let dropped = digits.suffix(max(0, -shift))
        guard dropped.allSatisfy({ $0 == "0" }), dropped.count == max(0, -shift) else { return nil }
        digits = digits.dropLast(dropped.count) + String(repeating: "0", count: max(0, shift))
        return Int64((isNegative ? "-" : "") + digits)
    }

    /// A whole number, also as text: decimal digits with an optional minus sign, fraction and exponent, between blanks,
    /// tabs and line ends. `+1` is not one, because some APIs use it for an increment.
    package var tolerantInteger: Int64? {
        guard case .string(let text) = self else { return integerValue }
        let trimmed = text.trimmedBlanks
        guard trimmed.isNumeral else { return nil }
        return JSON.number(trimmed).integerValue
    }

    /// A boolean, also as 1, 0 (as `tolerantInteger` reads them) or text in any letter case, between blanks.
    package var tolerantFlag: Bool? {
        switch self {
        case .bool(let flag): flag
        case .string(let text) where ["true", "false"].contains(text.trimmedBlanks.lowercased()):
            text.trimmedBlanks.lowercased() == "true"
        case .string, .number: tolerantInteger.flatMap { [0: false, 1: true][$0] }
        case .null, .array, .object: nil
        }
    }

    package var doubleValue: Double? {
        guard case .number(let text) = self, let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The name of this value's type in error messages.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Deep-merges `other` into this value: objects merge member by member, anything else is replaced.
    package func merging(_ other: JSON) -> JSON {
        guard case .object(var members) = self, case .object(let above) = other else { return other }
        for (name, value) in above.pairs {
            members[name] = members[name]?.merging(value) ?? value
        }
        return .object(members)
    }
}

extension JSON {
    /// The document as compact UTF-8, members in written order.
    package var bytes: [UInt8] {
        var out: [UInt8] = []
        // Room for most documents: growing from nothing allocates again five times.
        out.reserveCapacity(512)
        write(to: &out)
        return out
    }

    /// The document as compact text.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The same document with the members of all objects in the order of their names.
    package var sorted: JSON {
        switch self {
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let members):
            .object(JSON.Members(members.pairs.map { ($0.0, $0.1.sorted) }.sorted { $0.0 < $1.0 }))
        case .null, .bool, .number, .string: self
        }
    }

    package func write(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): out.append(contentsOf: text.utf8)
        case .string(let value): Self.write(value, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (position, element) in elements.enumerated() {
                if position > 0 { out.append(UInt8(ascii: ",")) }
                element.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (position, (name, value)) in members.pairs.enumerated() {
                if position > 0 { out.append(UInt8(ascii: ",")) }
                Self.write(name, to: &out)
                out.append(UInt8(ascii: ":"))
                value.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    /// Writes `text` as a JSON string: only the quote, the backslash and control characters are escaped (RFC 8259 §7).
    package static func write(_ text: String, to out: inout [UInt8]) {
        var text = text
        out.append(UInt8(ascii: "\""))
        text.withUTF8 { bytes in
            var start = 0
            for position in bytes.indices where isEscaped(bytes[position]) {
                out.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<position]))
                writeEscaped(bytes[position], to: &out)
                start = position + 1
            }
            out.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start...]))
        }
        out.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func writeEscaped(_ byte: UInt8, to out: inout [UInt8]) {
        switch byte {
        case 0x0A: out.append(contentsOf: "\\n".utf8)
        case 0x0D: out.append(contentsOf: "\\r".utf8)
        case 0x09: out.append(contentsOf: "\\t".utf8)
        case 0..<0x20:
            out.append(contentsOf: "\\u00".utf8)
            out.append(Hex.character(byte >> 4))
            out.append(Hex.character(byte & 15))
        default:
            out.append(UInt8(ascii: "\\"))
            out.append(byte)
        }
    }
}

extension String {
    /// The string without leading and trailing blanks, tabs and line ends.
    package var trimmedBlanks: String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
        guard utf8.first.map(isBlank) ?? false || utf8.last.map(isBlank) ?? false else { return self }
        let rest = utf8.drop(while: isBlank)
        return String(decoding: rest.dropLast(rest.reversed().prefix(while: isBlank).count), as: UTF8.self)
    }

    /// Whether it is a decimal number: an optional minus sign, digits, an optional fraction and exponent.
    package var isNumeral: Bool {
        var rest = utf8[...]
        func digits() -> Bool {
            let count = rest.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }.count
            rest = rest.dropFirst(count)
            return count > 0
        }
        func take(_ bytes: String) -> Bool {
            guard let first = rest.first, bytes.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = take("-")
        guard digits() else { return false }
        if take("."), !digits() { return false }
        if take("eE") {
            _ = take("+-")
            guard digits() else { return false }
        }
        return rest.isEmpty
    }
}
