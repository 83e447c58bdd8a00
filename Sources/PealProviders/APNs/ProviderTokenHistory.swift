import PealCore
import Synchronization

/// What is known of the provider tokens of one key, without the key itself. It outlives the connections that use them,
/// so that a credential that is put anew under the same key goes on with the provider token that there is: Apple allows
/// another only every twenty minutes.
final class ProviderTokenHistory: Sendable {
    /// One provider token.
    struct Minted {
        let authorization: Authorization
        let at: Timestamp
        let uptime: Duration
        let life: Duration
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
            return uptime - present.uptime >= .seconds(ProviderTokens.lifeSecondsMax)
        }
    }
}
