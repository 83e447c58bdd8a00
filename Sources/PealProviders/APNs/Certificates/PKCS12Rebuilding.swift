import Crypto
import Foundation
import PealCore
import SwiftASN1
import X509

/// Builds an archive from another's certificates and an identity of our own in place of its key: see `PKCS12Archive`.
enum PKCS12Rebuilding {
    private static let salt: [UInt8] = Array("salt".utf8)
    private static let sha256: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]

    static func archive(_ contents: PKCS12Contents, passphrase: String) -> [UInt8] {
        let safe = sequence { coder in
            for info in contents.encrypted { coder.serializeRawBytes(info) }
            for bags in [contents.bags, ownBags.map { $0[...] }] {
                let octets = sequence { coder in for bag in bags { coder.serializeRawBytes(bag) } }
                coder.serializeRawBytes(content(PKCS12Contents.Name.data, octetString(octets)))
            }
        }
        return sequence { coder in
            coder.serializeRawBytes([0x02, 0x01, 0x03])
            coder.serializeRawBytes(content(PKCS12Contents.Name.data, octetString(safe)))
            coder.serializeRawBytes(seal(safe, passphrase))
        }
    }

    /// A key that is no secret, and a certificate for it that nobody trusts. It comes last, where the decoder looks
    /// first for the certificate of the key.
    private static var ownBags: [[UInt8]] {
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: Array(repeating: 1, count: 32)),
            let name = try? DistinguishedName(builder: { CommonName("none") }),
            let certificate = try? Certificate(
                version: .v3, serialNumber: .init(bytes: [1]), publicKey: .init(key.publicKey),
                notValidBefore: Date(timeIntervalSince1970: 0), notValidAfter: Date(timeIntervalSince1970: 1),
                issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256, extensions: .init(),
                issuerPrivateKey: .init(key)),
            let der = try? certificate.serializeAsPEM().derBytes
        else { return [] }
        let certificateBag = sequence { coder in
            coder.serializeRawBytes(content(PKCS12Contents.Name.x509Certificate, octetString(der), isBare: true))
        }
        return [
            content(PKCS12Contents.Name.keyBag, Array(key.derRepresentation)),
            content(PKCS12Contents.Name.certificateBag, certificateBag),
        ]
    }

    /// The `MacData` of RFC 7292 §4, with HMAC-SHA256 and one round: nobody else ever sees the archive.
    private static func seal(_ safe: [UInt8], _ passphrase: String) -> [UInt8] {
        // Appendix B.2: diversifier 3, then salt and passphrase (UTF-16, ended by zero), each repeated to whole blocks.
        var text = passphrase.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        text += [0, 0]
        let material = Array(repeating: UInt8(3), count: 64) + blocks(salt) + blocks(text)
        let key = SymmetricKey(data: SHA256.hash(data: material))
        let code = HMAC<SHA256>.authenticationCode(for: safe, using: key)
        let digest = sequence { coder in
            coder.serializeRawBytes(sequence { coder in try? coder.serialize(sha256) })
            coder.serializeRawBytes(octetString(Array(code)))
        }
        return sequence { coder in
            coder.serializeRawBytes(digest)
            coder.serializeRawBytes(octetString(salt))
        }
    }

    private static func blocks(_ bytes: [UInt8]) -> [UInt8] {
        let count = (bytes.count + 63) / 64 * 64
        return (0..<count).map { bytes[$0 % bytes.count] }
    }

    /// A name and `[0]` around a value.
    /// - Parameter isBare: without the sequence around both.
    private static func content(_ name: ASN1ObjectIdentifier, _ value: [UInt8], isBare: Bool = false) -> [UInt8] {
        var coder = DER.Serializer()
        try? coder.serialize(name)
        coder.appendConstructedNode(identifier: ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)) {
            $0.serializeRawBytes(value)
        }
        let parts = coder.serializedBytes
        return isBare ? parts : sequence { $0.serializeRawBytes(parts) }
    }

    private static func octetString(_ bytes: [UInt8]) -> [UInt8] {
        var coder = DER.Serializer()
        coder.appendPrimitiveNode(identifier: .octetString) { $0 += bytes }
        return coder.serializedBytes
    }

    private static func sequence(_ write: (inout DER.Serializer) -> Void) -> [UInt8] {
        var coder = DER.Serializer()
        coder.appendConstructedNode(identifier: .sequence) { write(&$0) }
        return coder.serializedBytes
    }
}
