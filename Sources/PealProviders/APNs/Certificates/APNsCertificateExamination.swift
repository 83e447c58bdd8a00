import NIOSSL
import PealCore
import SwiftASN1
import X509

/// Checks a client certificate before it is stored, and tells what may be shown of it.
enum APNsCertificateExamination {
    /// - Throws: `invalid_field`, naming the field.
    static func examine(
        _ credential: Credential.APNsCertificate, now: Timestamp
    ) throws(PealError) -> CredentialExamination {
        try APNsCredential.checkName(credential.bundleID, field: "bundle_id")
        let reader = try APNsCertificateReader(credential.identity.certificates)
        let key = try privateKey(credential.identity.privateKey)
        guard key.publicKey == reader.leaf.publicKey else {
            throw .invalid("private_key", "private_key is not the key of the certificate")
        }
        guard (try? Connector.context(caFile: nil, identity: credential.identity)) != nil else {
            throw .invalid("certificate", "certificate and private_key cannot be used for TLS")
        }
        guard reader.expiresAt > now else {
            throw .invalid("certificate", "the certificate ended at \(reader.expiresAt)")
        }
        let topics = reader.topics
        guard topics.isEmpty || isAllowed(credential.bundleID, topics) else {
            throw .invalid("bundle_id", "the certificate is for \(topics.joined(separator: ", "))")
        }
        let facts = JSON.Members([
            ("bundle_id", .string(credential.bundleID)), ("subject", .string(reader.subject)),
            ("topics", .array(topics.map(JSON.string))),
            ("environments", .array(reader.environments.map { .string($0.rawValue) })),
        ])
        return CredentialExamination(
            credential: .apnsCertificate(credential), facts: facts, expiresAt: reader.expiresAt)
    }

    /// - Throws: `invalid_field`, naming the field.
    static func examine(_ archive: Credential.APNsArchive, now: Timestamp) throws(PealError) -> CredentialExamination {
        let identity = try PKCS12Archive.identity(in: archive.data, passphrase: archive.passphrase)
        let certificate = Credential.APNsCertificate(
            identity: identity, bundleID: archive.bundleID, isFromArchive: true)
        do throws(PealError) {
            return try examine(certificate, now: now)
        } catch {
            // Neither field is in the request: both came in `data`.
            let isInArchive = error.field == "certificate" || error.field == "private_key"
            throw isInArchive ? .invalid("data", error.message) : error
        }
    }

    /// A certificate may be for some kinds of push alone, as VoIP: then only topics with their suffix are in it.
    private static func isAllowed(_ bundleID: String, _ topics: [String]) -> Bool {
        APNsPushType.allCases.contains { topics.contains(bundleID + $0.topicSuffix) }
    }

    private static func privateKey(_ pem: String) throws(PealError) -> Certificate.PrivateKey {
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
