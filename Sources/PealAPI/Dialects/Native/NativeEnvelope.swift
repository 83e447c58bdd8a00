internal import HTTPTypes
internal import PealCore

/// `{"error":{"code","message","field"}}`.
struct NativeEnvelope: Envelope {
    static func json(_ error: PealError) -> JSON {
        .compact([
            ("code", .string(error.code.rawValue)), ("message", .string(error.message)),
            ("field", error.field.map(JSON.string)),
        ])
    }

    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        var answer = Answer(HTTPResponse.Status(code: error.code.httpStatus), ["error": Self.json(error)])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Bearer realm=\"peal\"" }
        return answer
    }
}
