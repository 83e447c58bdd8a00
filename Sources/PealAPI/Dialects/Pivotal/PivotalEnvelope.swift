internal import HTTPTypes
internal import PealCore

/// The error body of the original Spring server: `{"timestamp","status","error","message","path"}`.
struct PivotalEnvelope: Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer {
        let status = HTTPResponse.Status(code: Self.status(of: error.code))
        var answer = Answer(
            status,
            [
                "timestamp": .integer(now.milliseconds), "status": .integer(status.code),
                "error": .string(Self.phrase(error.code)), "message": .string(error.messageNamingField),
                "path": .string(path),
            ])
        if let seconds = error.retrySeconds { answer.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthorized {
            answer.headers[.wwwAuthenticate] = "Basic realm=\"\(error.realm ?? "Push")\""
        }
        return answer
    }

    /// The reason phrase of the status (RFC 9110 §15, RFC 6585 §4).
    private static func phrase(_ code: PealError.Code) -> String {
        switch status(of: code) {
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

/// The names that a push's members have for the fields of a message.
enum PivotalSpelling {
    static func path(of field: MessageField) -> String {
        switch field {
        case .body: "message.body"
        case .content, .title, .subtitle, .imageURL, .badge, .sound, .threadID, .category, .data, .dataMember:
            "message"
        case .collapseKey(let platform): "\(object(platform ?? .android)).collapse_key"
        case .platform(let platform, _): object(platform)
        }
    }

    private static func object(_ platform: Platform) -> String { "message.custom.\(PivotalPlatform.os(platform))" }
}
