import PealCore

/// FCM's answers and what they mean (https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode,
/// https://firebase.google.com/docs/cloud-messaging/error-codes): judged by FCM's own error code, where there is none
/// by Google's status, else by HTTP's.
enum FCMVerdicts {
    /// Google's advice where a 429 does not say how long.
    static let quotaPause = Duration.seconds(60)
    /// How long one device waits whose iOS or web push the Firebase project holds no valid key for. Others of the
    /// project are not concerned, so the app goes on.
    static let thirdPartyHold = Duration.seconds(3600)

    /// - Parameters:
    ///   - error: what the body said.
    ///   - retryAfter: of the Retry-After field, or else of the body.
    static func verdict(status: Int, error: FCMError = FCMError(), retryAfter: Duration? = nil) -> Verdict {
        if (200...299).contains(status) { return .accepted }
        if let code = error.errorCode { return verdict(code: code, status, error, retryAfter) }
        if let word = error.status, let verdict = verdict(word: word, error, retryAfter) { return verdict }
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
            verdict(word: code, error, retryAfter) ?? .rejectMessage
        // One that is not known yet: only its class counts, and 404 is no longer a sign of a wrong project.
        default: status == 404 || status == 403 ? .rejectMessage : verdict(http: status, error, retryAfter)
        }
    }

    private static func verdict(word: String, _ error: FCMError, _ retryAfter: Duration?) -> Verdict? {
        switch word {
        case "UNREGISTERED": .retireAddress(since: nil, isSuspicious: false)
        case "SENDER_ID_MISMATCH": .retireAddress(since: nil, isSuspicious: true)
        case "INVALID_ARGUMENT": invalidArgument(error)
        case "UNAUTHENTICATED": .refreshCredential
        case "PERMISSION_DENIED", "NOT_FOUND": .stopApp
        case "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED": quota(error, retryAfter)
        case "UNAVAILABLE", "INTERNAL": .retry(after: retryAfter)
        default: nil
        }
    }

    private static func verdict(http status: Int, _ error: FCMError, _ retryAfter: Duration?) -> Verdict {
        switch status {
        case 400: invalidArgument(error)
        case 401: .refreshCredential
        case 403, 404: .stopApp
        case 429: quota(error, retryAfter)
        case 500...: .retry(after: retryAfter)
        default: .rejectMessage
        }
    }

    /// Whether the token or the message is wrong is known from the field alone; where many tokens of an app are, the
    /// mistake is rather ours.
    private static func invalidArgument(_ error: FCMError) -> Verdict {
        error.isAboutToken ? .retireAddress(since: nil, isSuspicious: true) : .rejectMessage
    }

    private static func quota(_ error: FCMError, _ retryAfter: Duration?) -> Verdict {
        let pause = retryAfter ?? quotaPause
        return error.isAboutDevice ? .holdAddress(after: pause) : .holdApp(after: pause)
    }

    /// The word for the log: FCM's own, with the field where it names one, as `INVALID_ARGUMENT_android_ttl`.
    static func reason(status: Int, error: FCMError) -> String {
        guard let word = error.errorCode ?? error.status else { return "Status\(status)" }
        guard let field = error.field, !error.isAboutToken else { return word }
        let name = field.hasPrefix("message.") ? field.dropFirst("message.".count) : field[...]
        let letters = name.utf8.map { $0.isASCIIAlphanumeric ? $0 : UInt8(ascii: "_") }
        return String(decoding: (Array(word.utf8) + [UInt8(ascii: "_")] + letters).prefix(64), as: UTF8.self)
    }
}

/// The body of an answer that is not 200 (https://google.aip.dev/193, with FCM's own detail
/// `google.firebase.fcm.v1.FcmError`).
struct FCMError: Sendable, Hashable {
    /// `details[].errorCode`, such as `UNREGISTERED`; nil when there is none or it is not a word.
    var errorCode: String?
    /// `error.status`, as `NOT_FOUND`; likewise.
    var status: String?
    /// Whether the address is what is wrong.
    var isAboutToken = false
    /// Whether a quota of the one device is what is used up.
    var isAboutDevice = false
    /// The field of the first `fieldViolations`.
    var field: String?
    /// `google.rpc.RetryInfo`.
    var retryDelay: Duration?

    init() {}

    /// A body that is not JSON, or was cut off, is ignored.
    init(_ body: [UInt8]) {
        guard let error = (try? JSONParser.parse(body))?["error"] else { return }
        let details = error["details"]?.arrayValue ?? []
        let message = error["message"]?.stringValue ?? ""
        errorCode = details.lazy.compactMap { $0["errorCode"]?.stringValue }.first.flatMap(Self.word)
        status = error["status"]?.stringValue.flatMap(Self.word)
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

    /// Google's words; what is none would end up in logs and lists.
    private static func word(_ text: String) -> String? {
        let isWord = text.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        return isWord && (1...Limits.logReasonBytesMax).contains(text.utf8.count) ? text : nil
    }

    /// `30s` or `1.5s`, rounded up to whole seconds.
    private static func duration(_ text: String) -> Duration? {
        guard text.hasSuffix("s"), let seconds = Double(text.dropLast()), (0...86_400).contains(seconds) else {
            return nil
        }
        return .seconds(Int64(seconds.rounded(.up)))
    }
}
