internal import Foundation
internal import PealCore

/// The fields of Compose. Its message is what the native API reads from `request()`.
struct ComposeForm: Sendable {
    let form: Form

    /// How many translations have fields: those that are filled in and one more, but at least three.
    var translationCount: Int {
        let filled = (2...Limits.localesPerMessageMax).last { form["locale_\($0)"] != nil } ?? 1
        return min(max(4, filled + 1), Limits.localesPerMessageMax)
    }

    init(_ form: Form) { self.form = form }

    var hasContent: Bool {
        (["title", "body", "data"] + ComposePlatforms.fieldNames).contains { form[$0] != nil }
    }

    var platforms: ComposePlatforms { ComposePlatforms(form) }

    /// For the audience only.
    var environment: Environment? { form["environment"].flatMap { Environment(alias: $0) } }

    /// The form with all devices as its audience, for a preview before an audience is chosen.
    func withAnyAudience() -> ComposeForm {
        ((try? audience())?.isEmpty ?? true) ? ComposeForm(form.with("all", "1")) : self
    }

    /// The form for a test; its audience and time are ignored.
    var forTest: ComposeForm {
        ComposeForm(
            form.keeping { name in
                ![
                    "topics", "users", "devices", "not_topics", "segments", "where", "platforms", "at", "window_until",
                    "recipient_time", "rows",
                ].contains(name) && !name.hasPrefix("row")
            }.with("all", "1"))
    }

    /// The fields that are not part of the message.
    static let steering: Set = [
        "csrf", "step", "once", "confirm", "counted", "from", "save_name", "rows", "draft", "template",
    ]

    /// Identifies the message of a form: two forms with the same value are the same message.
    var identity: String {
        form.pairs.filter { !Self.steering.contains($0.name) }
            .map { "\($0.name)=\($0.value.replacing("\r\n", with: "\n"))" }.sorted().joined(separator: "\n")
    }

    /// - Throws: `invalid_field`, naming the field of the form.
    func audience() throws(PealError) -> Audience {
        var audience = Audience()
        audience.includesAll = form.isSet("all")
        audience.topics = try names("topics", max: Limits.audienceTopicsMax)
        audience.users = try names("users", max: Limits.audienceUsersMax)
        audience.excludedTopics = try names("not_topics", max: Limits.audienceTopicsMax)
        for text in form.list("devices") {
            guard let id = DeviceID(text) else { throw .invalid("devices", "\(text) is not the id of a device") }
            audience.devices.append(id)
        }
        guard audience.devices.count <= Limits.audienceDevicesMax else {
            throw .invalid("devices", "at most \(Limits.audienceDevicesMax) devices can be named")
        }
        audience.condition = try condition()
        let platforms = form.all("platforms").compactMap { Platform(rawValue: $0) }
        if !platforms.isEmpty { audience.platforms = Set(platforms) }
        return audience
    }

    /// The conditions that must all hold: any of the segments, the rows, and the other fields.
    private func condition() throws(PealError) -> Condition? {
        let segments = try names("segments", max: 64).map(Condition.segment)
        var parts: [Condition] = segments.count > 1 ? [.or(segments)] : segments
        if let rows = try ComposeRows(form).condition() { parts.append(rows) }
        if let text = form["where"] { parts.append(try ConsoleCondition.read(text, named: "where")) }
        return parts.count > 1 ? .and(parts) : parts.first
    }

    private func names(_ field: String, max: Int) throws(PealError) -> [String] {
        let names = form.list(field)
        guard names.count <= max else { throw .invalid(field, "\(field) may have at most \(max) entries") }
        for name in names {
            guard name.unicodeScalars.count <= Limits.nameCharactersMax,
                !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { throw .invalid(field, "\(field) contains a name that is too long or has control characters") }
        }
        return names
    }

    /// Checks what a message needs before it can be sent, and a draft does not.
    /// - Throws: `invalid_field`, naming the field of the form.
    func checkComplete() throws(PealError) {
        guard !(try audience()).isEmpty else { throw .invalid("topics", "choose who gets the message") }
        guard hasContent else { throw .invalid("title", "write a title or a text") }
        guard !form.isSet("recipient_time") || form["at"] != nil else {
            throw .invalid("at", "choose the time that clocks show then")
        }
    }

    /// - Throws: `invalid_field` for a delivery window together with a time, one of which would be lost.
    func checkOneStart() throws(PealError) {
        guard form["window_until"] != nil, let field = ["at", "recipient_time"].first(where: form.isSet) else { return }
        throw .invalid(field, "give either a time to send at or a delivery window, not both")
    }

    func campaign() throws(PealError) -> String? {
        guard let name = form["campaign_id"] else { return nil }
        return try ConsoleText.checked(name, named: "campaign_id", max: Limits.nameCharactersMax)
    }

    /// `MessageDraft.audienceEnvironment` of what is written so far.
    var audienceEnvironment: Environment? {
        var content = Content()
        for (platform, members) in (try? platforms.objects()) ?? [] {
            var options = PlatformOptions()
            options.environment = members["options"]?["environment"]?.stringValue.flatMap { Environment(alias: $0) }
            content.platforms[platform] = Content.PlatformContent(options: options)
        }
        var options = MessageOptions()
        options.environment = environment
        return options.audienceEnvironment(in: content)
    }

    /// The maximum number of notifications per second; nil for no limit.
    func rate() throws(PealError) -> Int64? {
        guard let text = form["rate_per_second"] else { return nil }
        guard let rate = Int64(text), (1...Limits.ratePerSecondMax).contains(rate) else {
            throw .invalid("rate_per_second", "the rate must be a number from 1 to \(Limits.ratePerSecondMax)")
        }
        return rate
    }

    /// The units of the field for the lifetime, the largest first, which is also the default.
    static let lifeUnits: [(name: String, seconds: Int64, word: Word)] = [
        ("hours", 3600, .hours), ("minutes", 60, .minutes), ("seconds", 1, .seconds),
    ]

    /// The lifetime in seconds; nil for the default.
    func life() throws(PealError) -> Int64? {
        guard let text = form["ttl"] else { return nil }
        let unit = (Self.lifeUnits.first { $0.name == form["ttl_unit"] } ?? Self.lifeUnits[0]).seconds
        guard let number = Int64(text), (0...Limits.ttlSecondsMax / unit).contains(number) else {
            throw .invalid("ttl", "the lifetime must be a whole number, at most 10 years")
        }
        return number * unit
    }

    func imageURL() throws(PealError) -> String? {
        guard let url = form["image_url"] else { return nil }
        guard url.hasPrefix("https://"), url.utf8.count <= Limits.imageURLBytesMax else {
            throw .invalid("image_url", "the address of the image must begin with https://")
        }
        return url
    }

    func data() throws(PealError) -> JSON.Members? {
        guard let text = form["data"] else { return nil }
        guard let members = try ConsoleJSON.parse(text, named: "data")?.objectValue else {
            throw .invalid("data", "data must be a JSON object, such as {\"order\": 7}")
        }
        return members
    }

    func badge() throws(PealError) -> Int64? {
        guard let text = form["badge"] else { return nil }
        guard let badge = Int64(text), badge >= 0 else { throw .invalid("badge", "badge must be a number") }
        return badge
    }

    /// The numbers of the translations.
    /// - Throws: `missing_field` for a text without its locale, which would be lost.
    private func translations() throws(PealError) -> [Int] {
        let filled = Set(form.pairs.filter { !$0.value.trimmed.isEmpty }.map(\.name))
        var numbers: [Int] = []
        for number in 2...Limits.localesPerMessageMax {
            if filled.contains("locale_\(number)") {
                numbers.append(number)
            } else if ComposeFormWriter.texts.contains(where: { filled.contains("\($0)_\(number)") }) {
                throw .missing("locale_\(number)")
            }
        }
        return numbers
    }

    /// Of the untranslated texts; nil without translations.
    func ownLocale() throws(PealError) -> String? { try translations().isEmpty ? nil : try defaultLocale() }

    private func defaultLocale() throws(PealError) -> String { try locale("default_locale") ?? "en" }

    private func locale(_ field: String) throws(PealError) -> String? {
        guard let text = form[field] else { return nil }
        guard text.count <= Limits.localeCharactersMax,
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
        else { throw .invalid(field, "\(text) is not a locale such as de or pt-BR") }
        return text
    }

    /// A text, as a string or as an object with a string for each locale; nil if it is empty.
    /// - Throws: `invalid_field` for a second text in a locale, one of which would be lost.
    func text(_ name: String) throws(PealError) -> JSON? {
        let own = form.raw(name).trimmed
        let numbers = try translations()
        let ownLocale = own.isEmpty || numbers.isEmpty ? nil : try defaultLocale()
        var texts: [String: String] = [:]
        for number in numbers {
            let translated = form.raw("\(name)_\(number)").trimmed
            guard !translated.isEmpty, let locale = try locale("locale_\(number)") else { continue }
            guard texts[locale] == nil, locale != ownLocale else {
                throw .invalid("locale_\(number)", "the locale \(locale) is given twice")
            }
            texts[locale] = translated
        }
        guard !texts.isEmpty else { return own.isEmpty ? nil : .string(own) }
        if let ownLocale { texts[ownLocale] = own }
        return .object(.init(texts.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
    }

    /// A local time in the form's time zone.
    func instant(_ name: String) throws(PealError) -> Timestamp? {
        if let exact = form[name].flatMap({ Timestamp(rfc3339: $0) }) { return exact }
        guard let wall = try wall(name) else { return nil }
        guard let zone = TimeZone(identifier: form["time_zone"] ?? "UTC") else {
            throw .invalid("time_zone", "\(form["time_zone"] ?? "") is not a time zone such as Europe/Berlin")
        }
        func offset(_ seconds: Int64) -> Int64 {
            Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
        }
        // Of a time that clocks show twice, the first.
        let offsets = [offset(wall.seconds - 86_400), offset(wall.seconds + 86_400)]
        let found = offsets.map { wall.seconds - $0 }.sorted().first { $0 + offset($0) == wall.seconds }
        guard let found else { throw .invalid(name, "clocks in \(zone.identifier) skip this time") }
        return Timestamp(seconds: found)
    }

    /// The local time, as if it were UTC.
    func wall(_ name: String) throws(PealError) -> Timestamp? {
        guard let text = form[name] else { return nil }
        guard let wall = Timestamp(rfc3339: text.count == 16 ? text + ":00Z" : "\(text.prefix(19))Z") else {
            throw .invalid(name, "\(text) is not a date and time")
        }
        return wall
    }
}
