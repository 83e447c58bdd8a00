/// Writes single HPACK representations (RFC 7541 §6), always without Huffman coding: what repeats is in the table, and
/// what does not is mostly hexadecimal.
enum HeaderField {
    /// Most octets of an encoded string length.
    static let lengthBytesMax = 5

    /// Indices of RFC 7541 appendix A.
    enum Static {
        static let authority = 1
        static let methodPost: UInt8 = 0x80 | 3
        static let schemeHTTPS: UInt8 = 0x80 | 7
        static let authorization = 23
        static let count = 61
        /// Representation of `:path` as a literal that is not put into the table.
        static let pathLiteral: UInt8 = 4
        /// Names of ours that the static table has.
        static let names = ["content-type": 31, "content-length": 28]
    }

    /// RFC 7541 §5.1.
    static func writeInteger(_ value: Int, prefixBits: Int, pattern: UInt8, to out: inout [UInt8]) {
        let full = (1 << prefixBits) - 1
        guard value >= full else {
            out.append(pattern | UInt8(value))
            return
        }
        out.append(pattern | UInt8(full))
        var rest = value - full
        while rest >= 128 {
            out.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        out.append(UInt8(rest))
    }

    static func writeString(_ text: some Collection<UInt8>, to out: inout [UInt8]) {
        writeInteger(text.count, prefixBits: 7, pattern: 0, to: &out)
        out.append(contentsOf: text)
    }

    static func writeIndexed(_ index: Int, to out: inout [UInt8]) {
        writeInteger(index, prefixBits: 7, pattern: 0x80, to: &out)
    }

    /// What a literal asks of the tables on the way.
    enum Indexing {
        case insert, without, never

        var prefixBits: Int { self == .insert ? 6 : 4 }
        var pattern: UInt8 {
            switch self {
            case .insert: 0x40
            case .without: 0x00
            case .never: 0x10
            }
        }
    }

    /// The name of a literal field, by index or in full; its value follows.
    static func writeName(_ name: String, index: Int?, _ indexing: Indexing, to out: inout [UInt8]) {
        writeInteger(index ?? 0, prefixBits: indexing.prefixBits, pattern: indexing.pattern, to: &out)
        if index == nil { writeString(name.utf8, to: &out) }
    }

    static func writeTableSize(_ size: Int, to out: inout [UInt8]) {
        writeInteger(size, prefixBits: 5, pattern: 0x20, to: &out)
    }
}
