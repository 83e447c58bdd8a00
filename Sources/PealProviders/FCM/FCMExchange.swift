import Crypto
import CryptoExtras
import NIOHTTP1
import PealCore

/// What a credential's FCM connections add to each request, and how their responses are judged.
struct FCMExchange: Exchange {
    let tokens: AccessTokens
    let time: any TimeSource

    var idName: String? { nil }
    var provesFirst: Bool { false }
    /// Google's access tokens have about a thousand characters.
    var indexesAuthorization: Bool { true }
    func authorization() -> Authorization? { tokens.authorization }
    func obstacle() -> ProviderAnswer? { tokens.obstacle }

    func answer(to response: ProviderResponse) -> ProviderAnswer {
        let error = FCMError(response.body)
        var verdict = FCMVerdicts.verdict(
            status: response.status, error: error,
            retryAfter: response.retryAfter?.wait(now: time.now) ?? error.retryDelay)
        if verdict == .refreshCredential { verdict = tokens.refused(version: response.authorizationVersion) }
        if verdict == .accepted { return ProviderAnswer(.verdict(.accepted), reason: "", status: response.status) }
        return ProviderAnswer(
            .verdict(verdict), reason: FCMVerdicts.reason(status: response.status, error: error),
            status: response.status)
    }
}

/// Requests access tokens from Google with a signed assertion (RFC 7523 §2.1;
/// https://developers.google.com/identity/protocols/oauth2/service-account).
struct FCMTokenSource: AccessTokenSource {
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    private static let grantType = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    /// Google's maximum.
    private static let assertionLifeSeconds: Int64 = 3600

    private let account: Credential.FCMServiceAccount
    private let key: _RSA.Signing.PrivateKey
    private let client: OutboundClient
    private let time: any TimeSource

    /// - Throws: `invalid_field` if the key cannot be read.
    init(
        _ account: Credential.FCMServiceAccount, client: OutboundClient, time: any TimeSource
    ) throws(PealError) {
        self.account = account
        key = try FCMCredential.signingKey(account.privateKey)
        self.client = client
        self.time = time
    }

    func fetch() async -> AccessTokenReply {
        guard let assertion = assertion(at: time.now) else {
            return .refused(.init(reason: "SigningFailed", detail: "the private key cannot sign"))
        }
        let request = OutboundRequest(
            url: account.tokenURI,
            headers: ["content-type": "application/x-www-form-urlencoded", "accept": "application/json"],
            body: Array("grant_type=\(Self.grantType)&assertion=\(assertion)".utf8))
        return await AccessTokenReply(to: request, over: client, time)
    }

    /// A JWT in compact form, RS256: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    func assertion(at now: Timestamp) -> String? {
        let header = JSON.compact([
            ("alg", "RS256"), ("typ", "JWT"), ("kid", account.privateKeyID.map(JSON.string)),
        ])
        let claims: JSON = [
            "iss": .string(account.clientEmail), "scope": .string(Self.scope), "aud": .string(account.tokenURI),
            "iat": .integer(now.seconds), "exp": .integer(now.seconds + Self.assertionLifeSeconds),
        ]
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        let digest = SHA256.hash(data: Array(text.utf8))
        guard let signature = try? key.signature(for: digest, padding: .insecurePKCS1v1_5) else { return nil }
        return text + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }
}
