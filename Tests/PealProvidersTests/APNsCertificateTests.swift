import Foundation
import PealCore
import Testing

@testable import PealProviders

@Suite("APNs certificates")
struct APNsCertificateTests {
    /// Within the life of certificates made today.
    static let now = Timestamp(seconds: 1_800_000_000)

    private func facts(_ examination: CredentialExamination, _ name: String) -> JSON? { examination.facts[name] }

    @Test("state their topics, environments, subject and expiry")
    func facts() throws {
        let topics = ["com.example.app", "com.example.app.voip", "com.example.app.complication"]
        let certificate = try PushCertificate(.init(topics: topics))
        let credential = Credential.apnsCertificate(certificate.credential())
        let examination = try APNsCredential.examine(credential, now: Self.now)
        #expect(examination.credential == credential)
        #expect(facts(examination, "bundle_id") == "com.example.app")
        #expect(facts(examination, "topics") == .array(topics.map(JSON.string)))
        #expect(facts(examination, "environments") == ["production", "sandbox"])
        #expect(facts(examination, "subject")?.stringValue?.contains("Apple Push Services: com.example.app") == true)
        let end = try #require(examination.expiresAt)
        #expect(end > Self.now + .seconds(5 * 365 * 24 * 3600))
    }

    @Test(
        "state their purpose in one of two extensions",
        arguments: [
            ("com.example.app", [], ["6.3.2"], ["com.example.app"], ["production"]),
            ("other", ["com.example.app"], ["6.3.1"], ["com.example.app"], ["sandbox"]),
            (nil, [], [], [], []),
        ] as [(String?, [String], [String], [String], [String])])
    func places(userID: String?, topics: [String], marks: [String], expected: [String], environments: [String]) throws {
        let certificate = try PushCertificate(.init(userID: userID, topics: topics, marks: marks))
        let examination = try APNsCredential.examine(.apnsCertificate(certificate.credential()), now: Self.now)
        #expect(facts(examination, "topics") == .array(expected.map(JSON.string)))
        #expect(facts(examination, "environments") == .array(environments.map(JSON.string)))
    }

    @Test("may be for VoIP alone")
    func voIP() throws {
        let certificate = try PushCertificate(.init(userID: "com.example.app.voip"))
        _ = try APNsCredential.examine(.apnsCertificate(certificate.credential()), now: Self.now)
    }

    @Test("may have an RSA key")
    func rsa() throws {
        let certificate = try PushCertificate(.init(keyArguments: ["-newkey", "rsa:2048"]))
        _ = try APNsCredential.examine(.apnsCertificate(certificate.credential()), now: Self.now)
        let archive = Credential.APNsArchive(
            data: try certificate.archive(), passphrase: "secret", bundleID: "com.example.app")
        _ = try APNsCredential.examine(.apnsArchive(archive), now: Self.now)
    }

    @Test("that are invalid are refused with the field")
    func faults() throws {
        let certificate = try PushCertificate()
        let other = try PushCertificate()
        func field(_ now: Timestamp = Self.now, _ change: (inout Credential.APNsCertificate) -> Void) -> String? {
            var credential = certificate.credential()
            change(&credential)
            let error = #expect(throws: PealError.self) {
                try APNsCredential.examine(.apnsCertificate(credential), now: now)
            }
            #expect(error?.code == .invalidField)
            return error?.field
        }
        #expect(field { $0.identity.certificates = "none" } == "certificate")
        #expect(field { $0.identity.certificates = $0.identity.privateKey } == "certificate")
        #expect(field { $0.identity.privateKey = "none" } == "private_key")
        #expect(field { $0.identity.privateKey = other.identity.privateKey } == "private_key")
        #expect(field { $0.bundleID = "com.example.other" } == "bundle_id")
        #expect(field { $0.bundleID = "com.example.app\r\nx: y" } == "bundle_id")
        #expect(field(Self.now + .seconds(20 * 365 * 24 * 3600)) { _ in } == "certificate")
    }
}

@Suite("PKCS#12 archives")
struct PKCS12ArchiveTests {
    private func examine(_ data: [UInt8], _ passphrase: String = "secret") throws(PealError) -> CredentialExamination {
        try APNsCredential.examine(
            .apnsArchive(.init(data: data, passphrase: passphrase, bundleID: "com.example.app")),
            now: APNsCertificateTests.now)
    }

    private func field(_ data: [UInt8], _ passphrase: String = "secret") -> String? {
        let error = #expect(throws: PealError.self) { try examine(data, passphrase) }
        #expect(error?.code == .invalidField)
        return error?.field
    }

    @Test(
        "of every kind become the certificate and key that are in them",
        arguments: [
            [], ["-certpbe", "NONE", "-keypbe", "NONE"], ["-keypbe", "AES-128-CBC", "-certpbe", "NONE"],
            ["-legacy"], ["-legacy", "-descert"], ["-macalg", "sha512"], ["-name", "Push"],
        ])
    func kinds(arguments: [String]) throws {
        let certificate = try PushCertificate()
        let examination = try examine(try certificate.archive(arguments))
        guard case .certificate(let found)? = examination.credential.apns else { throw TestFailure("no certificate") }
        #expect(found.isFromArchive && found.bundleID == "com.example.app")
        #expect(examination.facts["topics"] == ["com.example.app"])
        // Stored again as PEM, it is the same.
        let again = try APNsCredential.examine(
            .apnsCertificate(.init(identity: found.identity, bundleID: "com.example.app")),
            now: APNsCertificateTests.now)
        #expect(again.expiresAt == examination.expiresAt)
    }

    @Test("include their authorities' certificates, after the app's own")
    func chain() throws {
        let certificate = try PushCertificate()
        let authority = try PushCertificate(.init(userID: nil))
        let archive = try certificate.archive(["-certfile", authority.directory.file("cert.pem")])
        guard case .certificate(let found)? = try examine(archive).credential.apns else {
            throw TestFailure("no certificate")
        }
        #expect(found.identity.certificates.components(separatedBy: "BEGIN CERTIFICATE").count == 3)
    }

    @Test(
        "are opened by their passphrase, even an empty one",
        arguments: ["", "pass phrase", #"!"§$%&"#.filter(\.isASCII)])
    func passphrases(passphrase: String) throws {
        let archive = try PushCertificate().archive(passphrase: passphrase)
        _ = try examine(archive, passphrase)
        #expect(field(archive, passphrase + "x") == "passphrase")
        #expect(field(archive, "Grüße") == "passphrase")
    }

    @Test("that lack a key or a certificate for it are refused")
    func incomplete() throws {
        let certificate = try PushCertificate()
        #expect(field(try certificate.archive(["-nokeys"])) == "data")
        #expect(field(try certificate.archive(["-nokeys", "-certpbe", "NONE"])) == "data")
        #expect(field(try certificate.archive(["-nocerts"])) == "data")
        let other = try PushCertificate()
        // Key of one, certificate of another.
        let mixed = try joined(certificate.archive(["-nocerts"]), other.archive(["-nokeys"]))
        #expect(PKCS12Contents(mixed)?.keys.count == 1)
        #expect(field(mixed) == "data")
    }

    /// The key of one archive with the certificates of another, without a MAC.
    private func joined(_ first: [UInt8], _ second: [UInt8]) throws -> [UInt8] {
        let key = try #require(PKCS12Contents(first)?.keys.first)
        let others = try #require(PKCS12Contents(second))
        let data: [UInt8] = [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 1]
        let shrouded: [UInt8] = [0x06, 11, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 12, 10, 1, 2]
        let bags = node(0x30, node(0x30, shrouded + node(0xA0, key.bytes)))
        let safe = node(0x30, node(0x30, data + node(0xA0, node(4, bags))) + others.encrypted.flatMap { $0 })
        return node(0x30, [2, 1, 3] + node(0x30, data + node(0xA0, node(4, safe))))
    }

    private func node(_ identifier: UInt8, _ content: [UInt8]) -> [UInt8] {
        [identifier, 0x82, UInt8(content.count >> 8), UInt8(truncatingIfNeeded: content.count)] + content
    }

    @Test("that are random bytes are refused")
    func garbage() throws {
        #expect(field([]) == "data")
        #expect(field(Array("not an archive".utf8)) == "data")
        let archive = try PushCertificate().archive()
        let randomness = SeededRandomness()
        for cut in stride(from: 0, to: archive.count, by: 97) { #expect(field(Array(archive[..<cut])) == "data") }
        for _ in 0..<300 {
            var broken = archive
            broken[Int(randomness.next() % UInt64(broken.count))] ^= UInt8(1 << (randomness.next() % 8))
            // It may still be readable; it must not end the process.
            _ = try? examine(broken)
        }
    }
}
