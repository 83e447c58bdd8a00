internal import PealCore

/// What opens a route of an app: its credential, and the name by which pools know it.
struct Access: Sendable {
    let credential: Credential
    let fingerprint: String
    let providerAppID: String
    let health: CredentialRecord.Health

    init(_ credential: Credential, _ record: CredentialRecord) {
        self.credential = credential
        fingerprint = record.fingerprint
        health = record.health
        providerAppID = credential.providerAppID
    }
}
