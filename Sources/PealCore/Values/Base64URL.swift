/// Base64 in the URL alphabet without padding (RFC 4648 §5). `decode` also accepts the plain alphabet (§4).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        var buffer: UInt32 = 0
        var bitCount = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(alphabet[Int(buffer >> UInt32(bitCount)) & 63])
            }
        }
        if bitCount > 0 { text.append(alphabet[Int(buffer << UInt32(6 - bitCount)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The text in the plain alphabet, with padding.
    package static func padded(_ bytes: some Collection<UInt8>) -> String {
        let text = String(encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    /// The bytes of `text` in either alphabet, padded or not; nil for anything else.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var characters = Array(text.utf8)[...]
        if characters.last == UInt8(ascii: "=") {
            guard characters.count.isMultiple(of: 4) else { return nil }
            characters = characters.dropLast(characters.dropLast().last == UInt8(ascii: "=") ? 2 : 1)
        }
        guard characters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0
        var bitCount = 0
        for character in characters {
            guard let value = value(of: character) else { return nil }
            buffer = buffer << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bitCount)))
            }
        }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
        case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// Hexadecimal text and its bytes.
package enum Hex {
    package static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The bytes of `text` in either case; nil for an odd length or another character.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 2)
        for position in stride(from: 0, to: characters.count, by: 2) {
            guard let high = digit(characters[position]), let low = digit(characters[position + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// The lower-case character of a digit from 0 to 15.
    package static func character(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    /// Lower-case text of `bytes`.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        // Other modules call this unspecialized, where iterating over bytes is slow.
        bytes.withContiguousStorageIfAvailable(text) ?? Array(bytes).withUnsafeBufferPointer(text)
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            for (position, byte) in bytes.enumerated() {
                text.initializeElement(at: 2 * position, to: character(byte >> 4))
                text.initializeElement(at: 2 * position + 1, to: character(byte & 15))
            }
            return 2 * bytes.count
        }
    }
}

extension UInt8 {
    /// Whether it is a letter or digit of ASCII.
    package var isASCIIAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: isASCIIDigit
        }
    }

    var isASCIIDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    /// The lower-case letter for an upper-case letter of ASCII; any other byte as it is.
    var lowercasedASCII: UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self }
}
