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
        let buckets = TokenBuckets(perMinute: perMinute)
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
        .rateLimited("authentication failed too often; try again later", after: wait)
    }

    private static func tag(_ attempt: Attempt) -> Int {
        var hasher = Hasher()
        hasher.combine(attempt.address.network)
        hasher.combine(attempt.shown)
        return hasher.finalize()
    }

    private static func slot(_ tag: Int) -> Int { Int(UInt(bitPattern: tag) % UInt(successesHeld)) }
}
