import NIOSSL
import PealCore
import SwiftASN1
import X509

/// The client's own certificate in a chain that an app uploaded for a network.
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

    /// Checks that the key fits the certificate, that both can be used for TLS, and that the certificate is valid.
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
        try PEMDocument.refuseEncryptedKey(pem, field: "private_key")
        let documents = (try? PEMDocument.parseMultiple(pemString: pem)) ?? []
        // `openssl ecparam -genkey` writes the curve's name before the key.
        guard let document = documents.first(where: { $0.discriminator.hasSuffix("PRIVATE KEY") }),
            let key = try? Certificate.PrivateKey(pemDocument: document)
        else {
            throw .invalid("private_key", "private_key must be an RSA or EC key in PEM, without a passphrase")
        }
        return key
    }
}

/// Checks of what an app uploads, the same for several networks.
enum CredentialChecks {
    /// Allows only characters that are safe in header values and paths, where names end up.
    /// - Parameter object: the member that contains the field; nil for the root.
    /// - Throws: `invalid_field`, naming the field.
    static func check(name: String, field: String, in object: String? = nil) throws(PealError) {
        let isLegal = name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._:-".utf8.contains($0) }
        guard isLegal, (1...Limits.nameCharactersMax).contains(name.utf8.count) else {
            throw refusal(ofName: field, in: object)
        }
    }

    static func refusal(ofName field: String, in object: String? = nil) -> PealError {
        .invalid(
            object.map { "\($0).\(field)" } ?? field,
            "\(field) must be 1 to \(Limits.nameCharactersMax) letters, digits or the characters . _ : -")
    }
}

extension PEMDocument {
    /// Refuses PEM whose key is encrypted, before a library derives a key from an empty passphrase.
    static func refuseEncryptedKey(_ pem: String, field: String) throws(PealError) {
        guard !pem.contains("ENCRYPTED") else {
            throw .invalid(field, "\(field.split(separator: ".").last ?? "") must not be encrypted with a passphrase")
        }
    }
}
