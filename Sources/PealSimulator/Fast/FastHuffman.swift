/// Decodes the Huffman strings of HPACK (RFC 7541 §5.2). The code is canonical: the lengths in appendix B define it.
struct FastHuffman: Sendable {
    /// The code length of each byte, and of EOS, in bits.
    private static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
        7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
        23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
        21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
    ]
    private static let longest = 30

    /// By the next eight bits: the byte and its code length, if that is at most eight.
    private var short: [(symbol: UInt8, bits: UInt8)] = Array(repeating: (0, 0), count: 256)
    /// By code length: the first code, the number of codes, and the start of their symbols in `symbols`.
    private var first = [UInt32](repeating: 0, count: longest + 1)
    private var count = [UInt32](repeating: 0, count: longest + 1)
    private var start = [Int](repeating: 0, count: longest + 1)
    private var symbols: [UInt16] = []

    /// The tables, made once for all connections.
    static let tables = FastHuffman()

    private init() {
        var code: UInt32 = 0
        for bits in 1...Self.longest {
            code <<= 1
            first[bits] = code
            start[bits] = symbols.count
            for (symbol, length) in Self.lengths.enumerated() where Int(length) == bits {
                if bits <= 8 { fillShort(code, bits, symbol) }
                symbols.append(UInt16(symbol))
                code += 1
            }
            count[bits] = code - first[bits]
        }
    }

    private mutating func fillShort(_ code: UInt32, _ bits: Int, _ symbol: Int) {
        let base = Int(code) << (8 - bits)
        for index in base..<(base + 1 << (8 - bits)) where index < 256 {
            short[index] = (UInt8(truncatingIfNeeded: symbol), UInt8(bits))
        }
    }

    /// Decodes `bytes` into `target`. Returns the number of bytes written; nil when a code is invalid or `target` is
    /// too small.
    func decode(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int? {
        var window: UInt64 = 0
        var bits = 0
        var read = 0
        var written = 0
        while true {
            while bits <= 48, read < bytes.count {
                window = window << 8 | UInt64(bytes[read])
                read += 1
                bits += 8
            }
            if bits == 0 { return written }
            let next = bits >= 8 ? window >> UInt64(bits - 8) : window << UInt64(8 - bits) | (0xFF >> UInt64(bits))
            let entry = short[Int(next & 0xFF)]
            if entry.bits > 0, Int(entry.bits) <= bits {
                guard written < target.count else { return nil }
                target[written] = entry.symbol
                bits -= Int(entry.bits)
            } else {
                guard let (symbol, length) = long(window, bits) else {
                    // The rest must be padding: fewer than eight bits, all 1.
                    let ones: UInt64 = 1 << UInt64(bits) - 1
                    return bits < 8 && read == bytes.count && window & ones == ones ? written : nil
                }
                guard written < target.count else { return nil }
                target[written] = symbol
                bits -= length
            }
            written += 1
        }
    }

    /// The byte of a code of more than eight bits at the top of the `bits` lowest bits of `window`.
    private func long(_ window: UInt64, _ bits: Int) -> (UInt8, Int)? {
        guard bits > 8 else { return nil }
        for length in 9...Self.longest where length <= bits {
            let code = UInt32(truncatingIfNeeded: window >> UInt64(bits - length)) & (1 << UInt32(length) - 1)
            guard code >= first[length], code - first[length] < count[length] else { continue }
            let symbol = symbols[start[length] + Int(code - first[length])]
            return symbol < 256 ? (UInt8(symbol), length) : nil
        }
        return nil
    }
}
