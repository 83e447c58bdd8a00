import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import X509

/// A certificate authority that lives as long as one simulator, and the server certificate it signs.
struct CertificateAuthority {
    /// The authority's certificate, as clients are given it in `ca.pem`.
    let certificatePEM: String
    /// What verifies the certificates that it signs.
    let publicKey: Certificate.PublicKey
    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// Makes a fresh P-256 authority, valid from a day before `now` for `SimulatorLimits.certificateLifeDays`.
    init(now: Date) throws {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let name = try DistinguishedName {
            OrganizationName("Peal simulator")
            CommonName("Peal simulator authority")
        }
        self.key = key
        publicKey = key.publicKey
        certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
            notValidBefore: Self.start(now), notValidAfter: Self.end(now), issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: key.publicKey)
            },
            issuerPrivateKey: key)
        certificatePEM = try certificate.serializeAsPEM().pemString
    }

    /// A server certificate for 127.0.0.1, ::1 and localhost, with the chain and key that a TLS server needs.
    func serverIdentity(now: Date) throws -> ServerIdentity {
        let key = P256.Signing.PrivateKey()
        let leaf = try sign(
            key.publicKey, subject: try DistinguishedName { CommonName("localhost") }, now: now,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([
                    .dnsName("localhost"),
                    .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
                    .ipAddress(ASN1OctetString(contentBytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
                ])
                SubjectKeyIdentifier(hash: .init(key.publicKey))
            })
        let chain = try [leaf, certificate].map {
            try NIOSSLCertificate(bytes: Array($0.serializeAsPEM().derBytes), format: .der)
        }
        return ServerIdentity(
            chain: chain, key: try NIOSSLPrivateKey(bytes: Array(key.pemRepresentation.utf8), format: .pem))
    }

    /// A certificate for `key` that this authority has signed.
    func sign(
        _ key: P256.Signing.PublicKey, subject: DistinguishedName, now: Date, extensions: Certificate.Extensions
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key),
            notValidBefore: Self.start(now), notValidAfter: Self.end(now), issuer: certificate.subject,
            subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions, issuerPrivateKey: self.key)
    }

    private static func start(_ now: Date) -> Date { now.addingTimeInterval(-86_400) }

    private static func end(_ now: Date) -> Date {
        now.addingTimeInterval(Double(SimulatorLimits.certificateLifeDays) * 86_400)
    }
}
