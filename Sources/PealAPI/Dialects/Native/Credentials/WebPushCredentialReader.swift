internal import PealCore

/// `{subject, private_key?}`: a VAPID key, made by the server when it is absent.
struct WebPushCredentialReader {
    /// Bytes of a private key on P-256.
    private static let keyByteCount = 32

    func credential(_ fields: Fields, now: Timestamp) throws(PealError) -> Credential {
        let subject = try fields.requiredText("subject")
        // RFC 8292 §2.1: a contact URI, `mailto:` or `https:`.
        guard ["mailto:", "https:"].contains(where: { subject.hasPrefix($0) && subject != $0 }),
            !subject.contains(" ")
        else {
            throw .invalid(fields.path("subject"), "subject must be a mailto: or https: URI")
        }
        var privateKey = ""
        if let text = try fields.text("private_key") {
            guard let bytes = Base64URL.decode(text), bytes.count == Self.keyByteCount else {
                throw .invalid(
                    fields.path("private_key"), "private_key must be \(Self.keyByteCount) bytes in base64url")
            }
            privateKey = Base64URL.encode(bytes)
        }
        return .webPush([.init(subject: subject, privateKey: privateKey, createdAt: now)])
    }
}
