internal import PealCore

/// Writes refusals in the format of one dialect. The gate adds `Retry-After`.
protocol Envelope: Sendable {
    /// - Parameter path: the path of the request.
    func answer(_ error: PealError, path: String, now: Timestamp) -> Answer
    /// The answer of an envelope that names the request.
    func answer(_ error: PealError, path: String, now: Timestamp, requestID: String) -> Answer
}

extension Envelope {
    func answer(_ error: PealError, path: String, now: Timestamp, requestID: String) -> Answer {
        answer(error, path: path, now: now)
    }

    /// The status in dialects whose vendors do not use 413 for a notification.
    static func status(of code: PealError.Code) -> Int { code == .payloadTooLarge ? 400 : code.httpStatus }
}

extension PealError {
    /// After how many seconds to retry; nil if that cannot help.
    var retrySeconds: Int? { retryAfterSeconds ?? (code == .rateLimited || code == .unavailable ? 1 : nil) }

    /// The message, including the invalid field, for envelopes without a member for it.
    var messageNamingField: String {
        guard let field, !names(field) else { return message }
        return "\(field): \(message)"
    }

    /// Whether the message contains the field as a word.
    private func names(_ field: String) -> Bool {
        message.split(whereSeparator: { $0.isWhitespace || ",;:()".contains($0) }).contains { word in
            word == field || (word.last == "." && word.dropLast() == field)
        }
    }
}
