/// Thrown by a check that a request did not pass; answered as Mozilla's service does
/// (https://mozilla-services.github.io/autopush-rs/errors.html), with a reason of Apple's where it has one.
struct WebPushRefusal: Error, Equatable {
    let status: Int
    /// Mozilla's number of the error.
    let number: Int
    let reason: String

    init(_ status: Int, _ number: Int, _ reason: String) {
        self.status = status
        self.number = number
        self.reason = reason
    }

    static let badToken = WebPushRefusal(403, 109, "BadJwtToken")
    static let keyMismatch = WebPushRefusal(403, 109, "VapidPkHashMismatch")

    /// The refusal that a fault asks for.
    init(_ fault: FaultAnswer) {
        let number =
            switch fault.status {
            case 404: 102
            case 410: 106
            case 413: 104
            case 401, 403: 109
            case 429, 500...: 201
            default: 0
            }
        self.init(fault.status, number, fault.reason)
    }

    var answer: HTTPAnswer {
        .json(
            status,
            JSONText.object([
                ("code", String(status)), ("errno", String(number)), ("error", JSONText.quoted(Self.name(status))),
                ("message", JSONText.quoted(reason)), ("reason", JSONText.quoted(reason)),
            ]),
            headers: status == 401 ? [("www-authenticate", "vapid")] : [])
    }

    private static func name(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 413: "Payload Too Large"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: status < 500 ? "Error" : "Internal Server Error"
        }
    }
}
