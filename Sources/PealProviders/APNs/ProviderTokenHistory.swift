import PealCore
import Synchronization

/// What is known of the provider tokens of one key, without the key itself. It outlives the connections that use them,
/// so that a credential that is put anew under the same key goes on with the provider token that there is: Apple allows
/// another only every twenty minutes.
final class ProviderTokenHistory: Sendable {
    /// One provider token.
    struct Minted {
        let authorization: Authorization
        let minted: Instant
        let life: Duration

        /// How old it is for APNs, which reads the wall clock: never younger than by the clock that does not jump.
        func age(at instant: Instant) -> Duration {
            max(instant.uptime - minted.uptime, instant.now - minted.now)
        }

        /// Whether it was issued in what is the future since the wall clock was set back: APNs refuses it.
        func isAhead(of instant: Instant) -> Bool {
            minted.now - instant.now > ProviderTokens.skewMax
        }

        /// Whether APNs takes it.
        func isAlive(at instant: Instant) -> Bool {
            age(at: instant) < .seconds(ProviderTokens.lifeSecondsMax) && !isAhead(of: instant)
        }
    }

    /// One instant on both clocks.
    struct Instant {
        let now: Timestamp
        let uptime: Duration

        init(_ time: any TimeSource) {
            now = time.now
            uptime = time.uptime
        }
    }

    struct State {
        var present: Minted?
        var previous: Minted?
        /// Made too early for APNs, and used once the present one ends.
        var early: Minted?
        /// APNs saw too many updates: none before then.
        var heldUntil = Duration.zero
        var versions = 0
    }

    let state = Mutex(State())

    /// Whether nothing of it counts any more: its provider tokens are older than APNs takes, and none is forbidden.
    func isOver(at uptime: Duration) -> Bool {
        state.withLock { state in
            guard uptime >= state.heldUntil else { return false }
            guard let present = state.present else { return true }
            return uptime - present.minted.uptime >= .seconds(ProviderTokens.lifeSecondsMax)
        }
    }
}
