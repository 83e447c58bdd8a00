internal import HTTPTypes
internal import PealCore

/// `{"error":{"code","message","field"}}`.
enum NativeEnvelope {
    static func json(_ error: PealError) -> JSON {
        .compact([
            ("code", .string(error.code.rawValue)), ("message", .string(error.message)),
            ("field", error.field.map(JSON.string)),
        ])
    }

    static func answer(_ error: PealError) -> Answer {
        var answer = Answer(HTTPResponse.Status(code: error.code.httpStatus), ["error": json(error)])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Bearer realm=\"peal\"" }
        return answer
    }
}
