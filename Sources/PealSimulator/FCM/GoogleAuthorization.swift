import CryptoExtras
import Foundation

/// Google's OAuth endpoint for service accounts: issues access tokens for signed assertions
/// (https://developers.google.com/identity/protocols/oauth2/service-account, RFC 7523).
struct GoogleAuthorization: Sendable {
    /// The scopes that allow sending.
    static let sendingScopes: Set<String> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    private static let realAudience = "https://oauth2.googleapis.com/token"
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    let account: ServiceAccount
    let accessTokens: AccessTokenGrants
    let lifeSeconds: Int64

    func judge(_ request: PushRequest, milliseconds: Int64, mode: SimulatorMode) -> Judgement {
        do throws(AccessTokenRefusal) {
            let scopes =
                mode == .strict ? try check(request, nowSeconds: milliseconds / 1_000) : Self.sendingScopes
            let accessToken = accessTokens.issue(
                .init(provider: .fcm, scopes: scopes, expiresAtMilliseconds: milliseconds + lifeSeconds * 1_000),
                prefix: "ya29.sim.")
            let answer = HTTPAnswer.json(
                200,
                JSONText.object([
                    ("access_token", JSONText.quoted(accessToken)), ("expires_in", String(lifeSeconds)),
                    ("token_type", "\"Bearer\""),
                ]))
            return .accepted(Acceptance(kind: .authorization, answer: answer))
        } catch {
            return .declined(error.answer)
        }
    }

    /// The error for a fault.
    func answer(_ fault: FaultAnswer) -> HTTPAnswer {
        AccessTokenRefusal(fault, otherwise: "internal_failure").answer
    }

    /// Returns the requested scopes.
    private func check(_ request: PushRequest, nowSeconds: Int64) throws(AccessTokenRefusal) -> Set<String> {
        guard request.method == "POST" else { throw AccessTokenRefusal("invalid_request", "Only POST is allowed.") }
        guard let form = FormText.read(request) else {
            throw AccessTokenRefusal("invalid_request", "The body must be application/x-www-form-urlencoded.")
        }
        guard form["grant_type"] == Self.grantType else {
            throw AccessTokenRefusal("unsupported_grant_type", "Invalid grant_type: \(form["grant_type"] ?? "")")
        }
        guard let assertion = form["assertion"], let parts = JSONWebToken(assertion) else {
            throw AccessTokenRefusal("invalid_request", "Bad assertion: not a JWT.")
        }
        try checkSignature(parts)
        try checkTimes(parts.claims, nowSeconds)
        // The audience is this endpoint, as the client addresses it, or the real one, which Google's libraries always
        // use.
        guard let audience = parts.claims["aud"]?.string, [request.uri, Self.realAudience].contains(audience) else {
            throw AccessTokenRefusal("invalid_grant", "Invalid JWT: Failed audience check.")
        }
        let scopes = Set((parts.claims["scope"]?.string ?? "").split(separator: " ").map(String.init))
        guard !scopes.isEmpty else { throw AccessTokenRefusal("invalid_scope", "Empty or missing scope not allowed.") }
        return scopes
    }

    private func checkSignature(_ parts: JSONWebToken) throws(AccessTokenRefusal) {
        guard parts.claims["iss"]?.string == account.clientEmail else {
            throw AccessTokenRefusal("invalid_grant", "Invalid grant: account not found")
        }
        let keyID = parts.header["kid"]?.string
        guard parts.header["alg"]?.string == "RS256", keyID == nil || keyID == account.keyID,
            account.isValid(parts.signature, for: parts.signed)
        else { throw AccessTokenRefusal("invalid_grant", "Invalid JWT Signature.") }
    }

    private func checkTimes(_ claims: JSONValue, _ now: Int64) throws(AccessTokenRefusal) {
        guard let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer,
            issued <= now + SimulatorLimits.assertionSkewSeconds, expires > now - SimulatorLimits.assertionSkewSeconds,
            expires >= issued, expires - issued <= SimulatorLimits.assertionLifeSeconds
        else {
            throw AccessTokenRefusal(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim.")
        }
    }
}

/// A Google service account with its JSON key file.
struct ServiceAccount: Sendable {
    let projectID: String
    let keyID: String
    private let key: _RSA.Signing.PrivateKey

    /// Shared by all simulators of a process, because generating an RSA key is slow.
    private static let sharedKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    /// - Parameter kept: the key file of an earlier run, so that its key remains valid.
    init(projectID: String, ids: IDSource, kept: String? = nil) throws {
        self.projectID = projectID
        // Drawn even if unused, so that a seed always gives the same ids afterwards.
        let freshID = ids.bytes(20).map { String(format: "%02x", $0) }.joined()
        let file = kept.flatMap { JSONValue(bytes: $0.utf8) }
        let known = file?["private_key"]?.string.flatMap { try? _RSA.Signing.PrivateKey(pemRepresentation: $0) }
        guard let known, let id = file?["private_key_id"]?.string, file?["project_id"]?.string == projectID else {
            key = try Self.sharedKey.get()
            keyID = freshID
            return
        }
        (key, keyID) = (known, id)
    }

    var clientEmail: String { "peal-simulator@\(projectID).iam.gserviceaccount.com" }

    /// Whether `signature` is valid for `text` (RS256).
    func isValid(_ signature: [UInt8], for text: [UInt8]) -> Bool {
        key.publicKey.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature), for: text, padding: .insecurePKCS1v1_5)
    }

    /// The JSON key file.
    func json(tokenURL: String) -> String {
        let members = [
            ("type", "service_account"), ("project_id", projectID), ("private_key_id", keyID),
            ("private_key", key.pkcs8PEMRepresentation + "\n"), ("client_email", clientEmail),
            ("client_id", "100000000000000000001"), ("auth_uri", "https://accounts.google.com/o/oauth2/auth"),
            ("token_uri", tokenURL), ("universe_domain", "googleapis.com"),
        ]
        return JSONText.object(members.map { ($0.0, JSONText.quoted($0.1)) }) + "\n"
    }
}
