/// Percent-encoding of URLs (RFC 3986 §2.1). Its functions are not generic, because other modules would call them
/// unspecialized, and every request decodes its path.
package enum PercentCoding {
    /// `text` with everything escaped except the unreserved characters of RFC 3986 §2.3: letters, digits and `-._~`.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || unreservedMarks.contains(byte) {
                encoded.append(byte)
            } else {
                encoded.append(UInt8(ascii: "%"))
                encoded += Hex.encode(CollectionOfOne(byte)).uppercased().utf8
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static let unreservedMarks = Array("-._~".utf8)

    /// The decoded text; nil if an escape or the UTF-8 is invalid, or there are too many combining marks in a row.
    /// - Parameter plusIsSpace: reads `+` as a space, as in the queries of HTML forms and most clients.
    package static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String? {
        let (percent, plus) = (UInt8(ascii: "%"), UInt8(ascii: "+"))
        var decoded: String? = String(text)
        if text.utf8.contains(where: { $0 == percent || plusIsSpace && $0 == plus }) {
            decoded = bytes(of: text, plusIsSpace: plusIsSpace, isLenient: false).flatMap {
                String(validating: $0, as: UTF8.self)
            }
        }
        return decoded.flatMap { CombiningMarks.areTooMany(in: $0) ? nil : $0 }
    }

    /// The decoded text of a field of an HTML form, with `+` as a space. Invalid escapes stay as they are, and invalid
    /// UTF-8 becomes U+FFFD. A text with too many combining marks in a row stays encoded.
    package static func decodeLeniently(_ text: Substring) -> String {
        let decoded = String(decoding: bytes(of: text, plusIsSpace: true, isLenient: true) ?? [], as: UTF8.self)
        return CombiningMarks.areTooMany(in: decoded) ? encode(decoded) : decoded
    }

    /// nil if an escape is invalid, unless `isLenient`.
    private static func bytes(of text: Substring, plusIsSpace: Bool, isLenient: Bool) -> [UInt8]? {
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var position = 0
        while position < source.count {
            let byte = source[position]
            position += 1
            guard byte == UInt8(ascii: "%") else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            if position + 1 < source.count, let high = Hex.digit(source[position]),
                let low = Hex.digit(source[position + 1])
            {
                bytes.append(high << 4 | low)
                position += 2
            } else if isLenient {
                bytes.append(byte)
            } else {
                return nil
            }
        }
        return bytes
    }
}
