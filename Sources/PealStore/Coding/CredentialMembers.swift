internal import PealCore

/// Reads the members that `CredentialCoding` wrote.
struct CredentialMembers {
    let json: JSON

    func credential(_ provider: ProviderName) throws -> Credential {
        let kind = try text("kind")
        switch (provider, kind) {
        case (.apns, "token"):
            return .apnsToken(
                .init(
                    keyID: try text("key_id"), teamID: try text("team_id"), privateKey: try text("private_key"),
                    bundleID: try text("bundle_id")))
        case (.apns, _):
            return .apnsCertificate(
                .init(identity: try identity(), bundleID: try text("bundle_id"), isFromArchive: kind == "p12"))
        case (.fcm, _):
            return .fcm(
                .init(
                    projectID: try text("project_id"), clientEmail: try text("client_email"),
                    privateKeyID: json["private_key_id"]?.stringValue, privateKey: try text("private_key"),
                    tokenURI: try text("token_uri")))
        case (.wns, "package"):
            return .wns(.storeApp(packageSID: try text("package_sid"), clientSecret: try text("client_secret")))
        case (.wns, _):
            return .wns(
                .tenant(
                    tenantID: try text("tenant_id"), clientID: try text("client_id"),
                    clientSecret: try text("client_secret")))
        case (.mpns, _): return .mpns(.init(identity: kind == "none" ? nil : try identity()))
        case (.webpush, _): return .webPush(try (json["keys"]?.arrayValue ?? []).map { try Self(json: $0).key() })
        }
    }

    private func text(_ name: String) throws -> String {
        guard let text = json[name]?.stringValue else { throw PealError.damaged("a credential") }
        return text
    }

    private func identity() throws -> Credential.TLSIdentity {
        .init(certificates: try text("certificate"), privateKey: try text("private_key"))
    }

    private func key() throws -> Credential.VAPIDKey {
        guard let createdAt = json["created_at"]?.integerValue else { throw PealError.damaged("a credential") }
        return .init(
            subject: try text("subject"), privateKey: try text("private_key"), publicKey: try text("public_key"),
            createdAt: Timestamp(milliseconds: createdAt))
    }
}
