import Crypto
import Foundation

/// Checks `Authorization: vapid t=…, k=…` (RFC 8292), as strictly as Apple does about the contact.
enum VAPIDCheck {
    /// Gives the fingerprint of the token; nil when there is none and none is needed. Throws what is wrong.
    static func check(
        _ request: PushRequest, applicationServerKey: [UInt8]?, nowSeconds: Int64
    ) throws(WebPushRefusal) -> UInt64? {
        guard let text = request.credentials("vapid") else {
            guard applicationServerKey == nil, request.value("authorization") == nil else {
                throw WebPushRefusal(401, 109, "MissingVapid")
            }
            return nil
        }
        var parameters: [Substring: String] = [:]
        for part in text.split(separator: ",") {
            let halves = part.trimmingPrefix(" ").split(separator: "=", maxSplits: 1)
            if halves.count == 2 { parameters[halves[0]] = String(halves[1]) }
        }
        guard let signed = parameters["t"], let parts = JSONWebToken(signed), let key = parameters["k"],
            let keyBytes = Base64URL.decode(key),
            let publicKey = try? P256.Signing.PublicKey(x963Representation: keyBytes)
        else { throw .badToken }
        try checkSignature(parts, publicKey)
        if let applicationServerKey, applicationServerKey != Array(keyBytes) { throw .keyMismatch }
        try checkClaims(parts.claims, origin: request.origin, nowSeconds)
        return Fingerprint.of(signed, isFoldingCase: false)
    }

    private static func checkSignature(_ parts: JSONWebToken, _ key: P256.Signing.PublicKey) throws(WebPushRefusal) {
        guard parts.header["alg"]?.string == "ES256",
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: parts.signature),
            key.isValidSignature(signature, for: Data(parts.signed))
        else { throw .badToken }
    }

    private static func checkClaims(
        _ claims: JSONValue, origin: String, _ nowSeconds: Int64
    ) throws(WebPushRefusal) {
        guard claims["aud"]?.string == origin else { throw .badToken }
        guard let expires = claims["exp"]?.integer, expires > nowSeconds,
            expires <= nowSeconds + SimulatorLimits.vapidLifeSeconds
        else { throw .badToken }
        guard let contact = claims["sub"]?.string, isContact(contact) else { throw .badToken }
    }

    /// `mailto:` or `https:`, without spaces and angle brackets, and not of the local machine.
    private static func isContact(_ text: String) -> Bool {
        guard !text.contains(where: { $0 == " " || $0 == "<" || $0 == ">" }) else { return false }
        if text.hasPrefix("mailto:") {
            let halves = text.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
            return halves.count == 2 && !halves[0].isEmpty && isPublic(halves[1])
        }
        guard text.hasPrefix("https://") else { return false }
        return isPublic(text.dropFirst("https://".count).prefix { !"/:?#".contains($0) })
    }

    private static func isPublic(_ host: Substring) -> Bool {
        let host = host.lowercased()
        return host.contains(".") && !host.hasPrefix(".") && !host.hasSuffix(".") && !host.hasSuffix(".localhost")
            && host != "127.0.0.1"
    }
}
