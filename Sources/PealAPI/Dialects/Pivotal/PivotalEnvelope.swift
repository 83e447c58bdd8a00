internal import HTTPTypes
internal import PealCore

/// The error body of the original Spring server: `{"timestamp","status","error","message","path"}`.
struct PivotalEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        let status = HTTPResponse.Status(code: error.code.httpStatus)
        var answer = Answer(
            status,
            [
                "timestamp": .integer(now.milliseconds), "status": .integer(status.code),
                "error": .string(Self.phrase(error.code)), "message": .string(error.messageNamingField),
                "path": .string(path),
            ])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized { answer.headers[.wwwAuthenticate] = "Basic realm=\"Push\"" }
        return answer
    }

    /// The phrases of RFC 9110 §15 and RFC 6585 §4.
    private static func phrase(_ code: PealError.Code) -> String {
        switch code.httpStatus {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: "Internal Server Error"
        }
    }
}

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
