import Crypto
import PealCore
import Testing

@testable import PealProviders

@Suite("APNs credentials")
struct APNsCredentialTests {
    @Test("that are valid are accepted")
    func sound() throws {
        try APNsCredential.check(testCredential)
    }

    @Test(
        "that are invalid are refused with the field",
        arguments: [
            ("key_id", ""), ("key_id", "a b"), ("team_id", "T/1"), ("team_id", String(repeating: "t", count: 256)),
            ("bundle_id", "com.example\n"), ("bundle_id", "ä"), ("private_key", "no key"), ("private_key", ""),
            ("private_key", P384.Signing.PrivateKey().pemRepresentation),
            ("private_key", "-----BEGIN PRIVATE KEY-----\nMIGHAgEA\n-----END PRIVATE KEY-----"),
            ("private_key", P256.Signing.PrivateKey().publicKey.pemRepresentation),
        ])
    func faults(field: String, value: String) {
        var credential = testCredential
        switch field {
        case "key_id": credential.keyID = value
        case "team_id": credential.teamID = value
        case "bundle_id": credential.bundleID = value
        default: credential.privateKey = value
        }
        let error = #expect(throws: PealError.self) { try APNsCredential.check(credential) }
        #expect(error?.code == .invalidField)
        #expect(error?.field == field)
    }
}
