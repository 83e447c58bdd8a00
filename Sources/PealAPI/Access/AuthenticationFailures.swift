package import Logging
package import PealCore
internal import Synchronization

/// Limits guessing: after too many failures from a client address, further attempts from it are refused without
/// checking the secret until some time has passed. After too many failures for one key, attempts with it from addresses
/// that failed recently are refused too. From any other address, the secret is checked: the right one is accepted, a
/// wrong one gets the same refusal. A client that has succeeded with the same secret from the same address within the
/// last hour is still served. Therefore no client can lock others out.
package final class AuthenticationFailures: Sendable {
    package struct Snapshot: Sendable {
        package var failures = 0
        package var refused = 0
    }

    /// A secret that a client presents.
    struct Attempt: Sendable {
        let address: ClientAddress
        /// The public half that the client names; nil if the key has none.
        let keyName: String?
        /// The secret together with everything sent with it.
        let shown: String
    }

    private struct State {
        var addresses: TokenBuckets
        var keys: TokenBuckets
        /// Recent successes, by hash; each slot holds one.
        var successes: [(tag: Int, until: Duration)]
        var snapshot = Snapshot()

        func wait(forKeyOf attempt: Attempt, now: Duration) -> Double? {
            attempt.keyName.flatMap { keys.wait($0.hashValue, now: now) }
        }
    }

    private static let successesHeld = 8192
    private static let successLasts = Duration.seconds(3600)

    private let time: any TimeSource
    private let logger: Logger
    private let state: Mutex<State>

    package init(perMinute: Int, time: any TimeSource, logger: Logger) {
        self.time = time
        self.logger = logger
        let buckets = TokenBuckets(capacity: Double(perMinute), perSecond: Double(perMinute) / 60)
        let none = (tag: 0, until: Duration.zero)
        state = Mutex(
            State(
                addresses: buckets, keys: buckets, successes: Array(repeating: none, count: Self.successesHeld)))
    }

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Called before the secret is checked.
    /// - Throws: `rate_limited` after too many failures.
    func check(_ attempt: Attempt) throws(PealError) {
        let now = time.uptime
        let wait = state.withLock { state -> Double? in
            let address = attempt.address.network.hashValue
            let ofKey = state.addresses.isFull(address, now: now) ? nil : state.wait(forKeyOf: attempt, now: now)
            guard let wait = [state.addresses.wait(address, now: now), ofKey].compactMap({ $0 }).max() else {
                return nil
            }
            if Self.knows(attempt, state, now: now) { return nil }
            state.snapshot.refused += 1
            return wait
        }
        if let wait { throw Self.refusal(wait) }
    }

    /// Whether the same attempt succeeded recently.
    func knows(_ attempt: Attempt) -> Bool {
        let now = time.uptime
        return state.withLock { Self.knows(attempt, $0, now: now) }
    }

    private static func knows(_ attempt: Attempt, _ state: State, now: Duration) -> Bool {
        let tag = tag(attempt)
        let known = state.successes[slot(tag)]
        return known.tag == tag && known.until > now
    }

    func succeeded(_ attempt: Attempt) {
        let (now, tag) = (time.uptime, Self.tag(attempt))
        state.withLock { $0.successes[Self.slot(tag)] = (tag, now + Self.successLasts) }
    }

    /// - Throws: `rate_limited` when there were too many failures for the key before this one.
    func failed(_ attempt: Attempt) throws(PealError) {
        let now = time.uptime
        let (wait, isLimitReached) = state.withLock { state -> (Double?, Bool) in
            let wait = state.wait(forKeyOf: attempt, now: now)
            let wasReached = wait != nil || state.addresses.wait(attempt.address.network.hashValue, now: now) != nil
            if wait == nil { state.snapshot.failures += 1 } else { state.snapshot.refused += 1 }
            state.addresses.take(attempt.address.network.hashValue, now: now)
            if let name = attempt.keyName { state.keys.take(name.hashValue, now: now) }
            let isReached =
                state.addresses.wait(attempt.address.network.hashValue, now: now) != nil
                || state.wait(forKeyOf: attempt, now: now) != nil
            return (wait, isReached && !wasReached)
        }
        if isLimitReached {
            logger.warning(
                "authentication failed too often: further attempts get 429",
                metadata: ["address": "\(attempt.address.network)", "key": "\(attempt.keyName ?? "none")"])
        }
        if let wait { throw Self.refusal(wait) }
    }

    private static func refusal(_ wait: Double) -> PealError {
        PealError(
            .rateLimited, "authentication failed too often; try again later",
            retryAfterSeconds: max(1, Int(wait.rounded(.up))))
    }

    private static func tag(_ attempt: Attempt) -> Int {
        var hasher = Hasher()
        hasher.combine(attempt.address.network)
        hasher.combine(attempt.shown)
        return hasher.finalize()
    }

    private static func slot(_ tag: Int) -> Int { Int(UInt(bitPattern: tag) % UInt(successesHeld)) }
}

/// Limits the requests of each key and of each app.
final class RequestQuotas: Sendable {
    private let time: any TimeSource
    private let state: Mutex<Buckets>
    /// There are many more devices than keys; with more buckets, fewer of them share one.
    private static let deviceBuckets = 65_536

    /// Each may use the requests of two seconds at once.
    init(perKey: Int, perApp: Int, time: any TimeSource) {
        self.time = time
        state = Mutex(
            Buckets(
                keys: TokenBuckets(capacity: Double(perKey) * 2, perSecond: Double(perKey)),
                apps: TokenBuckets(capacity: Double(perApp) * 2, perSecond: Double(perApp)),
                devices: TokenBuckets(
                    capacity: Double(Limits.requestsPerDevicePerMinute),
                    perSecond: Double(Limits.requestsPerDevicePerMinute) / 60, count: Self.deviceBuckets)))
    }

    private struct Buckets {
        var keys: TokenBuckets
        var apps: TokenBuckets
        var devices: TokenBuckets
    }

    /// - Throws: `rate_limited`.
    func spend(_ installation: Installation) throws(PealError) {
        var hasher = Hasher()
        hasher.combine(installation.app)
        hasher.combine(installation.device)
        let device = hasher.finalize()
        try spend(device, of: \.devices, app: installation.app, "too many requests of this device or in this app")
    }

    /// - Throws: `rate_limited`.
    func spend(_ key: APIKey) throws(PealError) {
        try spend(key.id.hashValue, of: \.keys, app: key.app, "too many requests with this key or in this app")
    }

    private func spend(
        _ caller: Int, of buckets: WritableKeyPath<Buckets, TokenBuckets>, app: AppKey, _ refusal: String
    ) throws(PealError) {
        let now = time.uptime
        let wait = state.withLock { state -> Double? in
            let app = app.hashValue
            if let wait = state[keyPath: buckets].wait(caller, now: now) ?? state.apps.wait(app, now: now) {
                return wait
            }
            state[keyPath: buckets].take(caller, now: now)
            state.apps.take(app, now: now)
            return nil
        }
        if let wait {
            throw PealError(.rateLimited, refusal, retryAfterSeconds: max(1, Int(wait.rounded(.up))))
        }
    }
}

/// Limits the registrations with each device key from each client address: everyone who has the app has the key.
final class RegistrationQuota: Sendable {
    private let time: any TimeSource
    private let buckets: Mutex<TokenBuckets>

    init(perMinute: Int, time: any TimeSource) {
        self.time = time
        buckets = Mutex(TokenBuckets(capacity: Double(perMinute), perSecond: Double(perMinute) / 60, count: 65_536))
    }

    /// - Throws: `rate_limited`.
    func spend(_ key: KeyID, _ address: ClientAddress) throws(PealError) {
        var hasher = Hasher()
        hasher.combine(key)
        hasher.combine(address.network)
        let (name, now) = (hasher.finalize(), time.uptime)
        let wait = buckets.withLock { buckets -> Double? in
            if let wait = buckets.wait(name, now: now) { return wait }
            buckets.take(name, now: now)
            return nil
        }
        if let wait {
            throw PealError(
                .rateLimited, "too many registrations with this key from this address",
                retryAfterSeconds: max(1, Int(wait.rounded(.up))))
        }
    }
}

/// Many token buckets in constant memory. Names that map to the same slot share a bucket until it is full again; names
/// are hashed with a random seed, so that no client can choose a slot.
struct TokenBuckets: Sendable {
    private struct Bucket {
        /// Tokens taken and not yet refilled.
        var taken = 0.0
        var at = Duration.zero
    }

    private let capacity: Double
    private let perSecond: Double
    private var buckets: [Bucket]

    init(capacity: Double, perSecond: Double, count: Int = 4096) {
        self.capacity = max(1, capacity)
        self.perSecond = perSecond
        buckets = Array(repeating: Bucket(), count: count)
    }

    /// How many seconds until a token is available; nil if one is available now.
    func wait(_ name: Int, now: Duration) -> Double? {
        let excess = taken(buckets[slot(name)], now: now) + 1 - capacity
        return excess > 0.000_001 ? excess / perSecond : nil
    }

    /// Whether every token is available.
    func isFull(_ name: Int, now: Duration) -> Bool { taken(buckets[slot(name)], now: now) == 0 }

    mutating func take(_ name: Int, now: Duration) {
        let slot = slot(name)
        let taken = taken(buckets[slot], now: now)
        buckets[slot] = Bucket(taken: min(capacity, taken + 1), at: now)
    }

    private func taken(_ bucket: Bucket, now: Duration) -> Double {
        let (seconds, attoseconds) = (now - bucket.at).components
        return max(0, bucket.taken - (Double(seconds) + Double(attoseconds) / 1e18) * perSecond)
    }

    private func slot(_ name: Int) -> Int { Int(UInt(bitPattern: name) % UInt(buckets.count)) }
}
