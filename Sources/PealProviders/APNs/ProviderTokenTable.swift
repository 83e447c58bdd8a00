import Crypto
import PealCore
import Synchronization

/// Holds one `ProviderTokens` per (team, key) for the whole process, whatever apps and environments use it. The signing
/// key itself is kept by those who sign with it and goes with the last of them.
final class ProviderTokenTable: Sendable {
    /// The public half names a key without telling it.
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
    private let entries = Mutex<[Key: Entry]>([:])

    init(time: any TimeSource, randomness: any Randomness) {
        self.time = time
        self.randomness = randomness
    }

    /// - Throws: `invalid_field` when the key cannot be read.
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
                randomness: randomness)
            entries[key] = Entry(tokens: tokens, history: history)
            return tokens
        }
    }

    /// How many signing keys are held, for tests.
    var keyCount: Int { entries.withLock { $0.values.count { $0.tokens != nil } } }
}
