/// Packs numbers and texts: a number takes seven bits a byte, low ones first.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// A negative number is written as 0: nothing that is counted is below it.
    mutating func int(_ value: Int) { varint(UInt64(max(0, value))) }

    mutating func text(_ value: String) {
        int(value.utf8.count)
        bytes.append(contentsOf: value.utf8)
    }
}
