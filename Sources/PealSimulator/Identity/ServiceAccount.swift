import CryptoExtras
import Foundation

/// A service account of Google's, as its JSON file describes it.
struct ServiceAccount: Sendable {
    let projectID: String
    let keyID: String
    private let key: _RSA.Signing.PrivateKey

    /// One key serves all simulators of a process: making one takes long.
    private static let sharedKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    init(projectID: String, ids: IDSource) throws {
        self.projectID = projectID
        key = try Self.sharedKey.get()
        keyID = ids.bytes(20).map { String(format: "%02x", $0) }.joined()
    }

    var clientEmail: String { "peal-simulator@\(projectID).iam.gserviceaccount.com" }

    /// Whether `signature` is the account's own under `text` (RS256).
    func isValid(_ signature: [UInt8], for text: [UInt8]) -> Bool {
        key.publicKey.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature), for: text, padding: .insecurePKCS1v1_5)
    }

    /// The JSON file that Google lets one download.
    func json(tokenURL: String) -> String {
        let members = [
            ("type", "service_account"), ("project_id", projectID), ("private_key_id", keyID),
            ("private_key", key.pkcs8PEMRepresentation + "\n"), ("client_email", clientEmail),
            ("client_id", "100000000000000000001"), ("auth_uri", "https://accounts.google.com/o/oauth2/auth"),
            ("token_uri", tokenURL), ("universe_domain", "googleapis.com"),
        ]
        return JSONText.object(members.map { ($0.0, JSONText.quoted($0.1)) }) + "\n"
    }
}
