internal import PealCore

extension MessagePreview {
    /// Checks a message and names the field of a refusal as the dialect does.
    func checkContextPush(_ draft: MessageDraft, app: App, _ records: [CredentialRecord]) throws(PealError) {
        do {
            try check(draft, app: app, records)
        } catch {
            throw error.inContextPushTerms
        }
    }
}

extension PealError {
    /// The same refusal, with the dialect's member in place of the core's field.
    fileprivate var inContextPushTerms: PealError {
        guard let field else { return self }
        let names = [
            ("content.data", "content.userInfo"), ("content.thread_id", "content.thread-id"),
            ("content.image_url", "content.imageUrl"), ("content.ios", "content"), ("content.android", "content"),
        ]
        guard let (core, own) = names.first(where: { field == $0.0 || field.hasPrefix($0.0 + ".") }) else {
            return self
        }
        let rest = own == "content" ? "" : field.dropFirst(core.count)
        return PealError(code, message, field: own + rest, retryAfterSeconds: retryAfterSeconds)
    }
}
