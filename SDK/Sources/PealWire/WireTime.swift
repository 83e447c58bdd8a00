/// An instant as it is transferred: RFC 3339 with milliseconds, in UTC. Computed without a calendar, so that phone and
/// server agree to the millisecond.
public struct WireTime: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// Since 1970, without leap seconds.
    public let milliseconds: Int64

    /// The instant this many milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Reads `2026-01-25T03:00:00.000Z`, with any offset and 0 to 9 decimals.
    /// - Returns: nil for anything else.
    public init?(_ text: String) {
        var reader = TimeReader(text)
        guard let milliseconds = reader.milliseconds() else { return nil }
        self.milliseconds = milliseconds
    }

    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// The instant this many milliseconds later.
    public func advanced(by milliseconds: Int64) -> Self {
        Self(milliseconds: self.milliseconds.addingReportingOverflow(milliseconds).partialValue)
    }

    /// RFC 3339 in UTC with three decimals.
    public var description: String {
        let day = Self.floorDivide(milliseconds, 86_400_000)
        let rest = Int(milliseconds - day * 86_400_000)
        let (year, month, dayOfMonth) = Self.date(ofDay: day)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))T\(padded(rest / 3_600_000, 2)):"
            + "\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1000 % 60, 2)).\(padded(rest % 1000, 3))Z"
    }

    /// Reads the text of a JSON string.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let time = Self(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 time")
        }
        self = time
    }

    /// Writes a JSON string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : (value + 1) / divisor - 1
    }

    /// Days since 1970 of a date (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    static func day(year: Int, month: Int, day: Int) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = Int(floorDivide(Int64(year), 400))
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return Int64(era) * 146_097 + Int64(yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear) - 719_468
    }

    static func date(ofDay day: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = Int(shifted - era * 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let month = part < 10 ? part + 3 : part - 9
        return (yearOfEra + Int(era) * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * part + 2) / 5 + 1)
    }
}

/// Reads RFC 3339 §5.6 from left to right.
private struct TimeReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    mutating func milliseconds() -> Int64? {
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
            take("T") || take("t") || take(" "), let hour = number(2), take(":"), let minute = number(2), take(":"),
            let second = number(2), (1...12).contains(month), day >= 1, day <= Self.days(year, month), hour < 24,
            minute < 60, second <= 60, let fraction = fraction(), let offset = offset(), rest.isEmpty
        else { return nil }
        let days = WireTime.day(year: year, month: month, day: day)
        let seconds = Int64(hour * 3600 + minute * 60 + min(second, 59)) - Int64(offset)
        return (days * 86_400 + seconds) * 1000 + fraction
    }

    private static func days(_ year: Int, _ month: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }

    private mutating func take(_ character: Character) -> Bool {
        guard let first = rest.first, first == character.asciiValue else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func digit() -> Int? {
        guard let first = rest.first, (48...57).contains(first) else { return nil }
        rest.removeFirst()
        return Int(first) - 48
    }

    private mutating func number(_ digits: Int) -> Int? {
        var value = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// 0 to 9 decimals, cut to milliseconds.
    private mutating func fraction() -> Int64? {
        guard take(".") else { return 0 }
        var digits: [Int] = []
        while let digit = digit() { digits.append(digit) }
        guard (1...9).contains(digits.count) else { return nil }
        return Int64((digits + [0, 0]).prefix(3).reduce(0) { $0 * 10 + $1 })
    }

    /// Seconds that the local time is ahead of UTC.
    private mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let sign = take("+") ? 1 : take("-") ? -1 : 0
        guard sign != 0, let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
            return nil
        }
        return sign * (hours * 3600 + minutes * 60)
    }
}
