/// An app's rules for when, and how fast, its devices receive messages.
package struct SendRules: Sendable, Hashable {
    package var quietHours: QuietHours?
    package var frequencyCap: FrequencyCap?
    /// The maximum number of the app's notifications per second.
    package var ratePerSecond: Int64?
    /// For devices without a known time zone; nil for UTC.
    package var defaultTimeZone: String?

    package init() {}

    /// Whether devices that wait because of `former` may have to wait less now.
    package func mayEndWaits(under former: SendRules) -> Bool {
        let isEarlier = former.quietHours != nil && quietHours != former.quietHours
        return isEarlier || defaultTimeZone != former.defaultTimeZone
            || former.frequencyCap?.isLoosened(by: frequencyCap) ?? false
    }
}

/// The hours in which a device receives nothing, in its own time zone. They may span midnight.
package struct QuietHours: Sendable, Hashable {
    /// Minutes since midnight; they differ.
    package let from: Int
    package let to: Int

    package init?(from: Int, to: Int) {
        guard from != to, (0..<1440).contains(from), (0..<1440).contains(to) else { return nil }
        self.from = from
        self.to = to
    }

    package func contain(minute: Int) -> Bool {
        from < to ? from <= minute && minute < to : from <= minute || minute < to
    }

    /// A time such as `22:00`.
    package static func text(_ minute: Int) -> String {
        [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    /// Minutes since midnight of a time such as `22:00`; nil for anything else.
    package static func minute(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(\.isASCIIDigit) }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), hour < 24, minute < 60
        else { return nil }
        return hour * 60 + minute
    }
}

/// Computes when quiet hours end. The delivery engine, which knows the time zones, supplies it; the store calls it in
/// its transactions.
package struct QuietClock: Sendable {
    /// The end of the `hours` that contain `now`, in the first known time zone of `zones`; nil if they do not contain
    /// it.
    package typealias End = @Sendable (_ hours: QuietHours, _ zones: [String], _ now: Timestamp) -> Timestamp?

    private let end: End

    /// - Parameter end: uses UTC if no zone is known.
    package init(_ end: @escaping End) { self.end = end }

    /// A clock that finds no quiet hours.
    package static let none = QuietClock { _, _, _ in nil }

    /// When the quiet hours of an app end for a device; nil if there are none now.
    /// - Parameter zone: the device's time zone; nil if it is unknown.
    package func end(of rules: SendRules, zone: String?, at now: Timestamp) -> Timestamp? {
        rules.quietHours.flatMap { end($0, [zone, rules.defaultTimeZone].compactMap(\.self), now) }
    }
}

/// Computes what clocks show in the time zones of devices. The delivery engine, which knows the time zones, supplies
/// it; the store uses it.
package struct LocalClock: Sendable {
    /// What the first known time zone of `zones` adds to UTC at an instant.
    package typealias Offset = @Sendable (_ zones: [String], _ instant: Timestamp) -> Duration

    private let offset: Offset

    /// - Parameter offset: zero if no zone is known.
    package init(_ offset: @escaping Offset) { self.offset = offset }

    /// A clock that knows no time zones.
    package static let utc = LocalClock { _, _ in .zero }

    /// What clocks show, as if it were UTC.
    package func reading(at instant: Timestamp, in zones: [String]) -> Timestamp { instant + offset(zones, instant) }
}

/// The most messages that a device may receive within any period of `hours` hours.
package struct FrequencyCap: Sendable, Hashable {
    package let messages: Int64
    package let hours: Int64

    package init(messages: Int64, hours: Int64) {
        self.messages = messages
        self.hours = hours
    }

    package var period: Duration { .seconds(hours * 3600) }

    /// Whether a device that has used up this cap may get a message sooner under `other`; nil means no cap.
    fileprivate func isLoosened(by other: FrequencyCap?) -> Bool {
        other.map { $0.messages > messages || $0.hours < hours } ?? true
    }
}

/// Why a device waits although its message is being sent; the raw value is the reason in the delivery log.
package enum HoldReason: String, CaseIterable, Sendable, Hashable {
    case recipientTimeZone = "RecipientTimeZone"
    case quietHours = "QuietHours"
    case frequencyCap = "FrequencyCap"
    case rateLimit = "RateLimit"
}

extension AppSettings {
    /// The settings that are rules. They are not in a section.
    package static let ruleNames = ["quiet_hours", "frequency_cap", "rate_per_second", "default_time_zone"]

    /// Replaces each rule that `given` contains; null removes it.
    package mutating func replaceRules(_ given: JSON.Members) {
        guard case .object(var members) = json else { return }
        for name in Self.ruleNames {
            guard let value = given[name] else { continue }
            members[name] = value.isNull ? nil : value
        }
        self = AppSettings(json: .object(members))
    }

    package var rules: SendRules {
        var rules = SendRules()
        if let hours = json["quiet_hours"], let from = hours["from"]?.stringValue.flatMap(QuietHours.minute),
            let to = hours["to"]?.stringValue.flatMap(QuietHours.minute)
        {
            rules.quietHours = QuietHours(from: from, to: to)
        }
        if let cap = json["frequency_cap"], let messages = cap["messages"]?.integerValue,
            let hours = cap["hours"]?.integerValue
        {
            rules.frequencyCap = FrequencyCap(messages: messages, hours: hours)
        }
        rules.ratePerSecond = json["rate_per_second"]?.integerValue
        rules.defaultTimeZone = json["default_time_zone"]?.stringValue
        return rules
    }
}
