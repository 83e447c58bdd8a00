/// 64 bits that stand for a longer text. Two of ten million device tokens share one with a chance of 1 : 300,000.
enum Fingerprint {
    /// The start value of an empty text.
    static let start: UInt64 = 0x51_7C_C1_B7_27_22_0A_95

    /// Folds `word` into `state`.
    @inline(__always)
    static func fold(_ state: UInt64, _ word: UInt64) -> UInt64 {
        let product = (state ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return (product.high ^ product.low) &+ word.byteSwapped
    }

    /// The fingerprint of `bytes`; a letter counts alike in both cases when `isFoldingCase`.
    static func of(_ bytes: UnsafeRawBufferPointer, isFoldingCase: Bool = true) -> UInt64 {
        let mask: UInt64 = isFoldingCase ? 0x2020_2020_2020_2020 : 0
        var state = start
        var position = 0
        while bytes.count - position >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            state = fold(state, word | mask)
            position += 8
        }
        var word: UInt64 = 0
        for byte in bytes[position...] { word = word << 8 | UInt64(byte) | (mask & 0xFF) }
        return SeededRandom.mix(fold(fold(state, word), UInt64(bytes.count)))
    }

    /// The fingerprint of `text`.
    static func of(_ text: String, isFoldingCase: Bool = true) -> UInt64 {
        var text = text
        return text.withUTF8 { of(UnsafeRawBufferPointer($0), isFoldingCase: isFoldingCase) }
    }
}
