import Crypto
import PealCore

/// Checks an app's VAPID keys for signing Web Push requests, and returns them in one form.
enum WebPushCredential {
    /// - Parameter randomness: source of the key for an entry without one.
    /// - Returns: every key in base64url with its public key; facts about the newest and about each.
    /// - Throws: `invalid_field`: `subject` or `private_key`.
    static func examine(
        _ keys: [Credential.VAPIDKey], randomness: any Randomness
    ) throws(PealError) -> CredentialExamination {
        var examined: [Credential.VAPIDKey] = []
        for key in keys {
            try checkSubject(key.subject)
            let signing = try signingKey(key.privateKey, randomness: randomness)
            examined.append(
                Credential.VAPIDKey(
                    subject: key.subject, privateKey: Base64URL.encode(Array(signing.rawRepresentation)),
                    publicKey: Base64URL.encode(Array(signing.publicKey.x963Representation)), createdAt: key.createdAt))
        }
        guard let newest = examined.last else { throw .missing("subject") }
        let facts = JSON.Members([
            ("subject", .string(newest.subject)), ("public_key", .string(newest.publicKey)),
            ("keys", .array(examined.map(fact))),
        ])
        return CredentialExamination(credential: .webPush(examined), facts: facts)
    }

    /// Whether a stored key's private and public keys match.
    static func canSign(_ key: Credential.VAPIDKey, at now: Timestamp) -> Bool {
        guard let value = VAPIDTokens.sign(key, "https://push.example.com", at: now),
            let publicKey = Base64URL.decode(key.publicKey),
            let verifying = try? P256.Signing.PublicKey(x963Representation: publicKey)
        else { return false }
        let parts = value.dropFirst("vapid t=".count).prefix { $0 != "," }.split(separator: ".")
        guard parts.count == 3, let bytes = Base64URL.decode(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
        else { return false }
        return verifying.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
    }

    private static func fact(_ key: Credential.VAPIDKey) -> JSON {
        [
            "fingerprint": .string(key.fingerprint), "public_key": .string(key.publicKey),
            "subject": .string(key.subject), "created_at": .string(key.createdAt.description),
        ]
    }

    /// Parses a P-256 key: 32 bytes, PKCS#8 or SEC 1 in base64 (either alphabet), or PEM. Returns a new key for "".
    private static func signingKey(
        _ text: String, randomness: any Randomness
    ) throws(PealError) -> P256.Signing.PrivateKey {
        if text.isEmpty { return newKey(randomness) }
        if text.contains("-----BEGIN"), let key = try? P256.Signing.PrivateKey(pemRepresentation: text) { return key }
        if let bytes = Base64URL.decode(text) {
            let key =
                try? bytes.count == 32
                ? P256.Signing.PrivateKey(rawRepresentation: bytes) : P256.Signing.PrivateKey(derRepresentation: bytes)
            if let key { return key }
        }
        throw .invalid("private_key", "private_key must be a P-256 key: 32 bytes in base64url, or PEM")
    }

    private static func newKey(_ randomness: any Randomness) -> P256.Signing.PrivateKey {
        for _ in 0..<4 {
            if let key = try? P256.Signing.PrivateKey(rawRepresentation: randomness.bytes(32)) { return key }
        }
        return P256.Signing.PrivateKey()
    }

    /// Checks the contact in every request. Apple answers 403 `BadJwtToken` to all requests if mail or a browser could
    /// not reach it: spaces, angle brackets, localhost (developer.apple.com/forums/thread/725473).
    private static func checkSubject(_ subject: String) throws(PealError) {
        guard let host = host(of: subject) else {
            throw .invalid(
                "subject", "subject must be mailto:name@example.com or https://example.com/…, without spaces")
        }
        guard isPublicName(host) else {
            throw .invalid("subject", "subject must have a public domain; push services refuse \(host)")
        }
    }

    /// The domain of a contact; nil if the contact has a form that push services refuse.
    private static func host(of subject: String) -> String? {
        let isPlain = subject.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"<>\"\\^`{|}".utf8.contains($0) }
        guard isPlain, subject.utf8.count <= Limits.vapidSubjectCharactersMax else { return nil }
        if subject.hasPrefix("mailto:") {
            let parts = subject.dropFirst("mailto:".count).split(separator: "@", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains(where: { ",;:?/".contains($0) }) else {
                return nil
            }
            return String(parts[1])
        }
        guard let uri = EndpointURI(subject), uri.isSecure, subject.hasPrefix("https://") else { return nil }
        return uri.host
    }

    /// Whether a name can be in the public DNS: several labels, letters in the last one, and no name for a local
    /// machine or network (RFC 6761, RFC 6762).
    private static func isPublicName(_ name: String) -> Bool {
        let labels = name.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        let isLegal = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
        }
        guard isLegal, labels.count >= 2, let last = labels.last, last.utf8.count >= 2 else { return false }
        return last.contains { $0.isLetter } && !["localhost", "local", "invalid"].contains(last)
    }
}
