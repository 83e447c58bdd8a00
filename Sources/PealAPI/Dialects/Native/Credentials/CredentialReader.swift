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
