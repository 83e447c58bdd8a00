import Crypto
import PealCore

/// Checks what an app shows APNs.
enum APNsCredential {
    /// - Throws: `invalid_field`, naming the field; `not_supported` for another network's.
    static func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        switch credential {
        case .apnsToken(let signing):
            try check(signing)
            let facts = JSON.Members([
                ("key_id", .string(signing.keyID)), ("team_id", .string(signing.teamID)),
                ("bundle_id", .string(signing.bundleID)),
            ])
            return CredentialExamination(credential: credential, facts: facts)
        case .apnsCertificate(let certificate):
            return try APNsCertificateExamination.examine(certificate, now: now)
        case .apnsArchive(let archive):
            return try APNsCertificateExamination.examine(archive, now: now)
        default: throw .unsupported("kind")
        }
    }

    /// - Throws: `invalid_field`, naming the field.
    static func check(_ credential: Credential.APNsToken) throws(PealError) {
        try checkName(credential.keyID, field: "key_id")
        try checkName(credential.teamID, field: "team_id")
        try checkName(credential.bundleID, field: "bundle_id")
        _ = try signingKey(credential.privateKey)
    }

    /// The key of a `.p8` file: PEM, PKCS#8, P-256.
    static func signingKey(_ pem: String) throws(PealError) -> P256.Signing.PrivateKey {
        guard pem.contains("-----BEGIN PRIVATE KEY-----"),
            let key = try? P256.Signing.PrivateKey(pemRepresentation: pem)
        else {
            throw .invalid("private_key", "private_key must be a P-256 key in PEM (PKCS#8), as in Apple's .p8 file")
        }
        return key
    }

    /// Names stand in header values and paths.
    static func checkName(_ name: String, field: String) throws(PealError) {
        let isLegal = name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._:-".utf8.contains($0) }
        guard isLegal, (1...Limits.nameCharactersMax).contains(name.utf8.count) else {
            throw .invalid(
                field, "\(field) must be 1 to \(Limits.nameCharactersMax) letters, digits or the characters . _ : -")
        }
    }
}
