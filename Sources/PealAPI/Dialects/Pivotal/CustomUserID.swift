internal import Crypto
internal import PealCore

/// A user's id signed by the app's backend: a compact JWS (RFC 7515) with HS256 over `{"custom_user_id":"…"}`, its key
/// the bytes behind the shared secret's hexadecimal digits.
enum CustomUserID {
    /// The id in `signed`, if one of the secrets signed it and it has not expired. Where the payload tells its end, in
    /// `exp` (RFC 7519 §4.1.4), that counts; extensions that must be understood (`crit`, RFC 7515 §4.1.11) are not.
    /// - Parameter secrets: hexadecimal text.
    static func verified(_ signed: String, secrets: [String], now: Timestamp) -> String? {
        let parts = signed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = json(parts[0]), header["alg"]?.stringValue == "HS256",
            header["crit"] == nil, let payload = json(parts[1]), isCurrent(payload, now: now),
            let id = payload["custom_user_id"]?.stringValue, let signature = Base64URL.decode(parts[2])
        else { return nil }
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        let isSigned = secrets.contains { secret in
            guard let bytes = Hex.decode(secret) else { return false }
            let code = HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: bytes))
            return ConstantTime.areEqual(Array(code), signature)
        }
        return isSigned ? id : nil
    }

    private static func isCurrent(_ payload: JSON, now: Timestamp) -> Bool {
        guard let end = payload["exp"] else { return true }
        return end.doubleValue.map { Double(now.milliseconds) < $0 * 1000 } ?? false
    }

    private static func json(_ part: Substring) -> JSON? {
        Base64URL.decode(part).flatMap { try? JSONParser.parse($0) }
    }
}
