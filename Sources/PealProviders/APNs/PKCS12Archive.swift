import Crypto
import Foundation
import NIOSSL
import PealCore
import SwiftASN1
import X509

/// Extracts the certificate chain and the private key from a PKCS#12 archive (RFC 7292).
///
/// BoringSSL's decoder, which NIOSSL wraps, supports every cipher in use, but terminates the process if an archive
/// lacks the key or a certificate for it. So Peal extracts the key itself, and gives the decoder the rest together with
/// Peal's own identity, which the decoder always finds.
enum PKCS12Archive {
    /// - Throws: `invalid_field` `passphrase` or `data`.
    static func identity(in data: [UInt8], passphrase: String) throws(PealError) -> Credential.TLSIdentity {
        // NIOSSL traps on other bytes, and programs encode them differently.
        guard passphrase.utf8.allSatisfy({ $0 > 0 && $0 < 0x80 }) else {
            throw .invalid(
                "passphrase", "the passphrase may contain only ASCII characters; export the archive with another one")
        }
        guard let contents = PKCS12Contents(data) else { throw fault("data is not a PKCS#12 archive") }
        guard contents.keys.count == 1, let packed = contents.keys.first else {
            throw fault("the archive must contain exactly one private key")
        }
        try DerivationLimits.check(contents)
        guard let key = privateKey(packed, passphrase) else {
            throw .invalid("passphrase", "the passphrase does not open the archive's key")
        }
        let rebuilt = PKCS12Rebuilding.archive(contents, passphrase: passphrase)
        guard let bundle = try? NIOSSLPKCS12Bundle(buffer: rebuilt, passphrase: Array(passphrase.utf8)) else {
            throw .invalid("passphrase", "the passphrase does not open the archive's certificates")
        }
        // The first is Peal's own.
        let certificates = bundle.certificateChain.dropFirst().compactMap { certificate in
            (try? certificate.toDERBytes()).flatMap { try? Certificate(derEncoded: $0) }
        }
        guard let leaf = certificates.first(where: { $0.publicKey == key.publicKey }) else {
            throw fault("the archive has no certificate for its key")
        }
        let chain = [leaf] + certificates.filter { $0 != leaf }
        do {
            let pem = try chain.map { try $0.serializeAsPEM().pemString + "\n" }
            return Credential.TLSIdentity(
                certificates: pem.joined(), privateKey: try key.serializeAsPEM().pemString + "\n")
        } catch {
            throw fault("APNs does not use this type of key or certificate")
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

/// The unencrypted structure of a PKCS#12 archive (RFC 7292 §4): its encrypted parts, its plain bags, and the private
/// keys, which have their own encryption.
struct PKCS12Contents {
    struct Key {
        /// PKCS#8: `EncryptedPrivateKeyInfo` or `PrivateKeyInfo`.
        let bytes: [UInt8]
        let isEncrypted: Bool
    }

    /// Object identifiers of content types, bags and certificate types.
    enum Name {
        static let data: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 1]
        static let encryptedData: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 6]
        static let keyBag: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 12, 10, 1, 1]
        static let shroudedKeyBag: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 12, 10, 1, 2]
        static let certificateBag: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 12, 10, 1, 3]
        static let x509Certificate: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 9, 22, 1]
    }

    private(set) var keys: [Key] = []
    /// Content infos that need the passphrase, unchanged.
    private(set) var encrypted: [ArraySlice<UInt8>] = []
    /// Unencrypted safe bags without a key, unchanged.
    private(set) var bags: [ArraySlice<UInt8>] = []
    /// The iterations of the `MacData`; nil without one.
    private(set) var macIterations: Int?

    /// nil if the bytes are not an archive, or if the archive is locked by a public key rather than a passphrase. Tools
    /// write both BER and DER.
    init?(_ archive: [UInt8]) {
        guard let (infos, mac) = Self.parts(of: archive) else { return nil }
        if let mac {
            // An unreadable count is more than any limit.
            let iterations = mac.count > 2 ? DerivationLimits.integer(mac[2]) ?? .max : 1
            macIterations = iterations
        }
        for info in infos {
            guard let content = Self.content(info) else { return nil }
            if content.name == Name.encryptedData {
                encrypted.append(info.encodedBytes)
            } else if content.name == Name.data {
                guard let bags = Self.nested(content.value) else { return nil }
                for bag in bags { guard take(bag) else { return nil } }
            }
        }
    }

    /// The content infos of an archive and the elements of its `MacData`; nil as in `init`.
    private static func parts(of archive: [UInt8]) -> (infos: [ASN1Node], mac: [ASN1Node]?)? {
        guard let node = try? BER.parse(archive), let parts = node.elements, parts.count >= 2,
            let safe = content(parts[1]), safe.name == Name.data, let infos = nested(safe.value)
        else { return nil }
        return (infos, parts.count > 2 ? parts[2].elements : nil)
    }

    private mutating func take(_ bag: ASN1Node) -> Bool {
        guard let content = Self.content(bag) else { return false }
        if content.name == Name.shroudedKeyBag || content.name == Name.keyBag {
            keys.append(Key(bytes: Array(content.value.encodedBytes), isEncrypted: content.name == Name.shroudedKeyBag))
        } else {
            bags.append(bag.encodedBytes)
        }
        return true
    }

    /// Parses a sequence of a name and `[0]` around a value, the form of both content infos and safe bags.
    private static func content(_ node: ASN1Node) -> (name: ASN1ObjectIdentifier, value: ASN1Node)? {
        guard let parts = node.elements, parts.count >= 2,
            let name = try? ASN1ObjectIdentifier(derEncoded: parts[0]), let value = parts[1].elements?.first
        else { return nil }
        return (name, value)
    }

    /// The elements of a sequence inside an octet string.
    private static func nested(_ node: ASN1Node) -> [ASN1Node]? {
        guard let octets = octets(node), let inner = try? BER.parse(octets) else { return nil }
        return inner.elements
    }

    /// In BER an octet string may be split into pieces.
    private static func octets(_ node: ASN1Node) -> [UInt8]? {
        switch node.content {
        case .primitive(let bytes): return node.identifier == .octetString ? Array(bytes) : nil
        case .constructed(let pieces):
            var whole: [UInt8] = []
            for piece in pieces {
                guard let bytes = octets(piece) else { return nil }
                whole += bytes
            }
            return whole
        }
    }
}

/// Builds an archive from another's certificates, with Peal's own identity in place of its key: see `PKCS12Archive`.
enum PKCS12Rebuilding {
    private static let salt: [UInt8] = Array("salt".utf8)
    private static let sha256: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]

    static func archive(_ contents: PKCS12Contents, passphrase: String) -> [UInt8] {
        let own = ownBags
        let safe = sequence { coder in
            plain(own.prefix(1).map { $0[...] }, &coder)
            for info in contents.encrypted { coder.serializeRawBytes(info) }
            plain(contents.bags, &coder)
            plain(own.dropFirst().map { $0[...] }, &coder)
        }
        return sequence { coder in
            coder.serializeRawBytes([0x02, 0x01, 0x03])
            coder.serializeRawBytes(content(PKCS12Contents.Name.data, octetString(safe)))
            coder.serializeRawBytes(seal(safe, passphrase))
        }
    }

    /// A content info with unencrypted bags.
    private static func plain(_ bags: [ArraySlice<UInt8>], _ coder: inout DER.Serializer) {
        let octets = sequence { coder in for bag in bags { coder.serializeRawBytes(bag) } }
        coder.serializeRawBytes(content(PKCS12Contents.Name.data, octetString(octets)))
    }

    /// A key that is not secret and an untrusted certificate for it. The key comes first: the decoder refuses a second
    /// one, so it derives nothing for a key that hides in an encrypted part. The certificate comes last, where the
    /// decoder first looks for it.
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

    /// The `MacData` of RFC 7292 §4, with HMAC-SHA256 and one iteration, because the archive never leaves this process.
    private static func seal(_ safe: [UInt8], _ passphrase: String) -> [UInt8] {
        // Appendix B.2: diversifier 3, then salt and passphrase (UTF-16, zero-terminated), each repeated to whole
        // blocks.
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

    /// Encodes a name and `[0]` around a value.
    /// - Parameter isBare: omits the sequence around both.
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
