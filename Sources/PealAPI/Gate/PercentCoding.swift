internal import PealCore

/// Percent-encoding (RFC 3986 §2.1).
enum PercentCoding {
    /// The text behind the escapes; nil where one is broken or the bytes are no UTF-8.
    /// - Parameter plusIsSpace: as HTML forms and most clients write queries.
    static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var position = 0
        while position < source.count {
            switch source[position] {
            case UInt8(ascii: "%"):
                guard position + 2 < source.count, let high = Hex.digit(source[position + 1]),
                    let low = Hex.digit(source[position + 2])
                else { return nil }
                bytes.append(high << 4 | low)
                position += 3
            case UInt8(ascii: "+") where plusIsSpace:
                bytes.append(UInt8(ascii: " "))
                position += 1
            default:
                bytes.append(source[position])
                position += 1
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
