import NIOSSL
import PealCore

extension TLSConfiguration {
    /// Shows the identity where the peer asks for a client certificate.
    /// - Throws: when chain or key cannot be read.
    mutating func show(_ identity: Credential.TLSIdentity) throws {
        certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificates.utf8))
            .map { .certificate($0) }
        privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKey.utf8), format: .pem))
    }
}
