import SwiftASN1

/// The parts of a PKCS#12 archive that stand in the open (RFC 7292 §4): which of them are encrypted, and the private
/// key, which has an encryption of its own.
struct PKCS12Contents {
    struct Key {
        /// PKCS#8: `EncryptedPrivateKeyInfo` or `PrivateKeyInfo`.
        let bytes: [UInt8]
        let isEncrypted: Bool
    }

    enum Name {
        static let data: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 1]
        static let encryptedData: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 6]
        static let keyBag: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 12, 10, 1, 1]
        static let shroudedKeyBag: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 12, 10, 1, 2]
        static let certificateBag: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 12, 10, 1, 3]
        static let x509Certificate: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 9, 22, 1]
    }

    private(set) var keys: [Key] = []
    /// Content infos that only the passphrase opens, as they came.
    private(set) var encrypted: [ArraySlice<UInt8>] = []
    /// Safe bags in the open that hold no key, as they came.
    private(set) var bags: [ArraySlice<UInt8>] = []

    /// nil when it is no archive, or one that is not locked by a passphrase but by another's public key. Tools write
    /// BER as well as DER.
    init?(_ archive: [UInt8]) {
        guard let infos = Self.infos(in: archive) else { return nil }
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

    /// The content infos of an archive; nil as in `init`.
    private static func infos(in archive: [UInt8]) -> [ASN1Node]? {
        guard let node = try? BER.parse(archive), let parts = children(node), parts.count >= 2,
            let safe = content(parts[1]), safe.name == Name.data
        else { return nil }
        return nested(safe.value)
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

    /// A sequence of a name and `[0]` around a value: a content info and a safe bag are both of that form.
    private static func content(_ node: ASN1Node) -> (name: ASN1ObjectIdentifier, value: ASN1Node)? {
        guard let parts = children(node), parts.count >= 2,
            let name = try? ASN1ObjectIdentifier(derEncoded: parts[0]), let value = children(parts[1])?.first
        else { return nil }
        return (name, value)
    }

    /// The elements of a sequence that an octet string holds.
    private static func nested(_ node: ASN1Node) -> [ASN1Node]? {
        guard let octets = octets(node), let inner = try? BER.parse(octets) else { return nil }
        return children(inner)
    }

    private static func children(_ node: ASN1Node) -> [ASN1Node]? {
        guard case .constructed(let children) = node.content else { return nil }
        return Array(children)
    }

    /// In BER an octet string may come in pieces.
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
