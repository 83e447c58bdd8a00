internal import PealCore

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
