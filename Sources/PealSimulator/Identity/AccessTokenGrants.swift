import Foundation
import Synchronization

/// The access tokens issued by FCM and WNS, and their grants.
package final class AccessTokenGrants: Sendable {
    /// What an access token is valid for.
    struct Grant: Sendable {
        let provider: PushProvider
        let scopes: Set<String>
        let expiresAtMilliseconds: Int64
    }

    private let grants = Mutex<[String: Grant]>([:])
    private let ids: IDSource

    init(ids: IDSource) {
        self.ids = ids
    }

    /// Issues an access token that starts with `prefix`.
    func issue(_ grant: Grant, prefix: String) -> String {
        let accessToken = prefix + URLSafeBase64.encode(Data(ids.bytes(48)))
        grants.withLock { grants in
            if grants.count >= SimulatorLimits.accessTokensMax { grants.removeAll() }
            grants[accessToken] = grant
        }
        return accessToken
    }

    /// The grant of `accessToken`; nil when it is unknown, revoked or expired.
    func grant(_ accessToken: String, milliseconds: Int64) -> Grant? {
        guard let grant = grants.withLock({ $0[accessToken] }), milliseconds < grant.expiresAtMilliseconds else {
            return nil
        }
        return grant
    }

    /// Revokes all access tokens of `provider`, or of all if nil.
    package func revoke(_ provider: PushProvider?) {
        grants.withLock { grants in
            grants = grants.filter { provider != nil && $0.value.provider != provider }
        }
    }
}
