import Crypto
import Foundation
import Synchronization

/// The provider keys that the simulator knows, by key id. Verifies provider tokens, and remembers the verified ones
/// because a sender uses the same one for many requests.
package final class ProviderKeys: Sendable {
    private struct State {
        var keys: [String: ProviderKey] = [:]
        var verified: [String: ProviderClaims] = [:]
    }

    private let state = Mutex(State())

    /// No keys.
    package init() {}

    /// Adds `key`, or replaces the one of the same id. Throws when there are too many.
    package func set(_ key: ProviderKey, id: String) throws {
        try state.withLock { state in
            guard state.keys[id] != nil || state.keys.count < SimulatorLimits.providerKeysMax else {
                throw SimulatorError("keys: at most \(SimulatorLimits.providerKeysMax)")
            }
            state.keys[id] = key
            state.verified.removeAll()
        }
    }

    /// Removes a key, as if it had been revoked. Returns whether there was one.
    package func remove(id: String) -> Bool {
        state.withLock { state in
            state.verified.removeAll()
            return state.keys.removeValue(forKey: id) != nil
        }
    }

    /// The claims of `providerToken`, with a valid header, signature and issuer. The caller checks its age.
    func verify(_ providerToken: String) throws(APNsReason) -> ProviderClaims {
        if let claims = state.withLock({ $0.verified[providerToken] }) { return claims }
        let claims = try check(providerToken)
        state.withLock { state in
            if state.verified.count >= SimulatorLimits.verifiedTokensMax { state.verified.removeAll() }
            state.verified[providerToken] = claims
        }
        return claims
    }

    /// ES256 over `header.claims`. Apple documents `iat` as a number and does not say what APNs does with a string, so
    /// a number in a string is accepted with a warning.
    private func check(_ providerToken: String) throws(APNsReason) -> ProviderClaims {
        let parts = providerToken.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            header["alg"] as? String == "ES256", let keyID = header["kid"] as? String,
            let key = state.withLock({ $0.keys[keyID] }), let teamID = claims["iss"] as? String, key.teamID == teamID,
            let time = Self.seconds(claims["iat"]),
            let raw = URLSafeBase64.decode(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw),
            key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { throw .invalidProviderToken }
        return ProviderClaims(
            keyID: keyID, teamID: teamID, issuedAtSeconds: time.seconds, isTimeText: time.isText,
            bundleIDs: key.bundleIDs,
            environment: key.environment)
    }

    private static func seconds(_ claim: Any?) -> (seconds: Int64, isText: Bool)? {
        if let text = claim as? String { return Int64(text).map { ($0, true) } }
        guard let number = claim as? NSNumber else { return nil }
        return Int64(exactly: number.doubleValue.rounded(.down)).map { ($0, false) }
    }

    private static func object(_ part: Substring) -> [String: Any]? {
        URLSafeBase64.decode(part).flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
    }
}

/// A key of a developer account that signs provider tokens.
package struct ProviderKey: Sendable {
    /// The id of the developer team.
    package let teamID: String
    /// The apps that the team may send to.
    package let bundleIDs: Set<String>
    /// The only environment the key works in; nil for both.
    package let environment: PushEnvironment?
    let publicKey: P256.Signing.PublicKey

    /// A key of `teamID` for `bundleIDs`. Throws when `publicKeyPEM` is not a P-256 public key.
    package init(
        teamID: String, publicKeyPEM: String, bundleIDs: Set<String>, environment: PushEnvironment? = nil
    ) throws {
        self.teamID = teamID
        self.bundleIDs = bundleIDs
        self.environment = environment
        do {
            publicKey = try P256.Signing.PublicKey(pemRepresentation: publicKeyPEM)
        } catch {
            throw SimulatorError("public_key: not a P-256 public key in PEM")
        }
    }
}

/// The claims of a provider token with a valid signature.
struct ProviderClaims: Sendable {
    let keyID: String
    let teamID: String
    let issuedAtSeconds: Int64
    /// Whether `iat` is a string.
    let isTimeText: Bool
    let bundleIDs: Set<String>
    let environment: PushEnvironment?
}

/// A parsed JWT (RFC 7515 §7.1), unverified.
struct JSONWebToken: Sendable {
    let header: JSONValue
    let claims: JSONValue
    let signature: [UInt8]
    /// The signed bytes: header and claims as received.
    let signed: [UInt8]

    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = URLSafeBase64.decode(parts[0]).flatMap({ JSONValue(bytes: $0) }),
            let claims = URLSafeBase64.decode(parts[1]).flatMap({ JSONValue(bytes: $0) }),
            let signature = URLSafeBase64.decode(parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = Array(signature)
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }
}

/// Base64 with the URL alphabet and without padding (RFC 7515 §2).
enum URLSafeBase64 {
    /// The bytes of `text`; nil when it is invalid.
    static func decode(_ text: some StringProtocol) -> Data? {
        guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4))
    }

    static func encode(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
}

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

/// Why a token endpoint issues no access token (RFC 6749 §5.2).
struct AccessTokenRefusal: Error {
    private let status: Int
    private let error: String
    private let description: String

    init(_ error: String, _ description: String, status: Int = 400) {
        self.status = status
        self.error = error
        self.description = description
    }

    /// The error for a fault.
    /// - Parameter error: unless the fault names one.
    init(_ fault: FaultAnswer, otherwise error: String) {
        self.init(fault.reason.isEmpty ? error : fault.reason, "Failed on demand.", status: fault.status)
    }

    var answer: HTTPAnswer {
        let members = [("error", error), ("error_description", description)]
        return .json(status, JSONText.object(members.map { ($0.0, JSONText.quoted($0.1)) }))
    }
}
