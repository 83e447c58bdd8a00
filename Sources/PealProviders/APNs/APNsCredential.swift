import Crypto
import PealCore
import SwiftASN1
import X509

/// Checks an app's APNs credential: receives it and returns what may be shown of it.
enum APNsCredential {
    /// - Throws: `invalid_field`, naming the field; `not_supported` for another network's credential.
    static func examine(_ credential: Credential, now: Timestamp) throws(PealError) -> CredentialExamination {
        switch credential.apns {
        case .token(let signing):
            try check(signing)
            let facts = JSON.Members([
                ("key_id", .string(signing.keyID)), ("team_id", .string(signing.teamID)),
                ("bundle_id", .string(signing.bundleID)),
            ])
            return CredentialExamination(credential: credential, facts: facts)
        case .certificate(let certificate): return try examine(certificate, now: now)
        case .archive(let archive): return try examine(archive, now: now)
        case nil: throw .unsupported("kind")
        }
    }

    /// - Throws: `invalid_field`, naming the field.
    static func check(_ credential: Credential.APNsToken) throws(PealError) {
        try CredentialChecks.check(name: credential.keyID, field: "key_id")
        try CredentialChecks.check(name: credential.teamID, field: "team_id")
        try CredentialChecks.check(name: credential.bundleID, field: "bundle_id")
        _ = try signingKey(credential.privateKey)
    }

    /// The key in a `.p8` file: PEM, PKCS#8, P-256.
    static func signingKey(_ pem: String) throws(PealError) -> P256.Signing.PrivateKey {
        guard pem.contains("-----BEGIN PRIVATE KEY-----"),
            let key = try? P256.Signing.PrivateKey(pemRepresentation: pem)
        else {
            throw .invalid("private_key", "private_key must be a P-256 key in PEM (PKCS#8), as in Apple's .p8 file")
        }
        return key
    }
}

extension APNsCredential {
    /// - Throws: `invalid_field`, naming the field.
    private static func examine(
        _ credential: Credential.APNsCertificate, now: Timestamp
    ) throws(PealError) -> CredentialExamination {
        try CredentialChecks.check(name: credential.bundleID, field: "bundle_id")
        let certificate = try LeafCertificate(credential.identity, now: now)
        let topics = certificate.apnsTopics
        guard topics.isEmpty || isAllowed(credential.bundleID, topics) else {
            throw .invalid("bundle_id", "the certificate is for \(topics.joined(separator: ", "))")
        }
        let facts = JSON.Members([
            ("bundle_id", .string(credential.bundleID)), ("subject", .string(certificate.subject)),
            ("topics", .array(topics.map(JSON.string))),
            ("environments", .array(certificate.apnsEnvironments.map { .string($0.rawValue) })),
        ])
        return CredentialExamination(
            credential: .apnsCertificate(credential), facts: facts, expiresAt: certificate.expiresAt)
    }

    /// - Throws: `invalid_field`, naming the field.
    private static func examine(
        _ archive: Credential.APNsArchive, now: Timestamp
    ) throws(PealError) -> CredentialExamination {
        let identity = try PKCS12Archive.identity(in: archive.data, passphrase: archive.passphrase)
        let certificate = Credential.APNsCertificate(
            identity: identity, bundleID: archive.bundleID, isFromArchive: true)
        do throws(PealError) {
            return try examine(certificate, now: now)
        } catch {
            // The request has neither field: both came in `data`.
            let isInArchive = error.field == "certificate" || error.field == "private_key"
            throw isInArchive ? .invalid("data", error.message) : error
        }
    }

    /// Whether a topic fits the bundle id. A certificate may be for some push types only, such as VoIP, and then holds
    /// only topics with their suffixes.
    private static func isAllowed(_ bundleID: String, _ topics: [String]) -> Bool {
        APNsPushType.allCases.contains { topics.contains(bundleID + $0.topicSuffix) }
    }
}

/// What Apple writes into an APNs client certificate ("Establishing a certificate-based connection to APNs").
extension LeafCertificate {
    /// Apple's extensions: development, production, VoIP, and the topics that the certificate may send to.
    private enum Extension {
        static let development: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
        static let production: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]
        static let voIP: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 4]
        static let topics: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]
    }

    /// `UID` of a distinguished name (RFC 4519 §2.39): the bundle id, or the topic of a device management server.
    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]

    /// The topics that the certificate may send to; empty if it names none, such as one from a test authority.
    var apnsTopics: [String] {
        var topics: [String] = []
        for name in [Extension.topics, Extension.voIP] {
            if let value = leaf.extensions[oid: name]?.value { topics += Self.topics(in: value) }
        }
        if topics.isEmpty, let userID = subjectUserID { topics = [userID] }
        var seen: Set<String> = []
        return topics.filter { seen.insert($0).inserted }
    }

    /// The environments that the certificate names; may be empty.
    var apnsEnvironments: [Environment] {
        let marks: [(Environment, ASN1ObjectIdentifier)] = [
            (.production, Extension.production), (.sandbox, Extension.development),
        ]
        return marks.filter { leaf.extensions[oid: $1] != nil }.map(\.0)
    }

    private var subjectUserID: String? {
        leaf.subject.lazy.flatMap { $0 }.first { $0.type == Self.userID }.flatMap { String($0.value) }
    }

    /// Reads a sequence of topics, each followed by a sequence of its names. Some certificates wrap it in an octet
    /// string.
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
