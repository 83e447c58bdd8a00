/// An instant as milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }
    /// Saturates at the limits of Int64.
    package init(seconds: Int64) { milliseconds = seconds.saturated(multipliedBy: 1000) }

    /// Whole seconds, rounded down.
    package var seconds: Int64 { milliseconds.floorDivided(by: 1000) }

    /// The beginning of its step, such as its hour or its day. Steps begin at multiples of their length since 1970
    /// (UTC).
    package func floored(toSeconds length: Int64) -> Timestamp {
        Timestamp(milliseconds: milliseconds.floorDivided(by: length * 1000) * length * 1000)
    }

    package static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
    package static func + (left: Self, right: Duration) -> Self {
        Timestamp(milliseconds: left.milliseconds.saturated(adding: right.milliseconds))
    }
    package static func - (left: Self, right: Duration) -> Self {
        Timestamp(milliseconds: left.milliseconds.saturated(subtracting: right.milliseconds))
    }
    package static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds.saturated(subtracting: right.milliseconds))
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero; saturates at the limits of Int64.
    package var milliseconds: Int64 {
        components.seconds.saturated(multipliedBy: 1000)
            .saturated(adding: components.attoseconds / 1_000_000_000_000_000)
    }
}

extension Timestamp: CustomStringConvertible {
    /// RFC 3339 in UTC, with milliseconds only if they are not 0: `2026-11-21T02:30:00Z`. Instants before the year 0000
    /// or after 9999 appear as the nearest one that can be written.
    package var description: String {
        let milliseconds = min(max(milliseconds, Self.writable.lowerBound), Self.writable.upperBound)
        let days = milliseconds.floorDivided(by: 86_400_000)
        let inDay = milliseconds &- days &* 86_400_000
        let (year, month, day) = Self.civil(fromDays: days)
        let seconds = inDay / 1000
        return String(unsafeUninitializedCapacity: 24) { text in
            var digits = DigitWriter(text: text)
            digits.put(year, 4, before: "-")
            digits.put(month, 2, before: "-")
            digits.put(day, 2, before: "T")
            digits.put(seconds / 3600, 2, before: ":")
            digits.put(seconds / 60 % 60, 2, before: ":")
            digits.put(seconds % 60, 2, before: inDay % 1000 == 0 ? "Z" : ".")
            if inDay % 1000 != 0 { digits.put(inDay % 1000, 3, before: "Z") }
            return digits.end
        }
    }

    /// The same, always with milliseconds.
    package var withMilliseconds: String {
        let text = description
        return text.contains(".") ? text : text.dropLast() + ".000Z"
    }

    /// Writes numbers with leading zeros.
    private struct DigitWriter {
        let text: UnsafeMutableBufferPointer<UInt8>
        var end = 0

        mutating func put(_ value: Int64, _ width: Int, before mark: Unicode.Scalar) {
            var rest = value
            for position in (end..<end + width).reversed() {
                text[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            text[end + width] = UInt8(ascii: mark)
            end += width + 1
        }
    }

    /// Reads RFC 3339 §5.6 with any offset. Truncates digits beyond milliseconds; a leap second counts as the next
    /// second. An instant that is in another year than 0000 to 9999 in UTC is refused, because it cannot be written.
    package init?(rfc3339 text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10]),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = Self.number(bytes[0..<4]), let month = Self.number(bytes[5..<7]),
            let day = Self.number(bytes[8..<10]), let hour = Self.number(bytes[11..<13]),
            let minute = Self.number(bytes[14..<16]), let second = Self.number(bytes[17..<19]),
            (1...12).contains(month), day >= 1, day <= Self.dayCount(year: year, month: month),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var rest = bytes[19...]
        guard let milliseconds = Self.fraction(&rest), let offset = Self.offsetMinutes(rest) else { return nil }
        let days = Self.days(fromCivil: year, month, day)
        let minutes = days * 1440 + hour * 60 + minute - offset
        self.init(milliseconds: (minutes * 60 + second) * 1000 + milliseconds)
        guard Self.writable.contains(self.milliseconds) else { return nil }
    }

    /// From 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z.
    private static let writable: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// The first instant that RFC 3339 can write.
    package static let earliest = Timestamp(milliseconds: writable.lowerBound)

    private static func fraction(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        guard rest.first == UInt8(ascii: ".") else { return 0 }
        rest = rest.dropFirst()
        let digits = rest.prefix(while: \.isASCIIDigit)
        rest = rest.dropFirst(digits.count)
        guard !digits.isEmpty else { return nil }
        return number((Array(digits) + Array("00".utf8)).prefix(3))
    }

    private static func offsetMinutes(_ rest: ArraySlice<UInt8>) -> Int64? {
        let bytes = Array(rest)
        if bytes == [UInt8(ascii: "Z")] || bytes == [UInt8(ascii: "z")] { return 0 }
        guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), let hours = number(bytes[1..<3]),
            let minutes = number(bytes[4..<6]), hours < 24, minutes < 60
        else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "+"): return hours * 60 + minutes
        case UInt8(ascii: "-"): return -(hours * 60 + minutes)
        default: return nil
        }
    }

    private static func number(_ digits: some Sequence<UInt8>) -> Int64? {
        var value: Int64 = 0
        for digit in digits {
            guard digit.isASCIIDigit else { return nil }
            value = value * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return value
    }

    private static func dayCount(year: Int64, month: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Days since 1970-01-01 of a date in the proleptic Gregorian calendar (H. Hinnant, "chrono-compatible low-level
    /// date algorithms").
    private static func days(fromCivil year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.floorDivided(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func civil(fromDays days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthIndex + 2) / 5 + 1
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

/// Arithmetic on untrusted times: an instant in the far future must not stop the server.
extension Int64 {
    package func saturated(adding other: Int64) -> Int64 {
        let (value, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : value
    }

    package func saturated(subtracting other: Int64) -> Int64 {
        let (value, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : value
    }

    package func saturated(multipliedBy other: Int64) -> Int64 {
        let (value, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : value
    }

    /// The quotient rounded down, for a positive divisor.
    package func floorDivided(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
