import Crypto
import PealCore
import Synchronization

/// Signs Web Push requests (RFC 8292): one JWT per key and origin of a push service, made when first needed, used for
/// half of its life, and forgotten where there are too many. Receives key and origin, hands on the value of
/// `Authorization`.
final class VAPIDTokens: Sendable {
    private struct Key: Hashable {
        let vapid: Credential.VAPIDKey
        let origin: String
    }

    private struct Minted {
        let authorization: String
        let uptime: Duration
        let at: Timestamp
    }

    /// RFC 8292 §2 allows a day; half of it leaves room for clocks that differ.
    static let lifeSeconds: Int64 = 12 * 3600

    private let time: any TimeSource
    private let countMax: Int
    private let minted = Mutex<[Key: Minted]>([:])

    init(time: any TimeSource, countMax: Int = Limits.vapidTokensCachedMax) {
        self.time = time
        self.countMax = countMax
    }

    /// The value of `Authorization` for requests that begin now.
    /// - Parameter origin: `https://host[:port]`, the audience of the JWT.
    /// - Returns: nil when the key cannot sign.
    func authorization(for key: Credential.VAPIDKey, at origin: String) -> String? {
        let (now, uptime) = (time.now, time.uptime)
        let name = Key(vapid: key, origin: origin)
        return minted.withLock { minted in
            if let known = minted[name], Self.isUsable(known, uptime, now) { return known.authorization }
            guard let made = Self.sign(key, origin, at: now) else { return nil }
            if minted.count >= countMax { Self.makeRoom(&minted, uptime, now) }
            minted[name] = Minted(authorization: made, uptime: uptime, at: now)
            return made
        }
    }

    /// A push service refused that value: the next request is signed anew, unless that has happened already.
    func forget(_ authorization: String, of key: Credential.VAPIDKey, at origin: String) {
        let name = Key(vapid: key, origin: origin)
        minted.withLock { minted in
            if minted[name]?.authorization == authorization { minted[name] = nil }
        }
    }

    /// How many are kept.
    var count: Int { minted.withLock { $0.count } }

    /// For half its life on both clocks: push services read the wall clock, and refuse an `exp` more than a day ahead.
    private static func isUsable(_ minted: Minted, _ uptime: Duration, _ now: Timestamp) -> Bool {
        let halfLife = Duration.seconds(lifeSeconds / 2)
        return uptime - minted.uptime < halfLife && now - minted.at < halfLife && minted.at - now <= halfLife
    }

    /// Drops what has served its time; where that is not enough, the older half.
    private static func makeRoom(_ minted: inout [Key: Minted], _ uptime: Duration, _ now: Timestamp) {
        let before = minted.count
        minted = minted.filter { isUsable($0.value, uptime, now) }
        guard minted.count == before else { return }
        for (key, _) in minted.sorted(by: { $0.value.uptime < $1.value.uptime }).prefix(before / 2 + 1) {
            minted[key] = nil
        }
    }

    /// JWS in compact form, ES256: the signature is r and s end to end (RFC 7518 §3.4).
    static func sign(_ key: Credential.VAPIDKey, _ origin: String, at now: Timestamp) -> String? {
        guard let bytes = Base64URL.decode(key.privateKey),
            let signing = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        else { return nil }
        let header: JSON = ["typ": "JWT", "alg": "ES256"]
        let claims: JSON = [
            "aud": .string(origin), "exp": .integer(now.seconds + lifeSeconds), "sub": .string(key.subject),
        ]
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        guard let signature = try? signing.signature(for: Array(text.utf8)) else { return nil }
        let jwt = text + "." + Base64URL.encode(Array(signature.rawRepresentation))
        // No blank between the two: RFC 9110 §5.6.1 lets it be left out, and some readers split at it.
        return "vapid t=\(jwt),k=\(key.publicKey)"
    }
}
