internal import PealCore

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
