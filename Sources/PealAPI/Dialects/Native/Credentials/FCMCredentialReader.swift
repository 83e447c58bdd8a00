internal import PealCore

/// `{service_account: {…}}`: Google's JSON file as it is.
struct FCMCredentialReader {
    static let object = "service_account"

    func credential(_ fields: Fields) throws(PealError) -> Credential {
        if fields["server_key"] != nil, fields[Self.object] == nil {
            throw .invalid(
                fields.path("server_key"),
                "Google ended server keys and the legacy API in 2024: give the JSON of a service account")
        }
        let account = try fields.requiredObject(Self.object)
        if let type = try account.text("type"), type != Self.object {
            throw .invalid(
                account.path("type"), "type must be \(Self.object): this is the file of another kind of account")
        }
        return .fcm(
            .init(
                projectID: try account.word("project_id"), clientEmail: try account.word("client_email", or: "@"),
                privateKeyID: try account.text("private_key_id"),
                privateKey: try account.requiredPEM("private_key"), tokenURI: try account.requiredText("token_uri")))
    }
}
