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

    /// The fingerprint of `bytes`; letters count alike in both cases when `isFoldingCase`.
    static func of(_ bytes: some Sequence<UInt8>, isFoldingCase: Bool = true) -> UInt64 {
        var state = start
        var word: UInt64 = 0
        var count = 0
        for byte in bytes {
            let isCapital = isFoldingCase && byte >= 0x41 && byte <= 0x5A
            word = word << 8 | UInt64(isCapital ? byte | 0x20 : byte)
            count += 1
            if count & 7 == 0 {
                state = fold(state, word)
                word = 0
            }
        }
        return SeededRandom.mix(fold(fold(state, word), UInt64(count)))
    }
}
