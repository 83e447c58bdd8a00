/// Reasons for HTTP statuses that have the same meaning in WNS and MPNS.
enum WindowsReason {
    static func word(_ status: Int) -> String {
        switch status {
        case 400: "BadRequest"
        case 401: "Unauthorized"
        case 404: "NotFound"
        case 405: "MethodNotAllowed"
        case 503: "ServiceUnavailable"
        default: "Status\(status)"
        }
    }
}
