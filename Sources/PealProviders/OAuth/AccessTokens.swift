import Logging
import PealCore
import Synchronization

/// The OAuth access token of one credential: asked for when first needed, by one request however many want it, and
/// renewed five minutes before its end while the present one is still used. Handed out without waiting to event loops
/// (`authorization`), and with waiting for callers that need the first one (`whenReady`).
final class AccessTokens: Sendable {
    /// Whether requests may begin.
    enum Readiness: Sendable, Hashable {
        case ready(Authorization)
        /// What to answer to those that cannot: `stopApp` where the credential is at fault, else `unsent`.
        case unavailable(Answer)
    }

    private struct Grant {
        let authorization: Authorization
        /// On `TimeSource.uptime`.
        let grantedAt: Duration
        let renewAt: Duration
        let end: Duration
        /// `renewAt` on the wall clock. Where a virtual machine stood still only that one knows; since it may as well
        /// be wrong, the token is used meanwhile.
        let renewAtWall: Timestamp
        /// Whether the one before was refused by the push network.
        let replacesRefused: Bool
    }

    private struct State {
        var present: Grant?
        var fetch: Task<AccessTokenReply, Never>?
        var waiters: [@Sendable (Readiness) -> Void] = []
        var versions = 0
        var failures = 0
        /// No request before then, and why there is no token.
        var retryAt = Duration.zero
        var obstacle: Answer = .unsent("NoAccessToken")
        /// The push network refused the last token.
        var replacesRefused = false
        /// The last token that was refused although it replaced a refused one.
        var stoppedVersion: Int?
        var isClosed = false
    }

    /// How long before its end a token is renewed; of a short-lived one half its life.
    static let renewalMargin = Duration.seconds(300)
    /// After a refusal of the credential nothing is asked for so long. Shorter than the engine's first probe.
    static let refusalPause = Duration.seconds(20)
    private static let failurePauseSecondsMax: Int64 = 60
    /// A token that replaced a refused one and is refused before that age says that no token will do.
    private static let youth = Duration.seconds(600)

    private let source: any AccessTokenSource
    private let time: any TimeSource
    private let randomness: any Randomness
    private let logger: Logger
    private let state = Mutex(State())

    init(source: any AccessTokenSource, time: any TimeSource, randomness: any Randomness, logger: Logger) {
        self.source = source
        self.time = time
        self.randomness = randomness
        self.logger = logger
    }

    /// The `authorization` of requests that begin now, without waiting: nil when there is none in force. Sees to its
    /// renewal in time.
    var authorization: Authorization? {
        let uptime = time.uptime
        return state.withLock { state in
            guard let present = state.present, uptime < present.end else { return nil }
            if isDue(present, uptime), uptime >= state.retryAt { begin(&state) }
            return present.authorization
        }
    }

    /// Why nothing may begin while `authorization` is nil.
    var obstacle: Answer { state.withLock(\.obstacle) }

    /// Calls `body` once: at once where a token is in force or cannot be had for now, else when the request for one is
    /// answered, from any thread.
    func whenReady(_ body: @escaping @Sendable (Readiness) -> Void) {
        let uptime = time.uptime
        let readiness = state.withLock { state -> Readiness? in
            if let present = state.present, uptime < present.end {
                if isDue(present, uptime), uptime >= state.retryAt { begin(&state) }
                return .ready(present.authorization)
            }
            guard !state.isClosed else { return .unavailable(.unsent("Draining")) }
            guard state.fetch != nil || uptime >= state.retryAt else { return .unavailable(state.obstacle) }
            begin(&state)
            state.waiters.append(body)
            return nil
        }
        if let readiness { body(readiness) }
    }

    /// As `whenReady`.
    func ready() async -> Readiness {
        await withCheckedContinuation { continuation in whenReady { continuation.resume(returning: $0) } }
    }

    /// Asks for a new token whatever the pauses, or waits for the request under way, and says what came back.
    func renew() async -> AccessTokenReply {
        let fetch = state.withLock { state in
            begin(&state)
            return state.fetch
        }
        return await fetch?.value ?? .failed(.init(reason: "Draining"), retryAfter: nil)
    }

    /// The push network refused a token. At most one new one is asked for per token; when that is refused too, no token
    /// will do.
    /// - Parameter version: of the authorization that was refused; 0 = not known, taken for the present one.
    /// - Returns: `refreshCredential` or `stopApp`.
    func refused(version: Int) -> Verdict {
        let uptime = time.uptime
        return state.withLock { state in
            if version != 0, version == state.stoppedVersion { return .stopApp }
            guard let present = state.present, version == 0 || version == present.authorization.version else {
                return .refreshCredential
            }
            state.present = nil
            state.replacesRefused = true
            guard present.replacesRefused, uptime - present.grantedAt < Self.youth else {
                begin(&state)
                return .refreshCredential
            }
            state.stoppedVersion = present.authorization.version
            state.retryAt = uptime + Self.refusalPause
            state.obstacle = Answer(.verdict(.stopApp), reason: "AccessTokenRefused", status: 401)
            return .stopApp
        }
    }

    /// Hands out nothing more and ends the request under way.
    func close() {
        let (fetch, waiters) = state.withLock { state in
            state.isClosed = true
            state.present = nil
            state.obstacle = .unsent("Draining")
            defer { state.waiters = [] }
            return (state.fetch, state.waiters)
        }
        fetch?.cancel()
        for waiter in waiters { waiter(.unavailable(.unsent("Draining"))) }
    }

    private func isDue(_ grant: Grant, _ uptime: Duration) -> Bool {
        uptime >= grant.renewAt || time.now >= grant.renewAtWall
    }

    /// Begins a request unless one is under way. A task of its own: it belongs to nobody who waits, for the first one
    /// to give up must not end it for the others. Bounded by the source, ended by `close`.
    private func begin(_ state: inout State) {
        guard state.fetch == nil, !state.isClosed else { return }
        state.fetch = Task { [self] in
            let startedAt = time.uptime
            let reply = await source.fetch()
            end(reply, startedAt: startedAt)
            return reply
        }
    }

    private func end(_ reply: AccessTokenReply, startedAt: Duration) {
        let uptime = time.uptime
        let (waiters, readiness) = state.withLock { state in
            state.fetch = nil
            let readiness = state.isClosed ? .unavailable(state.obstacle) : take(reply, startedAt, uptime, &state)
            defer { state.waiters = [] }
            return (state.waiters, readiness)
        }
        note(reply)
        for waiter in waiters { waiter(readiness) }
    }

    private func take(
        _ reply: AccessTokenReply, _ startedAt: Duration, _ uptime: Duration, _ state: inout State
    ) -> Readiness {
        switch reply {
        case .granted(let accessToken, let life):
            state.versions += 1
            let authorization = Authorization(value: Array("Bearer \(accessToken)".utf8), version: state.versions)
            let end = startedAt + life
            let renewAt = end - min(Self.renewalMargin, life / 2)
            state.present = Grant(
                authorization: authorization, grantedAt: uptime, renewAt: renewAt, end: end,
                renewAtWall: time.now + (renewAt - uptime), replacesRefused: state.replacesRefused)
            state.replacesRefused = false
            state.failures = 0
            state.retryAt = .zero
            state.obstacle = .unsent("NoAccessToken")
            return .ready(authorization)
        case .refused(let trouble):
            state.retryAt = uptime + Self.refusalPause
            state.obstacle = Answer(.verdict(.stopApp), reason: trouble.reason, status: trouble.status)
        case .failed(let trouble, let retryAfter):
            state.retryAt = uptime + (retryAfter ?? pause(after: state.failures))
            state.failures += 1
            state.obstacle = .unsent(trouble.reason)
        }
        // The present one is used to its end, whatever became of its successor.
        if let present = state.present, uptime < present.end { return .ready(present.authorization) }
        return .unavailable(state.obstacle)
    }

    /// One second, doubling up to a minute, between half of it and all.
    private func pause(after failures: Int) -> Duration {
        let seconds = min(Self.failurePauseSecondsMax, 1 << Int64(min(failures, 16)))
        return .milliseconds(seconds * 500 + Int64(randomness.next() % UInt64(seconds * 500)))
    }

    private func note(_ reply: AccessTokenReply) {
        switch reply {
        case .granted: logger.debug("access token granted")
        case .refused(let trouble): logger.error("access token refused", metadata: Self.metadata(trouble))
        case .failed(let trouble, _): logger.warning("no access token", metadata: Self.metadata(trouble))
        }
    }

    private static func metadata(_ trouble: AccessTokenReply.Trouble) -> Logger.Metadata {
        ["reason": "\(trouble.reason)", "status": "\(trouble.status)", "detail": "\(trouble.detail)"]
    }
}
