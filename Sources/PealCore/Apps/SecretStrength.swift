/// Estimates how hard a secret is to guess, for secrets that a caller supplies. It detects what people type, not what a
/// program would guess: a secret that passes is long and varied, no more.
package enum SecretStrength {
    package static let bitsMin = 80.0

    package static func isStrong(_ secret: String) -> Bool { bits(secret) >= bitsMin }

    /// The characters that do not continue a run (`aaaa`, `1234`, `dcba`), each worth the logarithm of the alphabet
    /// that the secret uses, but no more than its different characters allow.
    package static func bits(_ secret: String) -> Double {
        let bytes = Array(secret.utf8)
        guard var last = bytes.first else { return 0 }
        var counted = 1
        for byte in bytes.dropFirst() {
            if abs(Int(byte) - Int(last)) > 1 { counted += 1 }
            last = byte
        }
        let different = Set(bytes).count
        guard different >= differentMin else { return Double(different) }
        return Double(counted) * bitsPerCharacter(bytes)
    }

    private static let differentMin = 8

    private static func bitsPerCharacter(_ bytes: [UInt8]) -> Double {
        let isHex = bytes.allSatisfy { Hex.digit($0) != nil || $0 == UInt8(ascii: "-") }
        if bytes.allSatisfy({ (0x30...0x39).contains($0) }) { return 3.3 }
        if isHex { return 4 }
        var alphabet = 0
        if bytes.contains(where: { (0x30...0x39).contains($0) }) { alphabet += 10 }
        if bytes.contains(where: { (0x61...0x7A).contains($0) }) { alphabet += 26 }
        if bytes.contains(where: { (0x41...0x5A).contains($0) }) { alphabet += 26 }
        // The base-2 logarithms, rounded down, of 10, 26, 36, 52 and 62 characters.
        switch alphabet {
        case ..<26: return 3.3
        case ..<36: return 4.7
        case ..<52: return 5.1
        case ..<62: return 5.7
        default: return 5.9
        }
    }
}
