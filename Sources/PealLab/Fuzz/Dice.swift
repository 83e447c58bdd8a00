/// Numbers by chance that a seed repeats: SplitMix64.
package struct Dice: Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// Dice that the content of an input decides, so that a replay needs nothing but the input.
    init(of bytes: [UInt8]) {
        // FNV-1a.
        state = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// 0 up to and without `bound`, which is at least 1.
    package mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

    /// True once in `times`.
    mutating func hits(oneIn times: Int) -> Bool { next(below: times) == 0 }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[next(below: elements.count)] }
}
