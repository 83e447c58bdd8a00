import CryptoExtras
import PealCore

/// Generated once per run, because generating RSA keys is slow.
let testRSAKey = makeKey(.bits2048)
let testSmallRSAKey = makeKey(.init(bitCount: 1024))

/// A service account whose key is generated for the run.
let testServiceAccount = Credential.FCMServiceAccount(
    projectID: "example-project", clientEmail: "push@example-project.iam.gserviceaccount.com", privateKeyID: "abc123",
    privateKey: testRSAKey.pkcs8PEMRepresentation, tokenURI: "https://oauth2.googleapis.com/token")

private func makeKey(_ size: _RSA.Signing.KeySize) -> _RSA.Signing.PrivateKey {
    guard let key = try? _RSA.Signing.PrivateKey(unsafeKeySize: size) else { fatalError("no RSA key") }
    return key
}
