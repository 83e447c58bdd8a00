internal import HTTPTypes
internal import PealCore

/// `{"status_code","errors":[{"code","msg"}]}`; the status of the answer is the one in the body.
enum DevtodevEnvelope {
    static func answer(_ error: PealError) -> Answer {
        let code = DevtodevCode(error)
        let status = code.status(of: error)
        var message = error.message
        if let field = error.field, !message.contains(field) { message = "\(field): \(message)" }
        var answer = Answer(
            HTTPResponse.Status(code: status),
            [
                "status_code": .integer(status),
                "errors": [["code": .integer(code.rawValue), "msg": .string(message)]],
            ])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "UserToken realm=\"push\"" }
        return answer
    }
}
