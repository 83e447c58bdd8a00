/// Reads integers and strings of HPACK (RFC 7541 §5) from a block, never past its end.
struct FastCursor {
    /// A string literal as it stands on the wire.
    struct Text {
        let bytes: UnsafeRawBufferPointer
        let isHuffman: Bool
    }

    private let block: UnsafeRawBufferPointer
    private var position = 0

    init(_ block: UnsafeRawBufferPointer) {
        self.block = block
    }

    /// The next byte, which stays unread; nil at the end.
    func peek() -> UInt8? {
        position < block.count ? block[position] : nil
    }

    /// An integer whose first byte lends it `prefixBits` bits; nil when it is cut off or above 2^28.
    mutating func integer(prefixBits: Int) -> Int? {
        guard position < block.count else { return nil }
        let mask = (1 << prefixBits) - 1
        var value = Int(block[position]) & mask
        position += 1
        guard value == mask else { return value }
        var shift = 0
        while position < block.count, shift <= 21 {
            let byte = Int(block[position])
            position += 1
            value += (byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
            shift += 7
        }
        return nil
    }

    /// A string literal; nil when it is cut off.
    mutating func string() -> Text? {
        guard let first = peek(), let count = integer(prefixBits: 7), count <= block.count - position else {
            return nil
        }
        let bytes = UnsafeRawBufferPointer(rebasing: block[position..<(position + count)])
        position += count
        return Text(bytes: bytes, isHuffman: first & 0x80 != 0)
    }
}
