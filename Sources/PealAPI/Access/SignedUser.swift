internal import Crypto
internal import PealCore

/// A user's id signed by the app's backend: a compact JWS (RFC 7515) with HS256 over an object with the id. The key is
/// the shared secret, decoded from hexadecimal digits.
enum SignedUser: Equatable {
    case signed(String)
    case expired
    /// Its `nbf` is in the future.
    case early
    /// Malformed, or signed with another secret.
    case invalid

    /// Reads `signed`, and checks that one of the secrets signed it and that it is valid according to `exp` and `nbf`
    /// (RFC 7519 §4.1). Tokens with critical extensions (`crit`, RFC 7515 §4.1.11) are invalid.
    /// - Parameters:
    ///   - member: the member of the payload that holds the id.
    ///   - secrets: hexadecimal text.
    init(_ signed: String, member: String, secrets: [String], now: Timestamp) {
        let parts = signed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.json(parts[0]), header["alg"]?.stringValue == "HS256",
            header["crit"] == nil, let payload = Self.json(parts[1]), let id = payload[member]?.stringValue,
            let signature = Base64URL.decode(parts[2])
        else {
            self = .invalid
            return
        }
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        let isSigned = secrets.contains { secret in
            guard let bytes = Hex.decode(secret) else { return false }
            let code = HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: bytes))
            return ConstantTime.areEqual(Array(code), signature)
        }
        self = isSigned ? Self.refusal(payload, now: now) ?? .signed(id) : .invalid
    }

    /// Why a proof is not valid now: `exp` and `nbf` are in seconds since 1970. nil if it is.
    private static func refusal(_ payload: JSON, now: Timestamp) -> SignedUser? {
        let seconds = Double(now.milliseconds) / 1000
        if let end = payload["exp"] {
            guard let end = end.doubleValue else { return .invalid }
            if seconds >= end { return .expired }
        }
        if let start = payload["nbf"] {
            guard let start = start.doubleValue else { return .invalid }
            if seconds < start { return .early }
        }
        return nil
    }

    /// The id.
    /// - Throws: what `refusal` makes of the reason, as a sentence about the field.
    func id(of field: String, _ demand: String, refusal: (String) -> PealError) throws(PealError) -> String {
        switch self {
        case .signed(let id): return id
        case .expired: throw refusal("\(field) has expired")
        case .early: throw refusal("\(field) is not valid yet: its nbf is in the future")
        case .invalid: throw refusal(demand)
        }
    }

    private static func json(_ part: Substring) -> JSON? {
        Base64URL.decode(part).flatMap { try? JSONParser.parse($0) }
    }
}
