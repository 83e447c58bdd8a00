import Foundation

/// Base64 with the URL alphabet and without padding (RFC 7515 §2).
enum Base64URL {
    /// The bytes of `text`; nil when it has any other character.
    static func decode(_ text: some StringProtocol) -> Data? {
        guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4))
    }

    static func encode(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}
