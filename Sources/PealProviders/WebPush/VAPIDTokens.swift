import Crypto
import PealCore
import Synchronization

/// Signs Web Push requests (RFC 8292): receives a key and a push service's origin, and returns the value of
/// `Authorization`. Each pair has one JWT, signed when first needed, used for half its lifetime, and dropped if there
/// are too many.
final class VAPIDTokens: Sendable {
    private struct Key: Hashable {
        let vapid: Credential.VAPIDKey
        let origin: String
    }

    private struct Minted {
        let authorization: String
        let uptime: Duration
        let at: Timestamp
        /// The refused one that it replaces; nil if it replaces none.
        var replaced: String?
        /// When the push service last accepted a request with this one or an earlier one, on `TimeSource.uptime`.
        var acceptedAt: Duration?
    }

    /// RFC 8292 §2 allows a day. Half of that leaves room for clock differences.
    static let lifeSeconds: Int64 = 12 * 3600

    /// How long another signature cannot help after one.
    private static let renewalPause = Duration.seconds(60)

    private let time: any TimeSource
    private let countMax: Int
    private let minted = Mutex<[Key: Minted]>([:])

    init(time: any TimeSource, countMax: Int = Limits.vapidTokensCachedMax) {
        self.time = time
        self.countMax = countMax
    }

    /// The value of `Authorization` for requests that begin now.
    /// - Parameter origin: `https://host[:port]`, the audience of the JWT.
    /// - Returns: nil if the key cannot sign.
    func authorization(for key: Credential.VAPIDKey, at origin: String) -> String? {
        let (now, uptime) = (time.now, time.uptime)
        let name = Key(vapid: key, origin: origin)
        return minted.withLock { minted in
            if let known = minted[name], Self.isUsable(known, uptime, now) { return known.authorization }
            guard let made = Self.sign(key, origin, at: now) else { return nil }
            if minted.count >= countMax { Self.makeRoom(&minted, uptime, now) }
            minted[name] = Minted(
                authorization: made, uptime: uptime, at: now, acceptedAt: minted[name]?.acceptedAt)
            return made
        }
    }

    /// A push service accepted a request with this value.
    func accepted(_ authorization: String, of key: Credential.VAPIDKey, at origin: String) {
        let uptime = time.uptime
        let name = Key(vapid: key, origin: origin)
        minted.withLock { minted in
            guard let known = minted[name], [known.authorization, known.replaced].contains(authorization) else {
                return
            }
            minted[name]?.acceptedAt = uptime
        }
    }

    /// A push service refused this value. Signs again, unless that was done just now.
    /// - Returns: `refreshCredential` if the next request carries another value, otherwise as `RefusalEvidence`. A key
    ///   that any push service accepted recently does not stop the app.
    func refused(_ authorization: String, of key: Credential.VAPIDKey, at origin: String) -> Verdict {
        let (now, uptime) = (time.now, time.uptime)
        let name = Key(vapid: key, origin: origin)
        return minted.withLock { minted in
            guard let known = minted[name], known.authorization == authorization else {
                return .refreshCredential
            }
            let isNew = known.replaced != nil && uptime - known.uptime < Self.renewalPause
            if !isNew, let made = Self.sign(key, origin, at: now) {
                minted[name] = Minted(
                    authorization: made, uptime: uptime, at: now, replaced: authorization,
                    acceptedAt: known.acceptedAt)
                return .refreshCredential
            }
            let verdict = RefusalEvidence.verdict(
                renewedAt: known.uptime, acceptedAt: known.acceptedAt, uptime: uptime)
            guard verdict == .stopApp else { return verdict }
            let isKnownToWork = minted.contains { name, one in
                name.vapid == key && RefusalEvidence.isKnownToWork(one.acceptedAt, uptime: uptime)
            }
            return isKnownToWork ? .holdAddress(after: RefusalEvidence.hold) : .stopApp
        }
    }

    /// How many values are kept.
    var count: Int { minted.withLock { $0.count } }

    /// Usable for half its lifetime on both clocks, because push services read the wall clock and refuse an `exp` more
    /// than a day ahead.
    private static func isUsable(_ minted: Minted, _ uptime: Duration, _ now: Timestamp) -> Bool {
        let halfLife = Duration.seconds(lifeSeconds / 2)
        return uptime - minted.uptime < halfLife && now - minted.at < halfLife && minted.at - now <= halfLife
    }

    /// Drops the tokens that are no longer usable. If there are none, drops half of all tokens: first those that their
    /// push service has not accepted, because there may be any number of untrusted hosts, then the older ones.
    private static func makeRoom(_ minted: inout [Key: Minted], _ uptime: Duration, _ now: Timestamp) {
        let before = minted.count
        minted = minted.filter { isUsable($0.value, uptime, now) }
        guard minted.count == before else { return }
        let never = Duration.seconds(-1)
        let order = minted.sorted {
            ($0.value.acceptedAt ?? never, $0.value.uptime) < ($1.value.acceptedAt ?? never, $1.value.uptime)
        }
        for (key, _) in order.prefix(before / 2 + 1) { minted[key] = nil }
    }

    /// A JWS in compact form, ES256: the signature is r and s concatenated (RFC 7518 §3.4).
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
        // No space after the comma: RFC 9110 §5.6.1 makes it optional, and some push services split at it.
        return "vapid t=\(jwt),k=\(key.publicKey)"
    }
}
