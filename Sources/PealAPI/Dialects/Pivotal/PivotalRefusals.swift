internal import PealCore

extension MessagePreview {
    /// Checks a push and names the field of a refusal as the dialect does.
    func checkPivotal(_ draft: MessageDraft, app: App, _ records: [CredentialRecord]) throws(PealError) {
        do {
            try check(draft, app: app, records)
        } catch {
            throw error.inPivotalTerms
        }
    }
}

extension PealError {
    /// The same refusal, with the member of the push in place of the core's field.
    var inPivotalTerms: PealError {
        PealError(code, message, field: field.map(Self.pivotalPath), retryAfterSeconds: retryAfterSeconds)
    }

    private static func pivotalPath(_ path: String) -> String {
        let names = path.split(separator: ".").map(String.init)
        switch names.first {
        case "content":
            guard names.count > 1, let platform = Platform(rawValue: names[1]) else {
                return path == "content.body" ? "message.body" : "message"
            }
            let object = "message.custom.\(PivotalPlatform.os(platform))"
            return names.last == "collapse_key" ? "\(object).collapse_key" : object
        case "options": return names.last == "collapse_key" ? "message.custom.android.collapse_key" : "expiryTime"
        default: return path
        }
    }
}
