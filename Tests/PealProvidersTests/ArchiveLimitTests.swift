import Foundation
import PealCore
import Testing

@testable import PealProviders

@Suite("Archives that demand too much work")
struct ArchiveLimitTests {
    /// 66,051 iterations, which no other part of an archive contains by accident.
    private static let asked: [UInt8] = [0x02, 0x03, 0x01, 0x02, 0x03]
    private static let huge: [UInt8] = [0x02, 0x03, 0x7F, 0xFF, 0xFF]

    private func refusal(_ data: [UInt8]) -> PealError? {
        let archive = Credential.APNsArchive(data: data, passphrase: "secret", bundleID: "com.example.app")
        do {
            _ = try APNsCredential.examine(.apnsArchive(archive), now: APNsCertificateTests.now)
            return nil
        } catch {
            return error
        }
    }

    /// The processor time of this thread, which other programs do not delay.
    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }

    @Test(
        "are refused before anything is derived, whichever part it is",
        arguments: [[], ["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES"]])
    func iterations(schemes: [String]) throws {
        let archive = try PushCertificate().archive(["-iter", "66051"] + schemes)
        #expect(refusal(archive) == nil)
        let offsets = archive.indices.filter { archive[$0...].starts(with: Self.asked) }
        #expect(offsets.count == 3)
        var parts: [String] = []
        for offset in offsets {
            var changed = archive
            changed.replaceSubrange(offset..<offset + Self.huge.count, with: Self.huge)
            let start = Self.processorSeconds
            let refusal = try #require(self.refusal(changed))
            #expect(Self.processorSeconds - start < 2)
            #expect(refusal.code == .invalidField)
            #expect(refusal.field == "data")
            #expect(refusal.message.contains("asks for 8388607 iterations"), "\(refusal.message)")
            parts.append(refusal.message)
        }
        for part in ["MAC", "of the private key", "of the certificates"] {
            #expect(parts.contains { $0.contains(part) }, "\(parts)")
        }
    }

    @Test("an encrypted key in PEM is refused without an attempt to open it")
    func encryptedPEM() throws {
        let certificate = try PushCertificate()
        var credential = certificate.credential()
        credential.identity.privateKey =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n"
            + credential.identity.privateKey
        let error = #expect(throws: PealError.self) {
            try APNsCredential.examine(.apnsCertificate(credential), now: APNsCertificateTests.now)
        }
        #expect(error?.field == "private_key")
        #expect(error?.message.contains("passphrase") == true)
    }
}
