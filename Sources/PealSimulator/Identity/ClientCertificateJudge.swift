import Foundation
import SwiftASN1
import X509

/// Checks client certificates. One signed by the simulator's authority is valid for the topics in Apple's extension
/// (1.2.840.113635.100.6.3.6), in the environments of the markers 6.3.1 (development) and 6.3.2 (production).
struct ClientCertificateJudge: Sendable {
    static let development: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 1]
    static let production: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 2]
    static let topics: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 6]

    private let authorityKey: Certificate.PublicKey

    init(authorityKey: Certificate.PublicKey) {
        self.authorityKey = authorityKey
    }

    /// What `certificate` (DER) is valid for at `nowSeconds` (UTC).
    func standing(of certificate: [UInt8], nowSeconds: Int64) -> CertificateStanding {
        let now = Date(timeIntervalSince1970: Double(nowSeconds))
        guard let certificate = try? Certificate(derEncoded: certificate),
            authorityKey.isValidSignature(certificate.signature, for: certificate),
            certificate.notValidBefore <= now, now <= certificate.notValidAfter,
            let list = certificate.extensions[oid: Self.topics], let topics = Self.topics(in: list.value)
        else { return .bad }
        var environments: Set<PushEnvironment> = []
        if certificate.extensions[oid: Self.development] != nil { environments.insert(.sandbox) }
        if certificate.extensions[oid: Self.production] != nil { environments.insert(.production) }
        return .good(ClientCertificate(topics: topics, environments: environments))
    }

    /// Topics, each followed by a sequence of its kinds: `SEQUENCE { topic, SEQUENCE { kind }, … }`.
    private static func topics(in value: ArraySlice<UInt8>) -> Set<String>? {
        guard let root = try? DER.parse(value), case .constructed(let nodes) = root.content else { return nil }
        return Set(nodes.compactMap { try? ASN1UTF8String(derEncoded: $0) }.map { String($0) })
    }
}

/// What a client certificate of a developer account is valid for.
struct ClientCertificate: Sendable, Equatable {
    /// The topics it may send to, with their suffixes.
    let topics: Set<String>
    let environments: Set<PushEnvironment>
}

/// The result of checking a client certificate.
enum CertificateStanding: Sendable, Equatable {
    case good(ClientCertificate)
    /// Signed by another authority, expired, or without topics.
    case bad
}
