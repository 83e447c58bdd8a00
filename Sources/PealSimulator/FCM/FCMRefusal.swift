/// Writes errors in Google's envelope (https://cloud.google.com/apis/design/errors).
enum FCMRefusal {
    private static let errorType = "type.googleapis.com/google.firebase.fcm.v1.FcmError"

    /// What FCM says to an access token that has expired.
    static let expired = FaultAnswer(status: 401, reason: "UNAUTHENTICATED")

    /// An error; `details` are JSON objects.
    static func answer(
        _ status: Int, _ name: String, _ message: String, details: [String] = [],
        headers: [(name: String, value: String)] = []
    ) -> HTTPAnswer {
        var members = [
            ("code", String(status)), ("message", JSONText.quoted(message)), ("status", JSONText.quoted(name)),
        ]
        if !details.isEmpty { members.append(("details", "[" + details.joined(separator: ",") + "]")) }
        return .json(status, JSONText.object([("error", JSONText.object(members))]), headers: headers)
    }

    /// The error that a fault asks for: with an `FcmError` when its reason is an error code, else only with a status.
    static func answer(_ fault: FaultAnswer) -> HTTPAnswer {
        guard let code = FCMErrorCode(rawValue: fault.reason) else {
            guard fault.reason != expired.reason else { return unauthenticated }
            let name = fault.reason.isEmpty ? statusName(fault.status) : fault.reason
            return answer(fault.status, name, "The request failed: \(name).")
        }
        var details = [detail(code)]
        if let seconds = fault.headers.first(where: { $0.name == "retry-after" })?.value {
            let type = JSONText.quoted("type.googleapis.com/google.rpc.RetryInfo")
            details.append(JSONText.object([("@type", type), ("retryDelay", JSONText.quoted(seconds + "s"))]))
        }
        return answer(fault.status, statusName(fault.status), code.message, details: details)
    }

    /// 400 because of fields. What FCM itself finds comes with an `FcmError`; what already the reading of the JSON
    /// finds does not.
    static func invalid(_ violations: [FieldViolation], isMalformed: Bool) -> HTTPAnswer {
        let type = JSONText.quoted("type.googleapis.com/google.rpc.BadRequest")
        let list = "[" + violations.map(\.json).joined(separator: ",") + "]"
        let request = JSONText.object([("@type", type), ("fieldViolations", list)])
        return answer(
            400, statusName(400), violations.map(\.description).joined(separator: "\n"),
            details: (isMalformed ? [] : [detail(.invalidArgument)]) + [request])
    }

    /// 401: no access token, or one that is not good.
    static let unauthenticated = answer(
        401, "UNAUTHENTICATED",
        "Request had invalid authentication credentials. Expected OAuth 2 access token.",
        details: [
            JSONText.object([
                ("@type", JSONText.quoted("type.googleapis.com/google.rpc.ErrorInfo")),
                ("reason", JSONText.quoted("ACCESS_TOKEN_EXPIRED")), ("domain", JSONText.quoted("googleapis.com")),
            ])
        ],
        headers: [("www-authenticate", "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\"")])

    private static func detail(_ code: FCMErrorCode) -> String {
        JSONText.object([("@type", JSONText.quoted(errorType)), ("errorCode", JSONText.quoted(code.rawValue))])
    }

    /// The canonical code (`google.rpc.Code`) that goes with an HTTP status.
    static func statusName(_ status: Int) -> String {
        switch status {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 409: "ABORTED"
        case 429: "RESOURCE_EXHAUSTED"
        case 499: "CANCELLED"
        case 500: "INTERNAL"
        case 501: "UNIMPLEMENTED"
        case 503: "UNAVAILABLE"
        case 504: "DEADLINE_EXCEEDED"
        default: "UNKNOWN"
        }
    }
}

/// The error codes of FCM, each with its status (https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode).
enum FCMErrorCode: String, Sendable, CaseIterable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case `internal` = "INTERNAL"
    case thirdPartyAuthentication = "THIRD_PARTY_AUTH_ERROR"

    /// The HTTP status that goes with the code.
    var status: Int {
        switch self {
        case .unspecified, .internal: 500
        case .invalidArgument: 400
        case .unregistered: 404
        case .senderIDMismatch: 403
        case .quotaExceeded: 429
        case .unavailable: 503
        case .thirdPartyAuthentication: 401
        }
    }

    /// What Google says with it.
    var message: String {
        switch self {
        case .unspecified: "The request failed for an unspecified reason."
        case .invalidArgument: "Request contains an invalid argument."
        case .unregistered: "Requested entity was not found."
        case .senderIDMismatch: "SenderId mismatch"
        case .quotaExceeded: "Quota exceeded for quota metric of sent messages."
        case .unavailable: "The service is currently unavailable."
        case .internal: "Internal error encountered."
        case .thirdPartyAuthentication: "Auth error from APNS or Web Push Service"
        }
    }
}

/// A field of a message that is wrong (`google.rpc.BadRequest.FieldViolation`).
struct FieldViolation: Sendable, Equatable {
    /// Such as `message.android.ttl`.
    let field: String
    let description: String

    var json: String {
        JSONText.object([("field", JSONText.quoted(field)), ("description", JSONText.quoted(description))])
    }
}
