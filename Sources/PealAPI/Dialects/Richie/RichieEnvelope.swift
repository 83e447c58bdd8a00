internal import HTTPTypes
internal import PealCore

/// The error body of this API: `{"error":"…"}`, one sentence that names the invalid field.
struct RichieEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        var answer = Answer(
            HTTPResponse.Status(code: error.code.httpStatus), ["error": .string(error.messageNamingField)])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Basic realm=\"Richie Push\"" }
        return answer
    }
}

/// The names that a task's members have for the fields of a message. Each platform has its own payload.
enum RichieSpelling {
    static func path(of field: MessageField) -> String {
        field.platform == .android ? "payloads.android" : "payloads.ios"
    }
}
