import Foundation

/// The random numbers of a synthetic world, reproducible from a seed: xoshiro256++.
package struct WorldRandom: Sendable {
    private var state: (UInt64, UInt64, UInt64, UInt64)
    private var spare: Double?

    /// - Parameter stream: separates the parts of a world, so that a change of one does not affect the others.
    package init(seed: Int, stream: Int) {
        var mixer = UInt64(bitPattern: Int64(seed)) &* 0xD134_2543_DE82_EF95 &+ UInt64(bitPattern: Int64(stream))
        func next() -> UInt64 {
            mixer &+= 0x9E37_79B9_7F4A_7C15
            var mixed = mixer
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
        state = (next(), next(), next(), next())
    }

    package mutating func next() -> UInt64 {
        let sum = state.0 &+ state.3
        let result = (sum << 23 | sum >> 41) &+ state.0
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = state.3 << 45 | state.3 >> 19
        return result
    }

    /// Uniform in 0 ..< 1.
    package mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// True with this probability.
    package mutating func hits(_ chance: Double) -> Bool { unit() < chance }

    /// An integer in 0 ..< `bound`.
    package mutating func below(_ bound: Int) -> Int { min(Int(unit() * Double(bound)), bound - 1) }

    /// Normally distributed, by Marsaglia's polar method.
    package mutating func normal(_ mean: Double = 0, _ deviation: Double = 1) -> Double {
        if let spare {
            self.spare = nil
            return mean + deviation * spare
        }
        while true {
            let (x, y) = (2 * unit() - 1, 2 * unit() - 1)
            let square = x * x + y * y
            guard square > 0, square < 1 else { continue }
            let factor = (-2 * log(square) / square).squareRoot()
            spare = y * factor
            return mean + deviation * x * factor
        }
    }

    /// `count` distinct numbers below `bound`; all of them in order if there are no more.
    package mutating func sample(_ count: Int, below bound: Int) -> [Int] {
        guard count < bound else { return Array(0..<bound) }
        var numbers = Array(0..<bound)
        for index in 0..<count { numbers.swapAt(index, index + below(bound - index)) }
        return Array(numbers.prefix(count))
    }
}
