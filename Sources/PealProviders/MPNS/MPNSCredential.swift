import NIOSSL
import PealCore
import SwiftASN1
import X509

/// Checks the certificate of an authenticated service. MPNS also accepted notifications without one, up to 500 per day
/// and channel.
enum MPNSCredential {
    /// - Throws: `invalid_field`, naming the field.
    static func examine(_ credential: Credential.MPNSClient, now: Timestamp) throws(PealError) -> CredentialExamination
    {
        guard let identity = credential.identity else {
            return CredentialExamination(credential: .mpns(credential), facts: .init())
        }
        guard let document = (try? PEMDocument.parseMultiple(pemString: identity.certificates))?.first,
            let leaf = try? Certificate(pemDocument: document),
            let end = (try? NIOSSLCertificate.fromPEMBytes(Array(identity.certificates.utf8)))?.first?.notValidAfter
        else {
            throw .invalid(
                "certificate", "certificate must be a certificate chain in PEM, with the client's own certificate first"
            )
        }
        try DerivationLimits.refuseEncrypted(identity.privateKey, field: "private_key")
        let documents = (try? PEMDocument.parseMultiple(pemString: identity.privateKey)) ?? []
        // `openssl ecparam -genkey` writes the curve's name before the key.
        guard let written = documents.first(where: { $0.discriminator.hasSuffix("PRIVATE KEY") }),
            let key = try? Certificate.PrivateKey(pemDocument: written),
            (try? NIOSSLPrivateKey(bytes: Array(identity.privateKey.utf8), format: .pem)) != nil
        else { throw .invalid("private_key", "private_key must be an RSA or EC key in PEM, without a passphrase") }
        guard key.publicKey == leaf.publicKey else {
            throw .invalid("private_key", "private_key is not the key of the certificate")
        }
        let expiresAt = Timestamp(seconds: Int64(end))
        guard expiresAt > now else { throw .invalid("certificate", "the certificate expired at \(expiresAt)") }
        return CredentialExamination(
            credential: .mpns(credential), facts: JSON.Members([("subject", .string("\(leaf.subject)"))]),
            expiresAt: expiresAt)
    }
}
