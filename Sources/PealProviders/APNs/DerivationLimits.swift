import PealCore
import SwiftASN1

/// Limits the work that an archive demands before its key and certificates can be read: each encrypted part names the
/// iterations of its own key derivation, and a small file could demand hours.
enum DerivationLimits {
    private enum Name {
        static let pbes2: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 5, 13]
        static let pbkdf2: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 5, 12]
        static let scrypt: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 11_591, 4, 11]
        /// Prefixes of the older schemes, whose parameters are a salt and the iterations (RFC 8018 §A.3, RFC 7292 §C).
        static let pkcs5: [UInt] = [1, 2, 840, 113_549, 1, 5]
        static let pkcs12: [UInt] = [1, 2, 840, 113_549, 1, 12, 1]
    }

    /// - Throws: `invalid_field` `data`, naming the part of the archive.
    static func check(_ contents: PKCS12Contents) throws(PealError) {
        let count = contents.keys.count + contents.encrypted.count
        guard count <= Limits.derivationsMax else {
            throw .invalid("data", "the archive has \(count) encrypted parts, more than \(Limits.derivationsMax)")
        }
        if let mac = contents.macIterations { try check(mac, "MAC") }
        for key in contents.keys where key.isEncrypted {
            // EncryptedPrivateKeyInfo: the algorithm comes first.
            guard let node = try? BER.parse(key.bytes), let algorithm = node.elements?.first else { throw unreadable }
            try checkAlgorithm(algorithm, of: "private key")
        }
        for bytes in contents.encrypted { try checkAlgorithm(try encryptedContent(bytes), of: "certificates") }
    }

    /// An `EncryptedData` has a version and an `EncryptedContentInfo`, whose second element is the algorithm
    /// (RFC 5652 §8).
    private static func encryptedContent(_ bytes: ArraySlice<UInt8>) throws(PealError) -> ASN1Node {
        guard let info = try? BER.parse(bytes), let parts = info.elements, parts.count >= 2,
            let data = parts[1].elements?.first?.elements, data.count >= 2,
            let content = data[1].elements, content.count >= 2
        else { throw unreadable }
        return content[1]
    }

    private static func checkAlgorithm(_ node: ASN1Node, of part: String) throws(PealError) {
        guard let parts = node.elements, parts.count >= 2,
            let name = try? ASN1ObjectIdentifier(derEncoded: parts[0]), let parameters = parts[1].elements
        else { throw unreadable }
        if name == Name.pbes2, let derivation = parameters.first {
            try checkAlgorithm(derivation, of: part)
        } else if name == Name.scrypt {
            throw .invalid("data", "the \(part) are derived with scrypt, which is not supported: use PBKDF2")
        } else if name == Name.pbkdf2 || isOlderScheme(name) {
            guard parameters.count >= 2 else { throw unreadable }
            try check(integer(parameters[1]), "\(name == Name.pbkdf2 ? "PBKDF2" : "PKCS#12") of the \(part)")
        } else {
            throw .invalid("data", "the \(part) are encrypted in a way that is not supported")
        }
    }

    private static func isOlderScheme(_ name: ASN1ObjectIdentifier) -> Bool {
        let arcs = name.description.split(separator: ".").compactMap { UInt($0) }
        return [Name.pkcs5, Name.pkcs12].contains { arcs.dropLast() == $0[...] }
    }

    private static func check(_ iterations: Int?, _ what: String) throws(PealError) {
        guard let iterations, iterations <= Limits.derivationIterationsMax else {
            let asked = iterations.map(String.init) ?? "too many"
            throw .invalid(
                "data",
                "\(what) asks for \(asked) iterations; at most \(Limits.derivationIterationsMax) are allowed")
        }
    }

    /// nil for a negative number or one that does not fit.
    static func integer(_ node: ASN1Node) -> Int? {
        guard let value = try? Int(derEncoded: node), value >= 0 else { return nil }
        return value
    }

    private static let unreadable = PealError(
        .invalidField, "data is not a PKCS#12 archive", field: "data")
}

extension ASN1Node {
    /// nil for a primitive value.
    var elements: [ASN1Node]? {
        guard case .constructed(let children) = content else { return nil }
        return Array(children)
    }
}
