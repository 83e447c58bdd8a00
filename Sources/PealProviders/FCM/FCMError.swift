import PealCore

/// The body of an answer that is not 200 (https://google.aip.dev/193, with FCM's own detail
/// `google.firebase.fcm.v1.FcmError`).
struct FCMError: Sendable, Hashable {
    /// `details[].errorCode`, as `UNREGISTERED`; nil when there is none or it is no word.
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

    /// What is no JSON, or was cut off, says nothing.
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
