internal import HTTPTypes
internal import PealCore

/// The error body of this API: `{"error":"…"}`, one sentence that names the field at fault.
struct RichieEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        let status = error.code == .payloadTooLarge ? 413 : error.code.httpStatus
        var answer = Answer(HTTPResponse.Status(code: status), ["error": .string(error.messageNamingField)])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Basic realm=\"Richie Push\"" }
        return answer
    }
}

extension MessagePreview {
    /// Checks a task and names the field of a refusal as the dialect does.
    func checkRichie(_ draft: MessageDraft, app: App, _ records: [CredentialRecord]) throws(PealError) {
        do {
            try check(draft, app: app, records)
        } catch {
            throw error.inRichieTerms
        }
    }
}

extension PealError {
    /// The same refusal, with the member of the task in place of the core's field.
    var inRichieTerms: PealError {
        PealError(code, message, field: field.map(Self.richiePath), retryAfterSeconds: retryAfterSeconds)
    }

    private static func richiePath(_ path: String) -> String {
        let names = path.split(separator: ".")
        guard names.count > 1, names[0] == "content" else { return path }
        return names[1] == "android" ? "payloads.android" : "payloads.ios"
    }
}
