internal import PealCore

/// A credential as the bytes that are sealed: JSON, its `kind` telling the members.
enum CredentialCoding {
    static func encode(_ credential: Credential) -> [UInt8] {
        JSON.compact([("kind", .string(credential.kind))] + members(credential)).bytes
    }

    private static func members(_ credential: Credential) -> [(String, JSON?)] {
        switch credential {
        case .apnsToken(let signing):
            [
                ("key_id", .string(signing.keyID)), ("team_id", .string(signing.teamID)),
                ("private_key", .string(signing.privateKey)), ("bundle_id", .string(signing.bundleID)),
            ]
        case .apnsCertificate(let certificate):
            members(certificate.identity) + [("bundle_id", .string(certificate.bundleID))]
        case .apnsArchive(let archive):
            [
                ("data", .string(Base64URL.encode(archive.data))), ("passphrase", .string(archive.passphrase)),
                ("bundle_id", .string(archive.bundleID)),
            ]
        case .fcm(let account):
            [
                ("project_id", .string(account.projectID)), ("client_email", .string(account.clientEmail)),
                ("private_key_id", account.privateKeyID.map(JSON.string)),
                ("private_key", .string(account.privateKey)), ("token_uri", .string(account.tokenURI)),
            ]
        case .wns(.storeApp(let packageSID, let secret)):
            [("package_sid", .string(packageSID)), ("client_secret", .string(secret))]
        case .wns(.tenant(let tenantID, let clientID, let secret)):
            [
                ("tenant_id", .string(tenantID)), ("client_id", .string(clientID)),
                ("client_secret", .string(secret)),
            ]
        case .mpns(let client): client.identity.map(members) ?? []
        case .webPush(let keys): [("keys", .array(keys.map(json)))]
        }
    }

    private static func members(_ identity: Credential.TLSIdentity) -> [(String, JSON?)] {
        [("certificate", .string(identity.certificates)), ("private_key", .string(identity.privateKey))]
    }

    private static func json(_ key: Credential.VAPIDKey) -> JSON {
        [
            "subject": .string(key.subject), "private_key": .string(key.privateKey),
            "public_key": .string(key.publicKey), "created_at": .integer(key.createdAt.milliseconds),
        ]
    }

    /// - Throws: when the bytes are not what `encode` made for that provider.
    static func decode(_ bytes: [UInt8], _ provider: ProviderName) throws -> Credential {
        guard let json = try? JSONParser.parse(bytes) else { throw PealError.damaged("a credential") }
        return try CredentialMembers(json: json).credential(provider)
    }
}
