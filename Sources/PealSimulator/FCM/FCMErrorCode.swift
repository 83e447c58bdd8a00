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
