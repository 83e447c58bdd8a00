import PealCore

/// Maps FCM's answers to verdicts (https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode,
/// https://firebase.google.com/docs/cloud-messaging/error-codes): by FCM's own error code, otherwise by Google's
/// status, otherwise by the HTTP status.
enum FCMVerdicts {
    /// FCM's error codes, and Google's statuses.
    static let reasons: Set<String> = [
        "ABORTED", "APNS_AUTH_ERROR", "CANCELLED", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INTERNAL",
        "INVALID_ARGUMENT", "NOT_FOUND", "PERMISSION_DENIED", "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED",
        "SENDER_ID_MISMATCH", "THIRD_PARTY_AUTH_ERROR", "UNAUTHENTICATED", "UNAVAILABLE", "UNREGISTERED",
        "UNSPECIFIED_ERROR",
    ]
    /// Google asks for this wait before any retry, whatever an answer says.
    static let retryMin = Duration.seconds(10)
    /// Google's advice for a 429 that does not say how long to wait.
    static let quotaPause = Duration.seconds(60)
    /// How long a device is held if the Firebase project has no valid key for its iOS or web push. Other devices of the
    /// project are not affected, so the app continues.
    static let thirdPartyHold = Duration.seconds(3600)

    /// - Parameters:
    ///   - error: the error in the body.
    ///   - retryAfter: from the Retry-After field, otherwise from the body.
    static func verdict(status: Int, error: FCMError = FCMError(), retryAfter: Duration? = nil) -> Verdict {
        if (200...299).contains(status) { return .accepted }
        let retryAfter = retryAfter.map { max($0, retryMin) }
        if let code = error.errorCode { return verdict(code: code, status, error, retryAfter) }
        if let name = error.status, let verdict = verdict(googleStatus: name, error, retryAfter) { return verdict }
        return verdict(http: status, error, retryAfter)
    }

    private static func verdict(
        code: String, _ status: Int, _ error: FCMError, _ retryAfter: Duration?
    ) -> Verdict {
        switch code {
        case "UNREGISTERED": .retireAddress(since: nil, isSuspicious: false)
        case "SENDER_ID_MISMATCH": .retireAddress(since: nil, isSuspicious: true)
        case "INVALID_ARGUMENT": invalidArgument(error)
        case "THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR": .holdAddress(after: thirdPartyHold)
        case "QUOTA_EXCEEDED": quota(error, retryAfter)
        case "UNAVAILABLE", "INTERNAL", "UNSPECIFIED_ERROR": .retry(after: retryAfter)
        case "UNAUTHENTICATED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED":
            verdict(googleStatus: code, error, retryAfter) ?? .rejectMessage
        // An unknown code is judged by the status class, except that 403 and 404 no longer indicate a wrong project.
        default: status == 404 || status == 403 ? .rejectMessage : verdict(http: status, error, retryAfter)
        }
    }

    private static func verdict(googleStatus: String, _ error: FCMError, _ retryAfter: Duration?) -> Verdict? {
        switch googleStatus {
        case "UNREGISTERED": .retireAddress(since: nil, isSuspicious: false)
        case "SENDER_ID_MISMATCH": .retireAddress(since: nil, isSuspicious: true)
        case "INVALID_ARGUMENT": invalidArgument(error)
        case "UNAUTHENTICATED": .refreshCredential
        case "PERMISSION_DENIED", "NOT_FOUND": .stopApp
        case "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED": quota(error, retryAfter)
        // The last two come with 409 and 499 when Google's servers drop a request (google.rpc.Code).
        case "UNAVAILABLE", "INTERNAL", "ABORTED", "CANCELLED": .retry(after: retryAfter)
        default: nil
        }
    }

    private static func verdict(http status: Int, _ error: FCMError, _ retryAfter: Duration?) -> Verdict {
        switch status {
        case 400: invalidArgument(error)
        case 401: .refreshCredential
        case 403, 404: .stopApp
        case 429: quota(error, retryAfter)
        // 408: the request did not arrive in full (RFC 9110 §15.5.9).
        case 408, 500...: .retry(after: retryAfter)
        default: .rejectMessage
        }
    }

    /// Only the named field (or the text, if no field is named) shows whether the token or the message is at fault. The
    /// address is only suspicious: if FCM rejects many of an app's tokens, the mistake is probably Peal's.
    private static func invalidArgument(_ error: FCMError) -> Verdict {
        error.isAboutToken ? .retireAddress(since: nil, isSuspicious: true) : .rejectMessage
    }

    private static func quota(_ error: FCMError, _ retryAfter: Duration?) -> Verdict {
        let pause = retryAfter ?? quotaPause
        return error.isAboutDevice ? .holdAddress(after: pause) : .holdApp(after: pause)
    }

    /// The reason for the log: FCM's code, plus the field if it names one, such as `INVALID_ARGUMENT_android_ttl`.
    static func reason(status: Int, error: FCMError) -> String {
        guard let code = error.errorCode ?? error.status else { return "Status\(status)" }
        guard let field = error.field, !error.isAboutToken else { return code }
        let name = field.hasPrefix("message.") ? field.dropFirst("message.".count) : field[...]
        let letters = name.utf8.map { $0.isASCIIAlphanumeric ? $0 : UInt8(ascii: "_") }
        return String(decoding: (Array(code.utf8) + [UInt8(ascii: "_")] + letters).prefix(64), as: UTF8.self)
    }
}

/// The body of a response that is not a success (https://google.aip.dev/193, with FCM's own detail
/// `google.firebase.fcm.v1.FcmError`).
struct FCMError: Sendable, Hashable {
    /// `details[].errorCode`, such as `UNREGISTERED`; nil if it is missing or malformed.
    var errorCode: String?
    /// `error.status`, such as `NOT_FOUND`; nil if it is missing or malformed.
    var status: String?
    /// Whether the address is at fault.
    var isAboutToken = false
    /// Whether the device's own quota is exhausted.
    var isAboutDevice = false
    /// The field of the first entry in `fieldViolations`.
    var field: String?
    /// The delay in `google.rpc.RetryInfo`.
    var retryDelay: Duration?

    init() {}

    /// Ignores a body that is truncated or not JSON.
    init(_ body: [UInt8]) {
        guard let error = (try? JSONParser.parse(body))?["error"] else { return }
        let details = error["details"]?.arrayValue ?? []
        let message = error["message"]?.stringValue ?? ""
        errorCode = details.lazy.compactMap { $0["errorCode"]?.stringValue }.first?.asReason(allowsUnderscores: true)
        status = error["status"]?.stringValue?.asReason(allowsUnderscores: true)
        let violations = details.flatMap { $0["fieldViolations"]?.arrayValue ?? [] }
        let fields = violations.compactMap { $0["field"]?.stringValue }
        field = fields.first
        let texts = [message] + violations.compactMap { $0["description"]?.stringValue }
        isAboutToken =
            fields.contains(where: Self.tokenFields.contains)
            || fields.isEmpty && texts.contains { Self.says("registration token", $0) }
        let quotas = details.filter { $0["@type"]?.stringValue?.hasSuffix("QuotaFailure") ?? false }
            .flatMap { $0["violations"]?.arrayValue ?? [] }
        isAboutDevice = ([message] + quotas.map(\.text)).contains { Self.says("device", $0) }
        retryDelay = details.lazy.compactMap { $0["retryDelay"]?.stringValue }.first.flatMap(Self.duration)
    }

    private static let tokenFields: Set<String> = ["message.token", "message.fid", "token", "fid"]

    private static func says(_ words: String, _ text: String) -> Bool { text.lowercased().contains(words) }

    /// Parses `30s` or `1.5s`, rounded up to whole seconds.
    private static func duration(_ text: String) -> Duration? {
        guard text.hasSuffix("s"), let seconds = Double(text.dropLast()), seconds >= 0 else { return nil }
        return .seconds(Int64(min(seconds, Double(Limits.providerWaitSecondsMax)).rounded(.up)))
    }
}
