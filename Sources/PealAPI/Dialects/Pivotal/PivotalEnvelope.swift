internal import HTTPTypes
internal import PealCore

/// The error body of the Spring server that this API came from: `{"timestamp","status","error","message","path"}`.
enum PivotalEnvelope {
    static func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        let status = HTTPResponse.Status(code: error.code.httpStatus)
        var answer = Answer(
            status,
            [
                "timestamp": .integer(now.milliseconds), "status": .integer(status.code),
                "error": .string(status.reasonPhrase), "message": .string(error.message), "path": .string(path),
            ])
        if let seconds = error.retryAfterSeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Basic realm=\"Push\"" }
        return answer
    }
}
