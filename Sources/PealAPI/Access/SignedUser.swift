internal import Crypto
internal import PealCore

/// A user's id signed by the app's backend: a compact JWS (RFC 7515) with HS256 over an object with the id. The key is
/// the shared secret, decoded from hexadecimal digits.
enum SignedUser {
    /// The id in `signed`, if one of the secrets signed it and it is valid according to `exp` and `nbf` (RFC 7519
    /// §4.1). Tokens with critical extensions (`crit`, RFC 7515 §4.1.11) are refused.
    /// - Parameters:
    ///   - member: the member of the payload that holds the id.
    ///   - secrets: hexadecimal text.
    static func id(in signed: String, member: String, secrets: [String], now: Timestamp) -> String? {
        let parts = signed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = json(parts[0]), header["alg"]?.stringValue == "HS256",
            header["crit"] == nil, let payload = json(parts[1]), isCurrent(payload, now: now),
            let id = payload[member]?.stringValue, let signature = Base64URL.decode(parts[2])
        else { return nil }
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        let isSigned = secrets.contains { secret in
            guard let bytes = Hex.decode(secret) else { return false }
            let code = HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: bytes))
            return ConstantTime.areEqual(Array(code), signature)
        }
        return isSigned ? id : nil
    }

    /// Not after `exp` and not before `nbf`, both in seconds since 1970.
    private static func isCurrent(_ payload: JSON, now: Timestamp) -> Bool {
        let seconds = Double(now.milliseconds) / 1000
        let hasEnded = payload["exp"].map { $0.doubleValue.map { seconds >= $0 } ?? true } ?? false
        let hasBegun = payload["nbf"].map { $0.doubleValue.map { seconds >= $0 } ?? false } ?? true
        return hasBegun && !hasEnded
    }

    private static func json(_ part: Substring) -> JSON? {
        Base64URL.decode(part).flatMap { try? JSONParser.parse($0) }
    }
}
