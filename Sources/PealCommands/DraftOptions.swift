internal import ArgumentParser
internal import Foundation
internal import PealCore

/// A whole message, from a file, from options, or from both.
struct DraftOptions: ParsableArguments {
    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @OptionGroup(title: "Content") var content: ContentOptions
    @OptionGroup(title: "Delivery") var delivery: SendingOptions
    @OptionGroup var body: BodyOptions

    /// Options for the audience and the schedule replace those of the file; others replace single members.
    /// - Parameter more: further members.
    func document(_ more: [(String, JSON?)] = []) throws(CommandFailure) -> JSON {
        let file = try body.fileMembers()
        let members: [(String, JSON?)] = [
            ("audience", try audience.document()), ("content", try content.document(over: file?["content"])),
            ("options", try delivery.options()), ("schedule", try delivery.schedule()),
            ("campaign_id", .text(delivery.campaignID)),
        ]
        let given = JSON.compact(members + more)
        guard var document = file, let parts = given.objectValue else { return given }
        for (name, value) in MessageChange(document).change(parts).pairs { document[name] = value }
        return .object(document)
    }
}

/// The audience of a message.
struct AudienceOptions: ParsableArguments {
    @Flag(help: "Every device of the app.")
    var all = false

    @Option(name: .customLong("topic"), help: "Devices subscribed to this topic (repeatable).")
    var topics: [String] = []

    @Option(name: .customLong("user"), help: "Devices of this user (repeatable).")
    var users: [String] = []

    @Option(name: .customLong("device"), help: "The device with this id (repeatable).")
    var devices: [String] = []

    @Option(
        name: .customLong("address"),
        help: "Address, registered or not (repeatable), such as ios:DEVICETOKEN or ios:sandbox:DEVICETOKEN.")
    var addresses: [String] = []

    @Option(name: .customLong("platform"), help: "Only devices of this platform (repeatable).")
    var platforms: [String] = []

    @Option(name: .customLong("not-topic"), help: "Except devices subscribed to this topic (repeatable).")
    var notTopics: [String] = []

    @Flag(help: "Only devices that can show interactive notifications.")
    var interactiveOnly = false

    @OptionGroup var condition: ConditionOptions

    func document() throws(CommandFailure) -> JSON? {
        guard !all || [topics, users, devices, addresses].allSatisfy(\.isEmpty) else {
            throw .usage("give either --all, or --topic, --user, --device and --address")
        }
        var unregistered: [JSON] = []
        for text in addresses { unregistered.append(try Self.address(text)) }
        return .filled([
            ("all", .flag(all)), ("topics", .texts(topics)), ("users", .texts(users)), ("devices", .texts(devices)),
            ("addresses", unregistered.isEmpty ? nil : .array(unregistered)), ("platforms", .texts(platforms)),
            ("not_topics", .texts(notTopics)), ("interactive_only", .flag(interactiveOnly)),
            ("where", try condition.document()),
        ])
    }

    /// Reads `platform[:environment]:address`. A channel URI contains colons too, so only a known environment counts.
    static func address(_ text: String) throws(CommandFailure) -> JSON {
        guard let colon = text.firstIndex(of: ":") else {
            throw .usage("--address \(text): expected platform:address, such as ios:DEVICETOKEN")
        }
        let platform = String(text[..<colon])
        var rest = text[text.index(after: colon)...]
        var environment: String?
        if let next = rest.firstIndex(of: ":"), Environment(alias: String(rest[..<next])) != nil {
            environment = String(rest[..<next])
            rest = rest[rest.index(after: next)...]
        }
        return .compact([
            ("platform", .string(platform)), ("environment", .text(environment)), ("address", .string(String(rest))),
        ])
    }
}

/// A condition on devices.
struct ConditionOptions: ParsableArguments {
    @Option(
        name: .customLong("where"),
        help: "Only devices that meet this condition: JSON, a file with JSON, or - for standard input.")
    var condition: String?

    func document() throws(CommandFailure) -> JSON? {
        guard let condition else { return nil }
        guard condition.first(where: { !$0.isWhitespace }) == "{" else { return try InputFile.json(condition) }
        return try InputFile.json(condition.utf8, of: "--where")
    }
}

/// The content of a message.
struct ContentOptions: ParsableArguments {
    @Option(help: "Title.")
    var title: String?

    @Option(help: "Subtitle.")
    var subtitle: String?

    @Option(help: "Body text.")
    var body: String?

    @Option(
        name: .customLong("title-in"), help: "Title for a locale (repeatable), such as de=Servus or de-AT=Servus.")
    var titlesIn: [String] = []

    @Option(name: .customLong("subtitle-in"), help: "Subtitle for a locale (repeatable).")
    var subtitlesIn: [String] = []

    @Option(name: .customLong("body-in"), help: "Body text for a locale (repeatable).")
    var bodiesIn: [String] = []

    @Option(
        help: ArgumentHelp(
            "Locale of --title, --subtitle and --body if you also give texts for locales, and of devices without a "
                + "match. Default: en."))
    var defaultLocale: String?

    @Option(name: .customLong("image-url"), help: "https URL of an image.")
    var imageURL: String?

    @Option(help: "JSON object for the app.")
    var data: String?

    @Option(help: "Number on the app icon; 0 removes it.")
    var badge: Int64?

    @Option(help: "Name of the sound.")
    var sound: String?

    @Option(name: .customLong("thread-id"), help: "Id of the thread that groups notifications on the device.")
    var threadID: String?

    @Option(help: "Category, which determines the buttons of the notification.")
    var category: String?

    /// - Parameter present: the content that this one changes. Its default locale applies without the option.
    func document(over present: JSON? = nil) throws(CommandFailure) -> JSON? {
        let locale = defaultLocale ?? present?["default_locale"]?.stringValue ?? "en"
        return .filled([
            ("title", try text(title, titlesIn, "--title-in", locale)),
            ("subtitle", try text(subtitle, subtitlesIn, "--subtitle-in", locale)),
            ("body", try text(body, bodiesIn, "--body-in", locale)), ("default_locale", .text(defaultLocale)),
            ("image_url", .text(imageURL)), ("data", try dataObject()), ("badge", .whole(badge)),
            ("sound", .text(sound)), ("thread_id", .text(threadID)), ("category", .text(category)),
        ])
    }

    /// A plain text, or texts by locale. If both are given, the plain text is in the default locale.
    private func text(
        _ plain: String?, _ localized: [String], _ option: String, _ defaultLocale: String
    ) throws(CommandFailure) -> JSON? {
        guard !localized.isEmpty else { return .text(plain) }
        var texts = JSON.Members()
        if let plain { texts[defaultLocale] = .string(plain) }
        for text in localized {
            let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, !halves[0].isEmpty else {
                throw .usage("\(option) \(text): expected LOCALE=TEXT, such as de=Servus")
            }
            let locale = String(halves[0])
            guard texts[locale] == nil else { throw .usage("\(option): \(locale) is given more than once") }
            texts[locale] = .string(String(halves[1]))
        }
        return .object(texts)
    }

    private func dataObject() throws(CommandFailure) -> JSON? {
        guard let data else { return nil }
        return try InputFile.json(data.utf8, of: "--data")
    }
}

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
