/// Hexadecimal digits, as device tokens and UUIDs use them.
enum Hexadecimal {
    private static let alphabet = Array("0123456789abcdef".utf8)

    /// The sixteen lower-case digits of `value`.
    static func digits(_ value: UInt64) -> [UInt8] {
        (0..<16).map { alphabet[Int(truncatingIfNeeded: value >> UInt64(60 - 4 * $0)) & 15] }
    }

    /// Whether `byte` is a digit, in either case.
    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
