/// Hexadecimal digits, as device tokens and UUIDs use them.
enum Hexadecimal {
    /// The lower-case digit of the lowest four bits of `value`.
    static func digit(_ value: UInt64) -> UInt8 {
        let low = UInt8(value & 15)
        return low < 10 ? 0x30 + low : 0x57 + low
    }

    /// Whether `byte` is a digit, in either case.
    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
