import Crypto
import Foundation
import NIOCore
import NIOSSL
import SwiftASN1
import X509

/// A certificate authority that exists as long as a simulator's directory, and the server certificate that it signs.
struct CertificateAuthority {
    /// The authority's certificate, which clients find in `ca.pem`.
    let certificatePEM: String
    /// Its private key, kept for the next start.
    let keyPEM: String
    /// Whether an earlier run created it.
    let isKept: Bool
    /// Verifies the certificates that it signs.
    let publicKey: Certificate.PublicKey
    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// The authority of an earlier run, unless it cannot be read or expires within a day.
    init?(keptCertificate: String?, key keyPEM: String?, now: Date) {
        guard let keptCertificate, let keyPEM, let own = try? P256.Signing.PrivateKey(pemRepresentation: keyPEM),
            let certificate = try? Certificate(pemEncoded: keptCertificate)
        else { return nil }
        let key = Certificate.PrivateKey(own)
        guard certificate.publicKey == key.publicKey, certificate.notValidAfter > now.addingTimeInterval(86_400) else {
            return nil
        }
        self.key = key
        self.keyPEM = own.pemRepresentation
        publicKey = key.publicKey
        self.certificate = certificate
        certificatePEM = keptCertificate.trimmingCharacters(in: .whitespacesAndNewlines)
        isKept = true
    }

    /// Creates a P-256 authority, valid from a day before `now` for `SimulatorLimits.certificateLifeDays`.
    init(now: Date) throws {
        let own = P256.Signing.PrivateKey()
        keyPEM = own.pemRepresentation
        isKept = false
        let key = Certificate.PrivateKey(own)
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

    /// A certificate for `key`, signed by this authority.
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

/// Client certificates of developers.
extension CertificateAuthority {
    /// A client certificate of the app `bundleID` and its key in PEM. Like Apple's, it is valid for all kinds of pushes
    /// that certificates allow, in both environments.
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

    /// Topics, each followed by its kinds, as in Apple's certificates.
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

/// The certificate chain of a TLS listener, leaf first, and the leaf's key.
struct ServerIdentity {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    /// A TLS context with `protocols` (ALPN), for TLS 1.2 or later. One that asks for a client certificate must use
    /// `acceptAny` for verification: the services refuse bad certificates with an answer, not in the handshake.
    func context(protocols: [String], asksForCertificate: Bool = false) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        if asksForCertificate {
            configuration.certificateVerification = .optionalVerification
            // The default is the system's roots, which take long to read and verify nothing here.
            configuration.trustRoots = .certificates([])
        }
        // A client that keeps its side open must not delay the simulator's shutdown.
        configuration.shutdownTimeout = .milliseconds(SimulatorLimits.tlsFarewellMilliseconds)
        return try NIOSSLContext(configuration: configuration)
    }

    /// Accepts every client certificate.
    @Sendable static func acceptAny(
        _ chain: [NIOSSLCertificate], _ promise: EventLoopPromise<NIOSSLVerificationResult>
    ) {
        promise.succeed(.certificateVerified)
    }
}

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

    /// The scope of `certificate` (DER) at `nowSeconds` (UTC).
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

/// The scope of a developer account's client certificate.
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
