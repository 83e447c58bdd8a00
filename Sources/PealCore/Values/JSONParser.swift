/// Reads one JSON document (RFC 8259, UTF-8, surrounded by white space only). Its input is untrusted: depth is limited,
/// and every error names the position.
package struct JSONParser {
    /// Why a text is not JSON, and where: line and column count from 1, the column in bytes.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        package let reason: String
        package let line: Int
        package let column: Int
        /// Whether the text may be JSON but holds more values than allowed.
        package var hasTooManyValues = false
        /// The path of a member that is given twice, if that is the reason; the text may be JSON otherwise.
        package var repeated: String?
        package var description: String { "\(reason) at line \(line), column \(column)" }
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private let depthMax: Int
    private let valuesMax: Int
    private var valuesRead = 0
    private let isLenient: Bool
    private let refusesRepeated: Bool
    private let isStored: Bool

    private init(
        _ bytes: UnsafeBufferPointer<UInt8>, depthMax: Int, valuesMax: Int, isLenient: Bool, refusesRepeated: Bool,
        isStored: Bool
    ) {
        self.bytes = bytes
        self.depthMax = depthMax
        self.valuesMax = valuesMax
        self.isLenient = isLenient
        self.refusesRepeated = refusesRepeated
        self.isStored = isStored
    }

    /// Parses `bytes`; arrays and objects may nest `depthMax` deep.
    /// - Parameters:
    ///   - valuesMax: how many values the document may hold, because each takes far more memory than its text.
    ///     Unlimited by default, for what the server wrote itself.
    ///   - isLenient: Accepts three things that are not valid JSON: one comma after the last member or element, a
    ///     missing comma between two members or elements, and `//` and `/* */` comments.
    ///   - refusesRepeated: Refuses an object that has a member twice. Otherwise the last one counts.
    ///   - isStored: Accepts any number of combining marks in a row, because an earlier version may have accepted them.
    package static func parse(
        _ bytes: some Collection<UInt8>, depthMax: Int = Limits.jsonDepthMax, valuesMax: Int = .max,
        isLenient: Bool = false, refusesRepeated: Bool = false, isStored: Bool = false
    ) throws(Failure) -> JSON {
        let contiguous = ContiguousArray(bytes)
        let result: Result<JSON, Failure> = contiguous.withUnsafeBufferPointer { buffer in
            var parser = JSONParser(
                buffer, depthMax: depthMax, valuesMax: valuesMax, isLenient: isLenient,
                refusesRepeated: refusesRepeated, isStored: isStored)
            do throws(Failure) {
                return .success(try parser.document())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    package static func parse(_ text: String, depthMax: Int = Limits.jsonDepthMax) throws(Failure) -> JSON {
        try parse(Array(text.utf8), depthMax: depthMax)
    }

    private mutating func document() throws(Failure) -> JSON {
        // A byte order mark is not part of JSON, but RFC 8259 §8.1 allows a reader to ignore it.
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { position = 3 }
        let value = try value(depth: 0)
        try skipSpace()
        guard position == bytes.count else { throw failure("unexpected text after the document") }
        return value
    }

    private mutating func value(depth: Int) throws(Failure) -> JSON {
        try skipSpace()
        guard position < bytes.count else { throw failure("unexpected end of the document") }
        valuesRead += 1
        guard valuesRead <= valuesMax else {
            var failure = failure("more than \(valuesMax) values")
            failure.hasTooManyValues = true
            throw failure
        }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw failure("unexpected character")
        }
    }

    /// The value of a member or element, whose name begins the path of a member that is given twice inside it.
    private mutating func value(depth: Int, in name: @autoclosure () -> String) throws(Failure) -> JSON {
        do throws(Failure) {
            return try value(depth: depth)
        } catch {
            var failure = error
            failure.repeated = error.repeated.map { $0.hasPrefix("[") ? name() + $0 : "\(name()).\($0)" }
            throw failure
        }
    }

    private mutating func object(depth: Int) throws(Failure) -> JSON {
        guard depth < depthMax else { throw failure("nested deeper than \(depthMax) levels") }
        position += 1
        var members = JSON.Members()
        if try skip(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            try skipSpace()
            if endsHere(UInt8(ascii: "}"), isFirst: members.isEmpty) { break }
            guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw failure("expected a member name in quotes")
            }
            let name = try string()
            guard try skip(UInt8(ascii: ":")) else { throw failure("expected ':' after a member name") }
            guard try members.insert(name, value(depth: depth + 1, in: name)) || !refusesRepeated else {
                var failure = failure("a member is given twice")
                failure.repeated = name
                throw failure
            }
        } while try continues(in: .object)
        guard try skip(UInt8(ascii: "}")) else { throw failure("expected ',' or '}'") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(Failure) -> JSON {
        guard depth < depthMax else { throw failure("nested deeper than \(depthMax) levels") }
        position += 1
        var elements: [JSON] = []
        if try skip(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            try skipSpace()
            if endsHere(UInt8(ascii: "]"), isFirst: elements.isEmpty) { break }
            elements.append(try value(depth: depth + 1, in: "[\(elements.count)]"))
        } while try continues(in: .array)
        guard try skip(UInt8(ascii: "]")) else { throw failure("expected ',' or ']'") }
        return .array(elements)
    }

    /// Whether a permitted trailing comma came before.
    private func endsHere(_ end: UInt8, isFirst: Bool) -> Bool { isLenient && !isFirst && peek(end) }

    private enum Container { case object, array }

    /// Whether another member or element follows: after a comma, or for lenient readers where one begins.
    private mutating func continues(in container: Container) throws(Failure) -> Bool {
        let end = position
        if try skip(UInt8(ascii: ",")) { return true }
        guard isLenient, position < bytes.count else { return false }
        switch bytes[position] {
        case UInt8(ascii: "\""): return true
        case UInt8(ascii: "{"), UInt8(ascii: "["): return container == .array
        // Without white space before it, this would continue a number or a word.
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "t"), UInt8(ascii: "f"),
            UInt8(ascii: "n"):
            return container == .array && position > end
        default: return false
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws(Failure) -> JSON {
        let expected = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes.count - position >= expected.count,
            bytes[position..<position + expected.count].elementsEqual(expected)
        else { throw failure("unexpected character") }
        position += expected.count
        return value
    }

    private mutating func number() throws(Failure) -> JSON {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let integerStart = position
        guard digits() else { throw failure("expected a digit") }
        if bytes[integerStart] == UInt8(ascii: "0"), position - integerStart > 1 {
            position = integerStart
            throw failure("a number may not begin with 0")
        }
        if peek(UInt8(ascii: ".")) {
            position += 1
            guard digits() else { throw failure("expected a digit after the point") }
        }
        if peek(UInt8(ascii: "e")) || peek(UInt8(ascii: "E")) {
            position += 1
            if peek(UInt8(ascii: "+")) || peek(UInt8(ascii: "-")) { position += 1 }
            guard digits() else { throw failure("expected a digit in the exponent") }
        }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func digits() -> Bool {
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            position += 1
        }
        return position > start
    }

    private mutating func skipSpace() throws(Failure) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where isLenient: try skipComment()
            default: return
            }
        }
    }

    private mutating func skipComment() throws(Failure) {
        let start = position
        let isLine = start + 1 < bytes.count && bytes[start + 1] == UInt8(ascii: "/")
        guard isLine || start + 1 < bytes.count && bytes[start + 1] == UInt8(ascii: "*") else {
            throw failure("unexpected character")
        }
        position += 2
        while position < bytes.count {
            if isLine, bytes[position] == 0x0A { return }
            if !isLine, bytes[position] == UInt8(ascii: "/"), position > start + 2,
                bytes[position - 1] == UInt8(ascii: "*")
            {
                position += 1
                return
            }
            position += 1
        }
        guard isLine else {
            position = start
            throw failure("unterminated comment")
        }
    }

    private func peek(_ byte: UInt8) -> Bool { position < bytes.count && bytes[position] == byte }

    private mutating func skip(_ byte: UInt8) throws(Failure) -> Bool {
        try skipSpace()
        guard peek(byte) else { return false }
        position += 1
        return true
    }

    private func failure(_ reason: String) -> Failure {
        let read = bytes[..<min(position, bytes.count)]
        let lineStart = read.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let line = read.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        return Failure(reason: reason, line: line, column: read.count - lineStart + 1)
    }
}

extension JSONParser {
    private mutating func string() throws(Failure) -> String {
        position += 1
        let start = position
        var seen: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let text = try text(bytes[start..<position], isASCII: seen < 0x80)
                position += 1
                return text
            case UInt8(ascii: "\\"):
                return try escapedString(from: start)
            case 0..<0x20:
                throw failure("control character in a string")
            default:
                seen |= byte
                position += 1
            }
        }
        throw failure("unterminated string")
    }

    private mutating func escapedString(from start: Int) throws(Failure) -> String {
        var text = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let string = try self.text(text)
                position += 1
                return string
            case UInt8(ascii: "\\"):
                position += 1
                try escape(into: &text)
            case 0..<0x20:
                throw failure("control character in a string")
            default:
                text.append(byte)
                position += 1
            }
        }
        throw failure("unterminated string")
    }

    private mutating func escape(into text: inout [UInt8]) throws(Failure) {
        guard position < bytes.count else { throw failure("unterminated string") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: Array(String(Character(try unicodeScalar())).utf8))
        default:
            position -= 1
            throw failure("unknown escape")
        }
    }

    /// One `\u` escape, or two that form a surrogate pair; a lone surrogate cannot be UTF-8 and is refused.
    private mutating func unicodeScalar() throws(Failure) -> Unicode.Scalar {
        let first = try hexUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800...0xDBFF).contains(first), peek(UInt8(ascii: "\\")) else { throw failure("lone surrogate") }
        position += 1
        guard peek(UInt8(ascii: "u")) else { throw failure("lone surrogate") }
        position += 1
        let second = try hexUnit()
        guard (0xDC00...0xDFFF).contains(second) else { throw failure("lone surrogate") }
        let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        guard let scalar = Unicode.Scalar(value) else { throw failure("lone surrogate") }
        return scalar
    }

    private mutating func hexUnit() throws(Failure) -> UInt16 {
        guard bytes.count - position >= 4 else { throw failure("expected four hexadecimal digits") }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Hex.digit(bytes[position]) else { throw failure("expected four hexadecimal digits") }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    private func text(
        _ slice: Swift.Slice<UnsafeBufferPointer<UInt8>>, isASCII: Bool
    ) throws(Failure) -> String {
        let slice = UnsafeBufferPointer(rebasing: slice)
        return isASCII ? String(decoding: slice, as: UTF8.self) : try text(slice)
    }

    private func text(_ bytes: some Sequence<UInt8>) throws(Failure) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("invalid UTF-8 in a string") }
        guard isStored || !CombiningMarks.areTooMany(in: text) else {
            throw failure("more than \(Limits.combiningMarksMax) combining marks in a row")
        }
        return text
    }
}
