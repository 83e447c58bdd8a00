import PealCore
import NIOSSL
import SwiftASN1
import X509

/// What an APNs client certificate says of itself: receives a chain in PEM, hands on what Apple wrote into its leaf
/// ("Establishing a certificate-based connection to APNs").
struct APNsCertificateReader {
    /// Apple's extensions: a certificate for development, for production, and the topics that it may send to.
    private enum Extension {
        static let development: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
        static let production: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]
        static let voIP: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 4]
        static let topics: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]
    }

    /// `UID` of a distinguished name (RFC 4519 §2.39): the bundle id, or the topic of a device management server.
    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]

    let leaf: Certificate
    let expiresAt: Timestamp

    /// - Throws: `invalid_field` `certificate`.
    init(_ pem: String) throws(PealError) {
        guard let document = (try? PEMDocument.parseMultiple(pemString: pem))?.first,
            let leaf = try? Certificate(pemDocument: document),
            let parsed = try? NIOSSLCertificate(bytes: document.derBytes, format: .der)
        else {
            throw .invalid("certificate", "certificate must be a certificate chain in PEM, the client's own first")
        }
        self.leaf = leaf
        expiresAt = Timestamp(seconds: Int64(parsed.notValidAfter))
    }

    var subject: String { "\(leaf.subject)" }

    /// What the certificate may send to; empty where it says nothing, as one of a test authority.
    var topics: [String] {
        var topics: [String] = []
        for name in [Extension.topics, Extension.voIP] {
            if let value = leaf.extensions[oid: name]?.value { topics += Self.topics(in: value) }
        }
        if topics.isEmpty, let userID = subjectUserID { topics = [userID] }
        return topics.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Empty where it says nothing.
    var environments: [Environment] {
        let marks: [(Environment, ASN1ObjectIdentifier)] = [
            (.production, Extension.production), (.sandbox, Extension.development),
        ]
        return marks.filter { leaf.extensions[oid: $1] != nil }.map(\.0)
    }

    private var subjectUserID: String? {
        leaf.subject.lazy.flatMap { $0 }.first { $0.type == Self.userID }.flatMap { String($0.value) }
    }

    /// A sequence of topics, each followed by a sequence of names for it; some wrap the whole in an octet string.
    private static func topics(in value: ArraySlice<UInt8>) -> [String] {
        guard let node = try? DER.parse(value) else { return [] }
        switch node.content {
        case .primitive(let bytes): return node.identifier == .octetString ? topics(in: bytes) : []
        case .constructed(let children):
            return children.filter { $0.identifier == .utf8String }
                .compactMap { (try? ASN1UTF8String(derEncoded: $0)).map(String.init) }
        }
    }
}
