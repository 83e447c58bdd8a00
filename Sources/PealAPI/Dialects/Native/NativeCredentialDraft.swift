internal import PealCore

/// Reads the credential of one push network from a body. What it takes is only looked at by its form; whether it is any
/// good the provider says.
struct CredentialReader {
    let provider: ProviderName

    func credential(_ fields: Fields, now: Timestamp) throws(PealError) -> Credential {
        switch provider {
        case .apns: try APNsCredentialReader().credential(fields)
        case .fcm: try FCMCredentialReader().credential(fields)
        case .wns: try WNSCredentialReader().credential(fields)
        case .mpns: try MPNSCredentialReader().credential(fields)
        case .webpush: try WebPushCredentialReader().credential(fields, now: now)
        }
    }

    /// A provider's refusal with the field's path from the body's root: what FCM's says stands in the service account.
    func placed(_ error: PealError) -> PealError {
        let object = FCMCredentialReader.object
        guard provider == .fcm, error.code == .invalidField, error.field?.hasPrefix(object) == false else {
            return error
        }
        return error.under(object)
    }
}

extension Fields {
    /// `[A-Za-z0-9._:-]{1,255}` and `more`: these stand in provider requests.
    func word(_ name: String, or more: String = "") throws(PealError) -> String {
        let text = try requiredText(name)
        guard text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._:-\(more)".utf8.contains($0) }) else {
            let marks = "._:-\(more)".map { String($0) }.joined(separator: " ")
            throw .invalid(path(name), "\(path(name)) may hold letters, digits and \(marks) only")
        }
        return text
    }

    /// A password or the like.
    func secret(_ name: String) throws(PealError) -> String {
        try requiredText(name, charactersMax: Limits.secretBytesMax)
    }

    /// A text that may have line ends; nil when absent.
    func lines(_ name: String, bytesMax: Int) throws(PealError) -> String? {
        guard let text = try freeText(name) else { return nil }
        guard (1...bytesMax).contains(text.utf8.count) else {
            throw .invalid(path(name), "\(path(name)) must be 1 to \(bytesMax) bytes long")
        }
        try ControlCharacters.refuse(in: text, path(name), except: ControlCharacters.inContent)
        return text
    }

    /// PEM (RFC 7468): lines of text; nil when absent.
    func pem(_ name: String, bytesMax: Int = Limits.privateKeyBytesMax) throws(PealError) -> String? {
        guard let text = try lines(name, bytesMax: bytesMax) else { return nil }
        guard text.contains("-----BEGIN ") else {
            throw .invalid(path(name), "\(path(name)) must be PEM: -----BEGIN …")
        }
        return text
    }

    func requiredPEM(_ name: String, bytesMax: Int = Limits.privateKeyBytesMax) throws(PealError) -> String {
        guard let text = try pem(name, bytesMax: bytesMax) else { throw .missing(path(name)) }
        return text
    }
}

/// `{kind: token|certificate|p12, …, bundle_id}`.
struct APNsCredentialReader {
    func credential(_ fields: Fields) throws(PealError) -> Credential {
        switch try fields.requiredText("kind") {
        case "token":
            .apnsToken(
                .init(
                    keyID: try fields.word("key_id"), teamID: try fields.word("team_id"),
                    privateKey: try fields.requiredPEM("private_key"), bundleID: try fields.word("bundle_id")))
        case "certificate":
            .apnsCertificate(
                .init(
                    identity: .init(
                        certificates: try fields.requiredPEM("certificate", bytesMax: Limits.certificatesBytesMax),
                        privateKey: try fields.requiredPEM("private_key")),
                    bundleID: try fields.word("bundle_id")))
        case "p12":
            .apnsArchive(
                .init(
                    data: try archive(fields, "data"), passphrase: try passphrase(fields),
                    bundleID: try fields.word("bundle_id")))
        default: throw .invalid(fields.path("kind"), "kind must be token, certificate or p12")
        }
    }

    /// Base64; programs that write it break its lines.
    private func archive(_ fields: Fields, _ name: String) throws(PealError) -> [UInt8] {
        guard let text = try fields.freeText(name) else { throw .missing(fields.path(name)) }
        guard text.utf8.count <= Limits.archiveCharactersMax else {
            throw .invalid(
                fields.path(name), "\(name) may be \(Limits.archiveCharactersMax) characters of base64 at most")
        }
        guard let data = Base64URL.decode(text.filter { !$0.isNewline }), !data.isEmpty else {
            throw .invalid(fields.path(name), "\(name) must be a PKCS#12 archive in base64")
        }
        return data
    }

    /// Archives without one have the empty one.
    private func passphrase(_ fields: Fields) throws(PealError) -> String {
        if try fields.freeText("passphrase")?.isEmpty ?? true { return "" }
        return try fields.secret("passphrase")
    }
}

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

/// `{package_sid, client_secret}` of the Store, or `{tenant_id, client_id, client_secret}` of Microsoft Entra.
struct WNSCredentialReader {
    func credential(_ fields: Fields) throws(PealError) -> Credential {
        let isTenant = fields["tenant_id"] != nil || fields["client_id"] != nil
        guard fields["package_sid"] != nil else {
            guard isTenant else {
                throw PealError(
                    .missingField, "give package_sid, or tenant_id and client_id, with client_secret",
                    field: fields.path("package_sid"))
            }
            return .wns(
                .tenant(
                    tenantID: try fields.word("tenant_id"), clientID: try fields.word("client_id"),
                    clientSecret: try fields.secret("client_secret")))
        }
        guard !isTenant else {
            throw .invalid(fields.path("package_sid"), "give either package_sid or tenant_id and client_id, not both")
        }
        // `ms-app://S-1-15-2-…`
        return .wns(
            .storeApp(
                packageSID: try fields.word("package_sid", or: "/"), clientSecret: try fields.secret("client_secret")))
    }
}

/// `{certificate?, private_key?}`: both, or neither for the network's unauthenticated service.
struct MPNSCredentialReader {
    func credential(_ fields: Fields) throws(PealError) -> Credential {
        let certificates = try fields.pem("certificate", bytesMax: Limits.certificatesBytesMax)
        let privateKey = try fields.pem("private_key")
        switch (certificates, privateKey) {
        case (nil, nil): return .mpns(.init(identity: nil))
        case (let certificates?, let privateKey?):
            return .mpns(.init(identity: .init(certificates: certificates, privateKey: privateKey)))
        case (nil, _): throw .missing(fields.path("certificate"))
        case (_, nil): throw .missing(fields.path("private_key"))
        }
    }
}

/// `{subject, private_key?}`: a VAPID key, made by the server when it is absent.
struct WebPushCredentialReader {
    func credential(_ fields: Fields, now: Timestamp) throws(PealError) -> Credential {
        let subject = try fields.requiredText("subject")
        // RFC 8292 §2.1: a contact URI, `mailto:` or `https:`.
        guard ["mailto:", "https:"].contains(where: { subject.hasPrefix($0) && subject != $0 }),
            !subject.contains(" ")
        else {
            throw .invalid(fields.path("subject"), "subject must be a mailto: or https: URI")
        }
        let privateKey = try fields.lines("private_key", bytesMax: Limits.privateKeyBytesMax) ?? ""
        return .webPush([.init(subject: subject, privateKey: privateKey, createdAt: now)])
    }
}
