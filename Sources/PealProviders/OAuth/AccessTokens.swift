import Logging
import PealCore
import Synchronization

/// The OAuth access token of one credential. One request fetches it when it is first needed, however many callers wait;
/// another renews it five minutes before its end if it is still in use. Event loops get it without waiting
/// (`authorization`); callers that need the first one wait (`whenReady`).
final class AccessTokens: Sendable {
    /// Whether requests may begin.
    enum Readiness: Sendable, Hashable {
        case ready(Authorization)
        /// The answer to requests that cannot begin: `stopApp` if the credential is at fault, otherwise `unsent`.
        case unavailable(ProviderAnswer)
    }

    private struct Grant {
        let authorization: Authorization
        /// On `TimeSource.uptime`.
        let grantedAt: Duration
        let renewAt: Duration
        let end: Duration
        /// `renewAt` on the wall clock. After a virtual machine was suspended, only the wall clock is right. It may
        /// also be wrong, so the token stays in use until it is renewed.
        let renewAtWall: Timestamp
        /// Whether the push network refused the previous token.
        let replacesRefused: Bool
    }

    private struct State {
        var present: Grant?
        var fetch: Task<AccessTokenReply, Never>?
        var waiters: [@Sendable (Readiness) -> Void] = []
        var versions = 0
        var failures = 0
        /// No request begins before `retryAt`; `obstacle` is why there is no token.
        var retryAt = Duration.zero
        var obstacle: ProviderAnswer = .unsent("NoAccessToken")
        /// Whether the push network refused the last token.
        var replacesRefused = false
        /// When the push network last accepted a request with a token, on `TimeSource.uptime`.
        var acceptedAt: Duration?
        /// The version of the last token that was refused although it replaced a refused one.
        var stoppedVersion: Int?
        var isClosed = false
    }

    /// How long before its end a token is renewed, but at most half its lifetime.
    static let renewalMargin = Duration.seconds(300)
    /// After the credential is refused, no token is requested for this long. Shorter than the engine's first probe.
    static let refusalPause = Duration.seconds(20)
    private static let failurePauseSecondsMax: Int64 = 60
    /// If a token that replaced a refused one is refused before this age, another one will not help.
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

    /// The authorization of requests that begin now, without waiting; nil if no token is valid. Starts the renewal when
    /// it is due.
    var authorization: Authorization? {
        let uptime = time.uptime
        return state.withLock { state in
            guard let present = state.present, uptime < present.end else { return nil }
            if isDue(present, uptime), uptime >= state.retryAt { begin(&state) }
            return present.authorization
        }
    }

    /// Why no request may begin while `authorization` is nil.
    var obstacle: ProviderAnswer { state.withLock(\.obstacle) }

    /// Calls `body` once: immediately if a token is valid or cannot be requested for now, otherwise when the token
    /// request is answered. May call it from any thread.
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

    /// Like `whenReady`.
    func ready() async -> Readiness {
        await withCheckedContinuation { continuation in whenReady { continuation.resume(returning: $0) } }
    }

    /// Requests a new token regardless of pauses, or waits for the request in flight, and returns the reply.
    func renew() async -> AccessTokenReply {
        let fetch = state.withLock { state in
            begin(&state)
            return state.fetch
        }
        return await fetch?.value ?? .failed(.init(reason: "Draining"), retryAfter: nil)
    }

    /// Reports that the push network accepted a request with a token. Not called for networks that never refuse a token
    /// because of one device.
    /// - Parameter version: the version of the authorization. An earlier one than the current says nothing about it.
    func accepted(version: Int) {
        let uptime = time.uptime
        state.withLock { state in
            guard version == state.present?.authorization.version else { return }
            state.acceptedAt = uptime
        }
    }

    /// Reports that the push network refused a token. At most one replacement is requested per token; if that is
    /// refused too, no token will be accepted, unless `accepted` shows that only this device's request is refused.
    /// - Parameter version: the version of the refused authorization; 0 if unknown, taken as the current one.
    /// - Returns: `refreshCredential` if the next request carries another token, otherwise as `RefusalEvidence`.
    func refused(version: Int) -> Verdict {
        let uptime = time.uptime
        return state.withLock { state in
            if version != 0, version == state.stoppedVersion { return .stopApp }
            guard let present = state.present, version == 0 || version == present.authorization.version else {
                return .refreshCredential
            }
            let isNew = present.replacesRefused && uptime - present.grantedAt < Self.youth
            if isNew {
                let verdict = RefusalEvidence.verdict(
                    renewedAt: present.grantedAt, acceptedAt: state.acceptedAt, uptime: uptime)
                guard verdict == .stopApp else { return verdict }
            }
            state.present = nil
            state.replacesRefused = true
            guard isNew else {
                begin(&state)
                return .refreshCredential
            }
            state.stoppedVersion = present.authorization.version
            state.retryAt = uptime + Self.refusalPause
            state.obstacle = ProviderAnswer(.verdict(.stopApp), reason: "AccessTokenRefused", status: 401)
            return .stopApp
        }
    }

    /// Hands out no more tokens and cancels the request in flight.
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

    /// Begins a request unless one is in flight. The task is unstructured: if the first waiter gives up, the others
    /// still need it. The source limits its time, and `close` cancels it.
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
        case .refused(let failure):
            state.retryAt = uptime + Self.refusalPause
            state.obstacle = ProviderAnswer(.verdict(.stopApp), reason: failure.reason, status: failure.status)
        case .failed(let failure, let retryAfter):
            state.retryAt = uptime + (retryAfter ?? pause(after: state.failures))
            state.failures += 1
            state.obstacle = .unsent(failure.reason)
        }
        // The current token is used to its end, even if its renewal fails.
        if let present = state.present, uptime < present.end { return .ready(present.authorization) }
        return .unavailable(state.obstacle)
    }

    /// One second, doubling up to a minute, with a random factor of 0.5 to 1.
    private func pause(after failures: Int) -> Duration {
        let seconds = min(Self.failurePauseSecondsMax, 1 << Int64(min(failures, 16)))
        return .milliseconds(seconds * 500 + Int64(randomness.next() % UInt64(seconds * 500)))
    }

    private func note(_ reply: AccessTokenReply) {
        switch reply {
        case .granted: logger.debug("access token granted")
        case .refused(let failure): logger.error("access token refused", metadata: Self.metadata(failure))
        case .failed(let failure, _): logger.warning("cannot get an access token", metadata: Self.metadata(failure))
        }
    }

    private static func metadata(_ failure: AccessTokenReply.Failure) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["reason": "\(failure.reason)"]
        // Without an answer there is neither.
        if failure.status > 0 { metadata["status"] = "\(failure.status)" }
        if !failure.detail.isEmpty { metadata["detail"] = "\(failure.detail)" }
        return metadata
    }
}
