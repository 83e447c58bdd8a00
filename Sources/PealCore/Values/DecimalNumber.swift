/// The exact value of a JSON number, for comparisons: `0.digits` times ten to the power of `exponent`. Numbers of any
/// length are compared without rounding.
struct DecimalNumber: Comparable {
    private let isNegative: Bool
    private let exponent: Int
    /// Without zeros at both ends; empty for 0.
    private let digits: [UInt8]

    /// Larger exponents are equal to this one. It leaves room for adding the number of digits.
    private static let exponentMax = Int(Int32.max)

    /// - Parameter text: a number by RFC 8259 §6.
    init(_ text: String) {
        let parts = text.utf8.split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
        let mantissa = (parts.first ?? text.utf8[...]).drop { $0 == UInt8(ascii: "-") }
        let halves = mantissa.split(separator: UInt8(ascii: "."), maxSplits: 1)
        let significant = halves.joined().drop { $0 == UInt8(ascii: "0") }
        let zeros = halves.joined().count - significant.count
        digits = Array(significant.reversed().drop { $0 == UInt8(ascii: "0") }.reversed())
        isNegative = !digits.isEmpty && text.hasPrefix("-")
        let power = parts.count == 2 ? Self.power(String(Substring(parts[1]))) : 0
        exponent = digits.isEmpty ? .min : (halves.first?.count ?? 0) - zeros + power
    }

    private static func power(_ text: String) -> Int {
        let power = Int(text) ?? (text.hasPrefix("-") ? -exponentMax : exponentMax)
        return max(-exponentMax, min(exponentMax, power))
    }

    static func < (left: DecimalNumber, right: DecimalNumber) -> Bool {
        guard left.isNegative == right.isNegative else { return left.isNegative }
        return left.isNegative ? right.isCloserToZero(than: left) : left.isCloserToZero(than: right)
    }

    private func isCloserToZero(than other: DecimalNumber) -> Bool {
        exponent != other.exponent ? exponent < other.exponent : digits.lexicographicallyPrecedes(other.digits)
    }
}
