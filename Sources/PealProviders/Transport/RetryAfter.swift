import PealCore

/// The value of Retry-After (RFC 9110 §10.2.3).
enum RetryAfter: Sendable, Hashable {
    case seconds(Int)
    case date(Timestamp)

    private static let longest = Duration.seconds(Limits.providerWaitSecondsMax)

    /// nil if the text is neither a number of seconds nor a date.
    init?(_ text: String) {
        if let seconds = Int(text) {
            guard seconds >= 0 else { return nil }
            self = .seconds(seconds)
        } else if let date = HTTPDate.timestamp(text) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// The requested wait, at most `Limits.providerWaitSecondsMax`; nil for a date in the past.
    func wait(now: Timestamp) -> Duration? {
        switch self {
        case .seconds(let seconds): min(.seconds(seconds), Self.longest)
        case .date(let date): date > now ? min(date - now, Self.longest) : nil
        }
    }
}
