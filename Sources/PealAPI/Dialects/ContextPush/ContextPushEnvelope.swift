internal import HTTPTypes
internal import PealCore

/// `{"error":{"code","message","field"}}`, with status 422 for an unsupported platform.
struct ContextPushEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        let isPlatform = error.field == "platform" && error.code == .notSupported
        let status = isPlatform ? 422 : error.code.httpStatus
        var answer = Answer(HTTPResponse.Status(code: status), ["error": NativeEnvelope.json(error)])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Token realm=\"push\"" }
        return answer
    }

    /// The refusal to cancel a message that can no longer be cancelled: `state` is its state.
    static func tooLate(_ state: Moment.State) -> Answer {
        let word =
            switch state {
            case .claimed, .recovering: "claimed"
            case .sending, .sent: "sent"
            case .shown, .opened, .dismissed: "shown"
            case .open, .cancelled, .failed: state.name
            }
        return Answer(
            .conflict,
            [
                "error": [
                    "code": .string(PealError.Code.conflict.rawValue),
                    "message": .string("the message is \(word) and cannot be cancelled"), "state": .string(word),
                ]
            ])
    }
}

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
