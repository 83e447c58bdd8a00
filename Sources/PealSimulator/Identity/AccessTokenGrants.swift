import Foundation
import Synchronization

/// The access tokens that FCM and WNS have given, and what each is good for.
package final class AccessTokenGrants: Sendable {
    /// What an access token is good for.
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

    /// A new access token that begins with `prefix`.
    func issue(_ grant: Grant, prefix: String) -> String {
        let accessToken = prefix + Base64URL.encode(Data(ids.bytes(48)))
        grants.withLock { grants in
            if grants.count >= SimulatorLimits.accessTokensMax { grants.removeAll() }
            grants[accessToken] = grant
        }
        return accessToken
    }

    /// What `accessToken` is good for; nil when it is unknown, revoked or has expired.
    func grant(_ accessToken: String, milliseconds: Int64) -> Grant? {
        guard let grant = grants.withLock({ $0[accessToken] }), milliseconds < grant.expiresAtMilliseconds else {
            return nil
        }
        return grant
    }

    /// Takes back all access tokens of `provider`; nil: of both.
    package func revoke(_ provider: PushProvider?) {
        grants.withLock { grants in
            grants = grants.filter { provider != nil && $0.value.provider != provider }
        }
    }
}
