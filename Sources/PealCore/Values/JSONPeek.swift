/// Finds scalar members of a JSON object in its bytes, without building values: what an unknown caller sends is parsed
/// only after this has identified the caller.
package enum JSONPeek {
    /// The texts of the members of the outermost object that have one of `names` and are strings or numbers. The bytes
    /// may end anywhere: what comes before counts. Of a repeated member the last one counts, as for `JSONParser`.
    package static func scalars(_ names: Set<String>, in bytes: [UInt8]) -> [String: String] {
        bytes.withUnsafeBufferPointer { buffer in
            var scanner = Scanner(bytes: buffer)
            return scanner.members(names)
        }
    }

    private static let scalarBytesMax = 4096

    private struct Scanner {
        let bytes: UnsafeBufferPointer<UInt8>
        var position = 0

        private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

        mutating func members(_ names: Set<String>) -> [String: String] {
            var found: [String: String] = [:]
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
            skipSpace()
            guard next == UInt8(ascii: "{") else { return found }
            position += 1
            while true {
                skipSpace()
                while next == UInt8(ascii: ",") {
                    position += 1
                    skipSpace()
                }
                guard next == UInt8(ascii: "\""), let name = string() else { return found }
                skipSpace()
                guard next == UInt8(ascii: ":") else { return found }
                position += 1
                skipSpace()
                guard let value = value() else { return found }
                if let name = text(name), names.contains(name), let scalar = text(value) { found[name] = scalar }
            }
        }

        /// The range of the value here; nil if it is incomplete.
        private mutating func value() -> Range<Int>? {
            let start = position
            switch next {
            case UInt8(ascii: "\""): return string()
            case UInt8(ascii: "{"), UInt8(ascii: "["): return skipNested() ? start..<position : nil
            default:
                while let byte = next, !isEnd(byte) { position += 1 }
                return position > start && position < bytes.count ? start..<position : nil
            }
        }

        /// The range of the string here, with its quotes.
        private mutating func string() -> Range<Int>? {
            let start = position
            position += 1
            while let byte = next {
                position += byte == UInt8(ascii: "\\") ? 2 : 1
                if byte == UInt8(ascii: "\"") { return start..<position }
            }
            return nil
        }

        private mutating func skipNested() -> Bool {
            var depth = 0
            while let byte = next {
                switch byte {
                case UInt8(ascii: "\""): if string() == nil { return false }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    position += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    position += 1
                    if depth == 0 { return true }
                default: position += 1
                }
            }
            return false
        }

        private func text(_ range: Range<Int>) -> String? {
            guard range.count <= scalarBytesMax, range.upperBound <= bytes.count,
                let json = try? JSONParser.parse(bytes[range], valuesMax: 1)
            else { return nil }
            switch json {
            case .string(let text): return text
            case .number(let text): return text
            case .null, .bool, .array, .object: return nil
            }
        }

        private mutating func skipSpace() {
            while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
        }

        private func isEnd(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"): true
            default: false
            }
        }
    }
}
