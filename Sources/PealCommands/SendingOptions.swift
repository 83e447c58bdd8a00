internal import ArgumentParser
internal import Foundation
internal import PealCore

/// How and when a message is sent.
struct SendingOptions: ParsableArguments {
    @Option(help: "low, normal or high.")
    var priority: String?

    @Option(name: .customLong("ttl"), help: "Lifetime in seconds; 0 for a single attempt.")
    var ttlSeconds: Int64?

    @Option(help: "Time (RFC 3339) when the message expires.")
    var expiresAt: String?

    @Option(help: "Collapse key: replaces an undelivered notification with the same key.")
    var collapseKey: String?

    @Flag(help: "Wake the app without showing anything.")
    var background = false

    @Option(help: "Only APNs devices of this environment: production or sandbox.")
    var environment: String?

    @Option(
        help: "Time to send the message: RFC 3339, or a local time such as '2030-12-24 18:00' with --tz. Default: now.")
    var at: String?

    @Option(name: .customLong("tz"), help: "Time zone of --at, such as Europe/Vienna.")
    var timeZone: String?

    @Flag(help: "Send when each recipient's clock shows the time of --at.")
    var inRecipientTimeZone = false

    @Flag(help: "Ignore the app's quiet hours and frequency cap.")
    var transactional = false

    @Option(name: .customLong("rate"), help: "Maximum number of notifications per second.")
    var ratePerSecond: Int64?

    @Option(name: .customLong("campaign"), help: "Your own id of the campaign.")
    var campaignID: String?

    func options() throws(CommandFailure) -> JSON? {
        guard ttlSeconds == nil || expiresAt == nil else { throw .usage("give either --ttl or --expires-at") }
        return .filled([
            ("priority", .text(priority)), ("ttl_seconds", .whole(ttlSeconds)), ("expires_at", .text(expiresAt)),
            ("collapse_key", .text(collapseKey)), ("background", .flag(background)),
            ("environment", .text(environment)), ("transactional", .flag(transactional)),
            ("rate_per_second", .whole(ratePerSecond)),
        ])
    }

    func schedule() throws(CommandFailure) -> JSON? {
        guard let at else {
            guard timeZone == nil, !inRecipientTimeZone else {
                throw .usage("--tz and --in-recipient-time-zone need --at")
            }
            return nil
        }
        guard inRecipientTimeZone else { return ["at": .string(try LocalTime.rfc3339(at, in: timeZone))] }
        guard timeZone == nil else { throw .usage("give either --tz or --in-recipient-time-zone") }
        // The server ignores the offset.
        let zone = Timestamp(rfc3339: at) == nil ? "UTC" : nil
        return ["at": .string(try LocalTime.rfc3339(at, in: zone)), "in": "recipient_time_zone"]
    }
}

/// Times as people write them.
enum LocalTime {
    /// - Parameters:
    ///   - text: RFC 3339, or `YYYY-MM-DD HH:MM[:SS]` in `zone`.
    ///   - zone: a name of the time zone database.
    /// - Returns: RFC 3339.
    /// - Throws: `usage` for an invalid time, a local time without a zone, or one that the clocks skip.
    static func rfc3339(_ text: String, in zone: String?) throws(CommandFailure) -> String {
        if Timestamp(rfc3339: text) != nil {
            guard zone == nil else { throw .usage("\(text) already has an offset; omit --tz") }
            return text
        }
        guard let match = text.wholeMatch(of: #/(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d))?/#) else {
            throw .usage("\(text) is not a time, such as 2030-12-24T18:00:00+01:00, or '2030-12-24 18:00' with --tz")
        }
        guard let zone else {
            throw .usage("\(text) has no offset: add one, such as +01:00, or --tz with the time zone")
        }
        guard let timeZone = TimeZone(identifier: zone) else {
            throw .usage("\(zone) is not a time zone, such as Europe/Vienna")
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let fields = match.output
        let numbers = [fields.1, fields.2, fields.3, fields.4, fields.5, fields.6 ?? "0"].map { Int($0) ?? 0 }
        let wanted = DateComponents(
            year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4],
            second: numbers[5])
        guard let date = calendar.date(from: wanted) else { throw .usage("\(text) does not exist in \(zone)") }
        let found = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        let units = [found.year, found.month, found.day, found.hour, found.minute, found.second]
        guard units.compactMap(\.self) == numbers else { throw .usage("\(text) does not exist in \(zone)") }
        return Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded())).description
    }
}
