import CryptoExtras
import PealCore
import SwiftASN1

/// Checks an app's FCM credential: the members of a Google service account's JSON file.
enum FCMCredential {
    /// - Throws: `invalid_field`, naming the field under `service_account`.
    static func examine(
        _ account: Credential.FCMServiceAccount, tokenHosts: TokenHosts
    ) throws(PealError) -> CredentialExamination {
        try CredentialChecks.check(name: account.projectID, field: "project_id", in: "service_account")
        try checkEmail(account.clientEmail)
        if let id = account.privateKeyID {
            try CredentialChecks.check(name: id, field: "private_key_id", in: "service_account")
        }
        _ = try signingKey(account.privateKey)
        guard tokenHosts.contains(account.tokenURI) else {
            throw .invalid(
                "service_account.token_uri",
                "token_uri must be an https URL on a Google host or one that the server's configuration allows"
            )
        }
        let facts = JSON.compact([
            ("project_id", .string(account.projectID)), ("client_email", .string(account.clientEmail)),
            ("private_key_id", account.privateKeyID.map(JSON.string)),
        ])
        return CredentialExamination(credential: .fcm(account), facts: facts.objectValue ?? .init())
    }

    /// The RSA key of at least 2,048 bits in PEM: PKCS#8, which Google's file uses, or PKCS#1.
    static func signingKey(_ pem: String) throws(PealError) -> _RSA.Signing.PrivateKey {
        try PEMDocument.refuseEncryptedKey(pem, field: "service_account.private_key")
        let isPrivate = ["-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----"].contains(where: pem.contains)
        guard isPrivate, pem.utf8.count <= Limits.privateKeyBytesMax,
            let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem)
        else {
            throw .invalid(
                "service_account.private_key",
                "private_key must be an RSA key of at least 2,048 bits in PEM, as in Google's JSON file")
        }
        return key
    }

    private static func checkEmail(_ email: String) throws(PealError) {
        let isPrintable = email.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isPrintable, email.utf8.contains(UInt8(ascii: "@")), email.utf8.count <= Limits.nameCharactersMax else {
            throw .invalid("service_account.client_email", "client_email must be the service account's email address")
        }
    }
}
