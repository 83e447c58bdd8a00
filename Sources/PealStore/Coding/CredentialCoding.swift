internal import PealCore

/// A credential as the bytes that are sealed.
enum CredentialCoding {
    static func encode(_ credential: Credential) -> [UInt8] {
        switch credential {
        case .apnsToken(let signing):
            JSON.object(
                .init([
                    ("kind", .string(credential.kind)), ("key_id", .string(signing.keyID)),
                    ("team_id", .string(signing.teamID)), ("private_key", .string(signing.privateKey)),
                    ("bundle_id", .string(signing.bundleID)),
                ])
            ).bytes
        }
    }

    static func decode(_ bytes: [UInt8]) throws -> Credential {
        guard let json = try? JSONParser.parse(bytes), json["kind"]?.stringValue == "token",
            let keyID = json["key_id"]?.stringValue, let teamID = json["team_id"]?.stringValue,
            let privateKey = json["private_key"]?.stringValue, let bundleID = json["bundle_id"]?.stringValue
        else { throw PealError.damaged("a credential") }
        return .apnsToken(.init(keyID: keyID, teamID: teamID, privateKey: privateKey, bundleID: bundleID))
    }
}

extension Credential {
    /// The word for it in listings.
    var kind: String {
        switch self {
        case .apnsToken: "token"
        }
    }
}
