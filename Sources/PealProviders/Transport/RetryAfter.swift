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

/// Dates in HTTP header fields.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Parses the three forms that recipients must accept (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`,
    /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`; nil for anything else.
    static func timestamp(_ text: String) -> Timestamp? {
        // The longest form has 33 bytes. Comparing a long text may take seconds (`CombiningMarks`), and an untrusted
        // host may send one.
        guard text.utf8.count <= 40 else { return nil }
        let parts = text.split(separator: " ").map(String.init)
        switch parts.count {
        case 6 where parts[5] == "GMT": return timestamp(parts[3], parts[2], parts[1], parts[4])
        case 5: return timestamp(parts[4], parts[1], parts[2].count == 1 ? "0\(parts[2])" : parts[2], parts[3])
        case 4 where parts[3] == "GMT":
            let date = parts[1].split(separator: "-").map(String.init)
            guard date.count == 3, date[2].count == 2 else { return nil }
            // As in POSIX: 69 to 99 are of the last century. No network sends a date that far from the present.
            return timestamp((date[2] < "69" ? "20" : "19") + date[2], date[1], date[0], parts[2])
        default: return nil
        }
    }

    private static func timestamp(_ year: String, _ month: String, _ day: String, _ time: String) -> Timestamp? {
        guard let number = months.firstIndex(of: month).map({ $0 + 1 }) else { return nil }
        return Timestamp(rfc3339: "\(year)-\(number < 10 ? "0" : "")\(number)-\(day)T\(time)Z")
    }
}
