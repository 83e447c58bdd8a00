import Crypto
import Foundation
import SwiftASN1
import X509

/// The certificates with which developers show who they are.
extension CertificateAuthority {
    /// A client certificate of the app `bundleID`, and its key, both in PEM: shaped as Apple's are, for pushes of every
    /// kind that certificates are good for, in both environments.
    func clientIdentity(bundleID: String, now: Date) throws -> (certificatePEM: String, keyPEM: String) {
        let key = P256.Signing.PrivateKey()
        let subject = DistinguishedName([
            RelativeDistinguishedName(.init(type: Self.userID, utf8String: bundleID)),
            RelativeDistinguishedName(
                .init(type: .RDNAttributeType.commonName, utf8String: "Apple Push Services: \(bundleID)")),
        ])
        let certificate = try sign(
            key.publicKey, subject: subject, now: now,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth])
                Certificate.Extension(oid: ClientCertificateJudge.development, critical: false, value: [5, 0])
                Certificate.Extension(oid: ClientCertificateJudge.production, critical: false, value: [5, 0])
                Certificate.Extension(
                    oid: ClientCertificateJudge.topics, critical: false, value: try Self.topicList(bundleID)[...])
            })
        return (try certificate.serializeAsPEM().pemString, key.pemRepresentation)
    }

    /// `UID` (RFC 4519 §2.39).
    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]

    /// Topics and their kinds in turn, as Apple's certificates list them.
    private static func topicList(_ bundleID: String) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { list in
            for (suffix, kind) in [("", "app"), (".voip", "voip"), (".complication", "complication")] {
                try list.serialize(ASN1UTF8String(bundleID + suffix))
                try list.appendConstructedNode(identifier: .sequence) { try $0.serialize(ASN1UTF8String(kind)) }
            }
        }
        return serializer.serializedBytes
    }
}
