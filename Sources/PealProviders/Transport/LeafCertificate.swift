import NIOSSL
import PealCore
import SwiftASN1
import X509

/// A network's client certificate: receives what an app stores for it, checks that Peal can use it for TLS, and returns
/// its leaf.
struct LeafCertificate {
    let leaf: Certificate
    let expiresAt: Timestamp

    /// - Parameter pem: a chain, beginning with the leaf.
    /// - Throws: `invalid_field` `certificate`.
    init(_ pem: String) throws(PealError) {
        guard let document = (try? PEMDocument.parseMultiple(pemString: pem))?.first,
            let leaf = try? Certificate(pemDocument: document),
            let parsed = try? NIOSSLCertificate(bytes: document.derBytes, format: .der)
        else {
            throw .invalid(
                "certificate", "certificate must be a certificate chain in PEM, with the client's own certificate first"
            )
        }
        self.leaf = leaf
        expiresAt = Timestamp(seconds: Int64(parsed.notValidAfter))
    }

    /// Checks that the key fits the certificate, which must be valid now.
    /// - Throws: `invalid_field`, naming the field.
    init(_ identity: Credential.TLSIdentity, now: Timestamp) throws(PealError) {
        try self.init(identity.certificates)
        guard try Self.privateKey(identity.privateKey).publicKey == leaf.publicKey else {
            throw .invalid("private_key", "private_key is not the key of the certificate")
        }
        guard (try? Connector.context(caFile: nil, identity: identity)) != nil else {
            throw .invalid("certificate", "certificate and private_key cannot be used for TLS")
        }
        guard expiresAt > now else { throw .invalid("certificate", "the certificate expired at \(expiresAt)") }
    }

    var subject: String { "\(leaf.subject)" }

    private static func privateKey(_ pem: String) throws(PealError) -> Certificate.PrivateKey {
        try refuseEncrypted(pem, field: "private_key")
        let documents = (try? PEMDocument.parseMultiple(pemString: pem)) ?? []
        // `openssl ecparam -genkey` writes the curve's name before the key.
        guard let document = documents.first(where: { $0.discriminator.hasSuffix("PRIVATE KEY") }),
            let key = try? Certificate.PrivateKey(pemDocument: document)
        else {
            throw .invalid("private_key", "private_key must be an RSA or EC key in PEM, without a passphrase")
        }
        return key
    }

    /// Refuses PEM whose key is encrypted, before a library derives a key from an empty passphrase.
    static func refuseEncrypted(_ pem: String, field: String) throws(PealError) {
        guard !pem.contains("ENCRYPTED") else {
            throw .invalid(field, "\(field.split(separator: ".").last ?? "") must not be encrypted with a passphrase")
        }
    }
}
