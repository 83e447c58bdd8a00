import Crypto
import PealCore
import Synchronization

/// The provider token of one (team, key). Signed when first needed, shared by all connections of the process, and
/// replaced after 40 to 50 minutes (Apple: at most every 20, at least every 60 minutes). If APNs answers that tokens
/// change too often, no new one is signed. Only a jump of the wall clock replaces a token sooner, because APNs compares
/// `iat` with its own clock.
///
/// If several servers share a database, they also share the token: one signs it, and the others use it.
final class ProviderTokens: Sendable {
    private typealias Minted = ProviderTokenHistory.Minted
    private typealias Instant = ProviderTokenHistory.Instant

    /// Apple's limits, in seconds.
    static let updateSecondsMin = 20 * 60
    static let lifeSecondsMax = 60 * 60
    /// From this age on a token is replaced.
    private static let lifeSecondsMin: Int64 = 40 * 60
    /// How far `iat` may be ahead of the wall clock: clocks are often set back by less.
    static let skewMax = Duration.seconds(60)

    private let keyID: String
    private let teamID: String
    private let key: P256.Signing.PrivateKey
    private let history: ProviderTokenHistory
    private let time: any TimeSource
    private let randomness: any Randomness
    /// nil if this process is the only server.
    private let store: (any Store)?
    /// Names the key in the store, without revealing anything of it.
    private let name: String

    /// - Parameters:
    ///   - history: the key's earlier provider tokens.
    ///   - store: the store in which servers share tokens.
    init(
        keyID: String, teamID: String, key: P256.Signing.PrivateKey, history: ProviderTokenHistory,
        time: any TimeSource, randomness: any Randomness, store: (any Store)? = nil
    ) {
        self.store = store
        let identity = Array("\(teamID)/\(keyID)/".utf8) + Array(key.publicKey.rawRepresentation)
        name = "apns " + Hex.encode(Array(SHA256.hash(data: identity)))
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        self.history = history
        self.time = time
        self.randomness = randomness
    }

    /// The value of `authorization` for requests that begin now; nil if signing fails.
    var authorization: Authorization? {
        let instant = Instant(time)
        return history.state.withLock { state in
            if let present = state.present, present.isAlive(at: instant) {
                if present.age(at: instant) < present.life || !Self.mayReplace(present, state, instant) {
                    return present.authorization
                }
                if store != nil {
                    beginAgreement(&state)
                    return present.authorization
                }
            }
            return renew(&state, instant)
        }
    }

    /// Calls `body` once there is a token that the servers agree on, or the store has not answered in time: immediately
    /// in most cases. May call it from any thread.
    func whenReady(_ body: @escaping @Sendable () -> Void) {
        guard store != nil else { return body() }
        let instant = Instant(time)
        let isReady = history.state.withLock { state in
            state.waiters.append(body)
            guard state.present?.isAlive(at: instant) != true else { return true }
            beginAgreement(&state)
            return !state.isAgreeing
        }
        if isReady { release() }
    }

    /// Whether the store is being asked. For tests.
    var isAgreeing: Bool { history.state.withLock { $0.isAgreeing } }

    /// Like `whenReady`.
    func ready() async {
        await withCheckedContinuation { continuation in whenReady { continuation.resume() } }
    }

    /// How long the store may take. After that, this server uses its own offer.
    private static let patience: Duration = .seconds(3)
    /// Between attempts while the store does not answer.
    private static let pauseAfterFailure: Duration = .seconds(5)

    /// Asks the store for the token of all servers, with at most one request at a time, and offers its own.
    private func beginAgreement(_ state: inout ProviderTokenHistory.State) {
        let instant = Instant(time)
        guard !state.isAgreeing, instant.uptime >= state.agreesFrom, let store, let offer = offer(state, instant)
        else { return }
        state.isAgreeing = true
        state.offer = offer
        let oldest = instant.now - .seconds(Self.lifeSecondsMin)
        // Unstructured, because event loops ask for tokens and must not wait.
        Task { [name] in
            let agreed = try? await store.write(.control) {
                try $0.agreeOnToken(offer, name: name, oldest: oldest, now: instant.now)
            }
            self.adopt(agreed, offer)
            self.release()
        }
        Task {
            try? await self.time.sleep(for: Self.patience)
            self.release()
        }
    }

    /// Waiters continue, if necessary with a token of this server only.
    private func release() {
        let waiters = history.state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }

    private func offer(_ state: ProviderTokenHistory.State, _ instant: Instant) -> SharedToken? {
        if let earlier = state.usableAgain(at: instant) {
            return SharedToken(earlier.authorization.value, issuedAt: earlier.minted.now)
        }
        return sign(issuedAt: instant.now).map { SharedToken(Array("bearer \($0)".utf8), issuedAt: instant.now) }
    }

    /// Uses the token that the servers agreed on, unless a young one is already in use because the store answered late;
    /// without one, uses this server's own offer if the current token is no longer valid.
    private func adopt(_ agreed: SharedToken?, _ offer: SharedToken) {
        let instant = Instant(time)
        history.state.withLock { state in
            state.isAgreeing = false
            state.offer = nil
            if agreed == nil { state.agreesFrom = instant.uptime + Self.pauseAfterFailure }
            let isAlive = state.present?.isAlive(at: instant) == true
            let mayTake = state.present.map { !isAlive || Self.mayReplace($0, state, instant) } ?? true
            if let agreed, minted(agreed, instant, version: 0).isAlive(at: instant) {
                if mayTake, state.present?.authorization.value != agreed.value { take(agreed, &state, instant) }
            } else if !isAlive {
                take(offer, &state, instant)
            }
        }
    }

    private func take(_ token: SharedToken, _ state: inout ProviderTokenHistory.State, _ instant: Instant) {
        state.versions += 1
        state.early = nil
        state.replacePresent(with: minted(token, instant, version: state.versions), at: instant)
    }

    private func minted(_ token: SharedToken, _ instant: Instant, version: Int) -> Minted {
        let age = max(.zero, instant.now - token.issuedAt)
        return Minted(
            authorization: Authorization(value: token.value, version: version),
            minted: Instant(now: token.issuedAt, uptime: instant.uptime - age), life: life())
    }

    private func life() -> Duration { .seconds(Self.lifeSecondsMin + Int64(randomness.next() % 600)) }

    /// APNs reported the provider token as expired. Returns whether another one can help. It cannot if the refused
    /// token was young, because then a clock is wrong.
    func expired() -> Bool {
        let instant = Instant(time)
        return history.state.withLock { state in
            guard let present = state.present else { return true }
            if Self.isWornOut(present, instant) {
                defer { state.forget(present) }
                return renew(&state, instant) != nil
            }
            // Requests with the previous token may still be answered.
            guard let previous = state.previous else { return false }
            return instant.uptime - present.minted.uptime < .seconds(2 * Limits.requestTimeoutSeconds)
                && Self.isWornOut(previous, present.minted)
        }
    }

    /// Whether the wall clock differs by more than APNs may tolerate.
    /// - Parameter date: the time according to APNs.
    func isClock(beside date: Timestamp) -> Bool {
        let now = time.now
        return max(now, date) - min(now, date) > Self.skewMax
    }

    /// APNs saw too many provider tokens on a connection. The previous one is used again while it is valid, and no new
    /// one is signed for twenty minutes.
    func updatedTooOften() {
        let instant = Instant(time)
        history.state.withLock { state in
            guard instant.uptime >= state.heldUntil else { return }
            state.heldUntil = instant.uptime + .seconds(Self.updateSecondsMin)
            guard let previous = state.previous, previous.isAlive(at: instant),
                previous.age(at: instant) < .seconds(Self.lifeSecondsMax - 300)
            else { return }
            state.early = state.present
            state.present = Minted(
                authorization: previous.authorization, minted: previous.minted,
                life: .seconds(Self.lifeSecondsMax - 60))
            state.previous = nil
        }
    }

    /// Whether a token that APNs still accepts may be replaced. Apple requires twenty minutes between two tokens,
    /// whatever the wall clock shows, and longer after `TooManyProviderTokenUpdates`.
    private static func mayReplace(_ present: Minted, _ state: ProviderTokenHistory.State, _ instant: Instant) -> Bool {
        instant.uptime >= state.heldUntil && instant.uptime - present.minted.uptime >= .seconds(updateSecondsMin)
    }

    /// Whether APNs may have refused the token because of its age or because it is ahead of the clock.
    private static func isWornOut(_ minted: Minted, _ instant: Instant) -> Bool {
        minted.age(at: instant) >= .seconds(updateSecondsMin) || minted.isAhead(of: instant)
    }

    /// Returns the token that was signed too early, one that is valid again, or a new one.
    private func renew(_ state: inout ProviderTokenHistory.State, _ instant: Instant) -> Authorization? {
        let early = state.early.take().flatMap { $0.isYoung(at: instant) ? $0 : nil }
        guard let known = early ?? state.usableAgain(at: instant) else { return mint(&state, instant) }
        state.replacePresent(with: known, at: instant)
        return known.authorization
    }

    private func mint(_ state: inout ProviderTokenHistory.State, _ instant: Instant) -> Authorization? {
        // The servers may be about to agree on this offer; then they do not need another one.
        if let offer = state.offer, minted(offer, instant, version: 0).isAlive(at: instant) {
            take(offer, &state, instant)
            return state.present?.authorization
        }
        guard let jwt = sign(issuedAt: instant.now) else { return nil }
        state.versions += 1
        let authorization = Authorization(value: Array("bearer \(jwt)".utf8), version: state.versions)
        state.replacePresent(with: Minted(authorization: authorization, minted: instant, life: life()), at: instant)
        return authorization
    }

    /// A JWS in compact form, ES256: the signature is r and s concatenated (RFC 7518 §3.4).
    private func sign(issuedAt now: Timestamp) -> String? {
        let header: JSON = ["alg": "ES256", "kid": .string(keyID)]
        let claims: JSON = ["iss": .string(teamID), "iat": .integer(now.seconds)]
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        guard let signature = try? key.signature(for: Array(text.utf8)) else { return nil }
        return text + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }
}

/// Holds one `ProviderTokens` per (team, key) for the whole process, shared by all apps and environments. The users of
/// a signing key keep it alive; it is released with the last of them.
final class ProviderTokenTable: Sendable {
    /// The public key identifies a key without revealing it.
    private struct Key: Hashable {
        let teamID: String
        let keyID: String
        let publicKey: [UInt8]
    }

    private struct Entry {
        weak var tokens: ProviderTokens?
        let history: ProviderTokenHistory
    }

    private let time: any TimeSource
    private let randomness: any Randomness
    private let store: (any Store)?
    private let entries = Mutex<[Key: Entry]>([:])

    /// - Parameter store: the store in which several servers share tokens; nil for one server.
    init(time: any TimeSource, randomness: any Randomness, store: (any Store)? = nil) {
        self.time = time
        self.randomness = randomness
        self.store = store
    }

    /// - Throws: `invalid_field` if the key cannot be read.
    func tokens(for credential: Credential.APNsToken) throws(PealError) -> ProviderTokens {
        let signingKey = try APNsCredential.signingKey(credential.privateKey)
        let key = Key(
            teamID: credential.teamID, keyID: credential.keyID,
            publicKey: Array(signingKey.publicKey.rawRepresentation))
        let uptime = time.uptime
        return entries.withLock { entries in
            if let tokens = entries[key]?.tokens { return tokens }
            entries = entries.filter { $1.tokens != nil || !$1.history.isOver(at: uptime) }
            let history = entries[key]?.history ?? ProviderTokenHistory()
            let tokens = ProviderTokens(
                keyID: credential.keyID, teamID: credential.teamID, key: signingKey, history: history, time: time,
                randomness: randomness, store: store)
            entries[key] = Entry(tokens: tokens, history: history)
            return tokens
        }
    }

    /// How many signing keys are held, for tests.
    var keyCount: Int { entries.withLock { $0.values.count { $0.tokens != nil } } }
}

/// The provider tokens of one key, without the key itself. It outlives the connections that use them, so that a
/// credential stored again with the same key keeps its provider token: Apple allows another only every twenty minutes.
final class ProviderTokenHistory: Sendable {
    /// One provider token.
    struct Minted {
        let authorization: Authorization
        let minted: Instant
        let life: Duration

        /// The age as APNs sees it by the wall clock, but never less than by the monotonic clock.
        func age(at instant: Instant) -> Duration {
            max(instant.uptime - minted.uptime, instant.now - minted.now)
        }

        /// Whether its time of issue is in the future because the wall clock was set back: APNs refuses it.
        func isAhead(of instant: Instant) -> Bool {
            minted.now - instant.now > ProviderTokens.skewMax
        }

        /// Whether APNs accepts it.
        func isAlive(at instant: Instant) -> Bool {
            age(at: instant) < .seconds(ProviderTokens.lifeSecondsMax) && !isAhead(of: instant)
        }

        /// Whether it need not be replaced yet.
        func isYoung(at instant: Instant) -> Bool { age(at: instant) < life && !isAhead(of: instant) }
    }

    /// One instant on both clocks.
    struct Instant {
        let now: Timestamp
        let uptime: Duration

        init(_ time: any TimeSource) { self.init(now: time.now, uptime: time.uptime) }

        init(now: Timestamp, uptime: Duration) {
            self.now = now
            self.uptime = uptime
        }
    }

    struct State {
        private static let earlierMax = 8

        var present: Minted?
        var previous: Minted?
        /// Tokens of the last hour that are no longer in use. If the wall clock jumped ahead and was set back, APNs
        /// accepts one of them, while it would refuse a third token within twenty minutes on the same connection.
        private var earlier: [Minted] = []
        /// Signed too early for APNs; used when the current one expires.
        var early: Minted?
        /// No new token before this time, because APNs saw too many updates.
        var heldUntil = Duration.zero
        var versions = 0
        /// Whether the store is being asked for the token of all servers, and the callers that wait for it.
        var isAgreeing = false
        /// What this server offered for the agreement that is under way.
        var offer: SharedToken?
        var agreesFrom = Duration.zero
        var waiters: [@Sendable () -> Void] = []

        /// The latest of the earlier tokens that need not be replaced at `instant`.
        func usableAgain(at instant: Instant) -> Minted? { earlier.last { $0.isYoung(at: instant) } }

        mutating func replacePresent(with minted: Minted, at instant: Instant) {
            let life = Duration.seconds(ProviderTokens.lifeSecondsMax)
            earlier.removeAll {
                instant.uptime - $0.minted.uptime >= life || $0.authorization.value == minted.authorization.value
            }
            if let present { earlier = earlier.suffix(Self.earlierMax - 1) + [present] }
            (previous, present) = (present, minted)
        }

        /// APNs refused it, so it is not used again.
        mutating func forget(_ minted: Minted) { earlier.removeAll { $0.authorization == minted.authorization } }
    }

    let state = Mutex(State())

    /// Whether the history can be dropped: APNs no longer accepts its tokens, and no pause is in force.
    func isOver(at uptime: Duration) -> Bool {
        state.withLock { state in
            guard uptime >= state.heldUntil else { return false }
            guard let present = state.present else { return true }
            return uptime - present.minted.uptime >= .seconds(ProviderTokens.lifeSecondsMax)
        }
    }
}
