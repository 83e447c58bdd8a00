import Crypto
import PealCore
import Synchronization

/// The provider token of one (team, key): made when first needed, the same for every connection of the process,
/// replaced at 40 to 50 minutes (Apple: at most every 20, at least every 60), never because APNs complained of too
/// many.
final class ProviderTokens: Sendable {
    private typealias Minted = ProviderTokenHistory.Minted

    /// Apple's bounds.
    static let updateSecondsMin = 20 * 60
    static let lifeSecondsMax = 60 * 60

    private let keyID: String
    private let teamID: String
    private let key: P256.Signing.PrivateKey
    private let history: ProviderTokenHistory
    private let time: any TimeSource
    private let randomness: any Randomness

    /// - Parameter history: what is known of the key's earlier provider tokens.
    init(
        keyID: String, teamID: String, key: P256.Signing.PrivateKey, history: ProviderTokenHistory,
        time: any TimeSource, randomness: any Randomness
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        self.history = history
        self.time = time
        self.randomness = randomness
    }

    /// The value of `authorization` for requests that begin now; nil when signing failed.
    var authorization: Authorization? {
        let uptime = time.uptime
        return history.state.withLock { state in
            if let present = state.present {
                let age = uptime - present.uptime
                if age < present.life { return present.authorization }
                if uptime < state.heldUntil, age < .seconds(Self.lifeSecondsMax) { return present.authorization }
            }
            return renew(&state, uptime)
        }
    }

    /// APNs called the provider token expired. Returns whether another one is worth a try: not when the one it must
    /// have meant was young, for then a clock is wrong.
    func expired() -> Bool {
        let uptime = time.uptime
        return history.state.withLock { state in
            guard let present = state.present else { return true }
            if uptime - present.uptime >= .seconds(Self.updateSecondsMin) { return renew(&state, uptime) != nil }
            // Requests under the one before may still be answered.
            guard let previous = state.previous else { return false }
            return uptime - present.uptime < .seconds(2 * Limits.requestTimeoutSeconds)
                && present.uptime - previous.uptime >= .seconds(Self.updateSecondsMin)
        }
    }

    /// APNs saw too many provider tokens on a connection: the one before is used again while it lives, and no other is
    /// made for twenty minutes.
    func updatedTooOften() {
        let uptime = time.uptime
        history.state.withLock { state in
            guard uptime >= state.heldUntil else { return }
            state.heldUntil = uptime + .seconds(Self.updateSecondsMin)
            if let previous = state.previous, uptime - previous.uptime < .seconds(Self.lifeSecondsMax - 300) {
                state.early = state.present
                state.present = Minted(
                    authorization: previous.authorization, at: previous.at, uptime: previous.uptime,
                    life: .seconds(Self.lifeSecondsMax - 60))
                state.previous = nil
            }
        }
    }

    /// The one that came too early, or a new one.
    private func renew(_ state: inout ProviderTokenHistory.State, _ uptime: Duration) -> Authorization? {
        guard let early = state.early.take(), uptime - early.uptime < early.life else { return mint(&state, uptime) }
        state.previous = state.present
        state.present = early
        return early.authorization
    }

    private func mint(_ state: inout ProviderTokenHistory.State, _ uptime: Duration) -> Authorization? {
        let now = time.now
        guard let jwt = sign(issuedAt: now) else { return nil }
        state.versions += 1
        let authorization = Authorization(value: Array("bearer \(jwt)".utf8), version: state.versions)
        state.previous = state.present
        let life = Duration.seconds(40 * 60 + Int64(randomness.next() % 600))
        state.present = Minted(authorization: authorization, at: now, uptime: uptime, life: life)
        return authorization
    }

    /// JWS in compact form, ES256: the signature is r and s end to end (RFC 7518 §3.4).
    private func sign(issuedAt now: Timestamp) -> String? {
        let header: JSON = ["alg": "ES256", "kid": .string(keyID)]
        let claims: JSON = ["iss": .string(teamID), "iat": .integer(now.seconds)]
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        guard let signature = try? key.signature(for: Array(text.utf8)) else { return nil }
        return text + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }
}
