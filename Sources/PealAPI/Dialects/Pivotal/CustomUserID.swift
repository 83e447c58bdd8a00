internal import Crypto
internal import PealCore

/// A user's id signed by the app's backend: a compact JWS (RFC 7515) with HS256 over `{"custom_user_id":"…"}`, its key
/// the bytes behind the shared secret's hexadecimal digits.
enum CustomUserID {
    /// The id in `signed`, if one of the secrets signed it.
    /// - Parameter secrets: hexadecimal text.
    static func verified(_ signed: String, secrets: [String]) -> String? {
        let parts = signed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = json(parts[0]), header["alg"]?.stringValue == "HS256",
            let payload = json(parts[1]), let id = payload["custom_user_id"]?.stringValue,
            let signature = Base64URL.decode(parts[2])
        else { return nil }
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        let isSigned = secrets.contains { secret in
            guard let bytes = Hex.decode(secret) else { return false }
            let code = HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: bytes))
            return ConstantTime.areEqual(Array(code), signature)
        }
        return isSigned ? id : nil
    }

    private static func json(_ part: Substring) -> JSON? {
        Base64URL.decode(part).flatMap { try? JSONParser.parse($0) }
    }
}
