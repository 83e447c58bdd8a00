import NIOSSL
import PealCore
import SwiftASN1
import X509

/// Takes the certificate chain and the private key out of a PKCS#12 archive (RFC 7292).
///
/// The decoder of BoringSSL, which NIOSSL wraps, knows every cipher that archives come with, but ends the process when
/// an archive lacks the key or a certificate for it. So the key is taken out here, and the decoder is shown the rest
/// beside an identity of our own, which it always finds.
enum PKCS12Archive {
    /// - Throws: `invalid_field` `passphrase` or `data`.
    static func identity(in data: [UInt8], passphrase: String) throws(PealError) -> Credential.TLSIdentity {
        // NIOSSL traps on others, and programs do not agree on how to write them.
        guard passphrase.utf8.allSatisfy({ $0 > 0 && $0 < 0x80 }) else {
            throw .invalid("passphrase", "a passphrase may hold ASCII characters only: export the archive with another")
        }
        guard let contents = PKCS12Contents(data) else { throw fault("data is not a PKCS#12 archive") }
        guard contents.keys.count == 1, let packed = contents.keys.first else {
            throw fault("the archive must hold one private key")
        }
        guard let key = privateKey(packed, passphrase) else {
            throw .invalid("passphrase", "the archive's key cannot be opened with this passphrase")
        }
        let rebuilt = PKCS12Rebuilding.archive(contents, passphrase: passphrase)
        guard let bundle = try? NIOSSLPKCS12Bundle(buffer: rebuilt, passphrase: Array(passphrase.utf8)) else {
            throw .invalid("passphrase", "the archive's certificates cannot be opened with this passphrase")
        }
        // The first is our own.
        let certificates = bundle.certificateChain.dropFirst().compactMap { certificate in
            (try? certificate.toDERBytes()).flatMap { try? Certificate(derEncoded: $0) }
        }
        guard let leaf = certificates.first(where: { $0.publicKey == key.publicKey }) else {
            throw fault("the archive holds no certificate for its key")
        }
        let chain = [leaf] + certificates.filter { $0 != leaf }
        do {
            let pem = try chain.map { try $0.serializeAsPEM().pemString + "\n" }
            return Credential.TLSIdentity(
                certificates: pem.joined(), privateKey: try key.serializeAsPEM().pemString + "\n")
        } catch {
            throw fault("the archive's key or certificates are of a kind that APNs does not use")
        }
    }

    private static func privateKey(_ packed: PKCS12Contents.Key, _ passphrase: String) -> Certificate.PrivateKey? {
        let name = packed.isEncrypted ? "ENCRYPTED PRIVATE KEY" : "PRIVATE KEY"
        let pem = PEMDocument(type: name, derBytes: packed.bytes).pemString
        let opened = try? NIOSSLPrivateKey(bytes: Array(pem.utf8), format: .pem) { setter in
            setter(Array(passphrase.utf8))
        }
        guard let der = try? opened?.derBytes else { return nil }
        for name in ["RSA PRIVATE KEY", "EC PRIVATE KEY"] {
            let document = PEMDocument(type: name, derBytes: der)
            if let key = try? Certificate.PrivateKey(pemDocument: document) { return key }
        }
        return nil
    }

    private static func fault(_ message: String) -> PealError { .invalid("data", message) }
}
