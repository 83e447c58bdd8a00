internal import PealCore

/// The message of Compose as a request of the native API, for drafts, templates, and the request that a message shows.
extension ComposeForm {
    /// What is filled in, complete or not.
    /// - Throws: `invalid_field` or `missing_field`, naming the field of the form.
    func request() throws(PealError) -> JSON {
        let (audience, content) = (try audienceJSON(), try contentJSON())
        let options = try optionsJSON()
        let hasWindow = form["window_until"] != nil
        return .compact([
            ("audience", audience.isEmpty ? nil : .object(audience)),
            ("content", content.isEmpty ? nil : .object(content)),
            ("options", options.isEmpty ? nil : .object(options)),
            ("schedule", try scheduleJSON()),
            ("method", hasWindow ? .string(form["method"] ?? DeliveryWindow.Method.experiment.rawValue) : nil),
            ("campaign_id", try campaign().map(JSON.string)),
        ])
    }

    private func audienceJSON() throws(PealError) -> JSON.Members {
        let audience = try audience()
        func list(_ names: [String]) -> JSON? { names.isEmpty ? nil : .array(names.map(JSON.string)) }
        var members = JSON.Members()
        if audience.includesAll { members["all"] = true }
        members["devices"] = list(audience.devices.map(\.description))
        members["users"] = list(audience.users)
        members["topics"] = list(audience.topics)
        members["not_topics"] = list(audience.excludedTopics)
        members["platforms"] = audience.platforms.flatMap { list($0.map(\.rawValue).sorted()) }
        members["where"] = audience.condition?.json
        return members
    }

    private func contentJSON() throws(PealError) -> JSON.Members {
        var members = JSON.Members()
        for name in ["title", "subtitle", "body"] { members[name] = try text(name) }
        members["default_locale"] = try ownLocale().map(JSON.string)
        members["image_url"] = try imageURL().map(JSON.string)
        if let data = try data(), !data.isEmpty { members["data"] = .object(data) }
        members["badge"] = try badge().map { .integer($0) }
        for name in ["sound", "thread_id", "category"] { members[name] = form[name].map(JSON.string) }
        for (platform, object) in try platforms.objects() { members[platform.rawValue] = .object(object) }
        return members
    }

    private func optionsJSON() throws(PealError) -> JSON.Members {
        var members = JSON.Members()
        members["priority"] = form["priority"].map(JSON.string)
        members["ttl_seconds"] = try life().map { .integer($0) }
        members["collapse_key"] = form["collapse_key"].map(JSON.string)
        members["environment"] = environment.map { .string($0.rawValue) }
        for name in ["background", "transactional"] where form.isSet(name) { members[name] = true }
        members["rate_per_second"] = try rate().map { .integer($0) }
        // The field stays filled in when its window is taken back; alone, the API refuses it.
        if form["window_until"] != nil, form["method"] != DeliveryWindow.Method.traditional.rawValue,
            let choice = form["unreachable"], choice != MessageOptions.Unreachable.deadline.rawValue
        {
            members["unreachable"] = .string(choice)
        }
        return members
    }

    private func scheduleJSON() throws(PealError) -> JSON? {
        try checkOneStart()
        if let until = try instant("window_until") { return ["window": ["until": .string(until.description)]] }
        guard form.isSet("recipient_time") else {
            return try instant("at").map { ["at": .string($0.description)] }
        }
        return try wall("at").map { ["at": .string($0.description), "in": "recipient_time_zone"] }
    }

    /// The request with another rate; nil if it is damaged.
    static func source(_ bytes: [UInt8], withRate rate: Int64?) -> [UInt8]? {
        guard var request = (try? JSONParser.parse(bytes))?.objectValue else { return nil }
        var options = request["options"]?.objectValue ?? .init()
        options["rate_per_second"] = rate.map { .integer($0) }
        request["options"] = options.isEmpty ? nil : .object(options)
        return JSON.object(request).bytes
    }
}

extension ComposeForm {
    /// The fields of a request. What Compose has no field for is left out.
    /// - Parameter keepsTime: whether to keep the schedule too.
    static func form(of request: JSON, keepsTime: Bool = true) -> Form {
        var writer = FormWriter()
        writer.write(content: request["content"])
        writer.write(audience: request["audience"])
        writer.write(options: request["options"])
        writer.set("campaign_id", request["campaign_id"])
        if keepsTime { writer.write(schedule: request["schedule"], method: request["method"]) }
        return writer.form
    }

    /// The fields of a message, for a duplicate of it, which is sent at another time.
    static func form(of draft: MessageDraft) -> Form {
        if let source = draft.source, draft.dialect == "native", let request = try? JSONParser.parse(source) {
            return form(of: request, keepsTime: false)
        }
        var writer = FormWriter()
        let locales = draft.content.locales.sorted()
        let own = draft.content.defaultLocale ?? locales.first
        for (name, text) in [
            ("title", draft.content.title), ("subtitle", draft.content.subtitle), ("body", draft.content.body),
        ] {
            var texts: [String: String] = [:]
            for locale in locales { texts[locale] = text?.text(for: locale, fallback: nil) }
            writer.write(text: name, texts, plain: text?.text(for: own, fallback: own), own: own)
        }
        writer.set("image_url", draft.content.imageURL)
        if !draft.content.data.isEmpty { writer.set("data", JSON.object(draft.content.data).text) }
        writer.set("badge", draft.content.badge.map { String($0) })
        writer.set("sound", draft.content.sound)
        writer.set("thread_id", draft.content.threadID)
        writer.set("category", draft.content.category)
        for platform in Platform.addressable {
            guard let own = draft.content.platforms[platform] else { continue }
            writer.write(platform, ComposePlatforms.object(of: own))
        }
        writer.set("topics", draft.audience.topics.map(Form.listed).joined(separator: ", "))
        writer.set("not_topics", draft.audience.excludedTopics.map(Form.listed).joined(separator: ", "))
        writer.set("users", draft.audience.users.map(Form.listed).joined(separator: "\n"))
        writer.set("devices", draft.audience.devices.map(\.description).joined(separator: "\n"))
        writer.set("all", draft.audience.includesAll ? "1" : nil)
        writer.write(condition: draft.audience.condition)
        writer.set("campaign_id", draft.campaignID)
        writer.set("priority", draft.options.priority?.rawValue)
        writer.set("collapse_key", draft.options.collapseKey)
        writer.set("background", draft.options.isBackground ? "1" : nil)
        writer.set("environment", draft.options.environment?.rawValue)
        writer.set("transactional", draft.options.isTransactional ? "1" : nil)
        writer.set("rate_per_second", draft.options.ratePerSecond.map { String($0) })
        if case .seconds(let seconds) = draft.options.life { writer.set("ttl_hours", String((seconds + 3599) / 3600)) }
        for platform in draft.shownPlatforms { writer.add("platforms", platform.rawValue) }
        return writer.form
    }
}

/// What Compose has no field for.
extension ComposeForm {
    private static let members: [(object: String, names: Set<String>)] = [
        ("audience", ["all", "devices", "users", "topics", "not_topics", "platforms", "where"]),
        (
            "content",
            Set(
                [
                    "title", "subtitle", "body", "default_locale", "image_url", "data", "badge", "sound", "thread_id",
                    "category",
                ] + Platform.addressable.map(\.rawValue))
        ),
        (
            "options",
            [
                "priority", "ttl_seconds", "collapse_key", "environment", "background", "transactional",
                "rate_per_second", "unreachable",
            ]
        ),
    ]

    /// The same of a message: from its request of the native API, or from the message itself.
    static func leftOut(of draft: MessageDraft) -> [String] {
        if draft.dialect == "native", let request = draft.source.flatMap({ try? JSONParser.parse($0) }) {
            return leftOut(of: request)
        }
        let (audience, options) = (draft.audience, draft.options)
        var hasEnd = false
        if case .until = options.life { hasEnd = true }
        let lost: [(Bool, String)] = [
            (!audience.identifiers.isEmpty, "audience.identifiers"),
            (!audience.addresses.isEmpty, "audience.addresses"),
            (audience.interactiveOnly, "audience.interactive_only"),
            (!draft.keepsPlatforms, "audience.platforms"),
            (hasEnd, "options.expires_at"), (options.lostAnswer != .resend, "options.lost_answer"),
        ]
        return lost.filter(\.0).map(\.1)
    }

    /// The members of a request that are lost when it is opened here, such as `audience.addresses`.
    static func leftOut(of request: JSON) -> [String] {
        members.flatMap { object, names in
            (request[object]?.objectValue?.pairs ?? JSON.Members().pairs).compactMap { name, value in
                names.contains(name) || value.isNull || value == false ? nil : "\(object).\(name)"
            }
        }
    }
}

extension MessageDraft {
    /// The platforms that Compose selects for a duplicate; empty for all. Those without content of their own get no
    /// message, and must not get one by being duplicated.
    fileprivate var shownPlatforms: [Platform] {
        guard audience.platforms != nil || !content.absentPlatforms.isEmpty else { return [] }
        return (audience.platforms ?? Set(Platform.addressable)).subtracting(content.absentPlatforms)
            .intersection(Platform.addressable).sorted { $0.rawValue < $1.rawValue }
    }

    /// Whether Compose can select the platforms of the message: it has boxes only for some, and no box selects all.
    fileprivate var keepsPlatforms: Bool {
        let isNarrowed = audience.platforms != nil || !content.absentPlatforms.isEmpty
        return !isNarrowed || !shownPlatforms.isEmpty
    }
}

extension PealError {
    /// The fields of the form for members of a request with other names.
    private static let formFields = [
        "audience": "topics", "content": "title", "options.expires_at": "ttl_hours", "options.ttl_seconds": "ttl_hours",
        "schedule.window": "window_until", "schedule.window.until": "window_until", "schedule.at": "at",
        "schedule.in": "recipient_time",
    ]

    /// With the form's name of the field: `content.badge` is `badge`, and `content.ios.options` is `ios`.
    var inForm: PealError {
        guard let field else { return self }
        if let own = Self.formFields[field] { return PealError(code, message, field: own) }
        let parts = field.split(separator: ".").map(String.init)
        guard parts.count > 1, ["audience", "content", "options", "schedule"].contains(parts[0]) else { return self }
        return PealError(code, message, field: String(parts[1].prefix { $0 != "[" }))
    }
}

/// Fills in Compose.
private struct FormWriter {
    private(set) var form = Form()

    mutating func set(_ name: String, _ value: String?) {
        if let value, !value.isEmpty { form = form.with(name, value) }
    }

    /// A text, a number or `true`.
    mutating func set(_ name: String, _ value: JSON?) {
        guard let value, !value.isNull, value != false else { return }
        set(name, value == true ? "1" : value.stringValue ?? value.text)
    }

    mutating func write(text name: String, _ texts: [String: String], plain: String?, own: String?) {
        set(name, plain)
        guard !texts.isEmpty else { return }
        set("default_locale", own)
        let others = texts.keys.filter { $0 != own }.sorted().prefix(Limits.localesPerMessageMax - 1)
        for locale in others {
            let number = number(of: locale)
            set("locale_\(number)", locale)
            set("\(name)_\(number)", texts[locale])
        }
    }

    /// The number of a translation: the one that it already has, or the first free one.
    private func number(of locale: String) -> Int {
        let numbers = 2...Limits.localesPerMessageMax
        return numbers.first { form["locale_\($0)"] == locale } ?? numbers.first { form["locale_\($0)"] == nil }
            ?? Limits.localesPerMessageMax
    }

    mutating func write(content: JSON?) {
        guard let content else { return }
        let names = ["title", "subtitle", "body"]
        let locales = Set(names.flatMap { content[$0]?.objectValue?.names ?? [] }).sorted()
        let own = content["default_locale"]?.stringValue ?? (locales.contains("en") ? "en" : locales.first)
        for name in names {
            var texts: [String: String] = [:]
            for (locale, text) in content[name]?.objectValue?.pairs ?? JSON.Members().pairs {
                texts[locale] = text.stringValue
            }
            write(text: name, texts, plain: content[name]?.stringValue ?? own.flatMap { texts[$0] }, own: own)
        }
        set("image_url", content["image_url"])
        if let data = content["data"]?.objectValue, !data.isEmpty { set("data", JSON.object(data).text) }
        for name in ["badge", "sound", "thread_id", "category"] { set(name, content[name]) }
        for platform in Platform.addressable {
            if let object = content[platform.rawValue]?.objectValue { write(platform, object) }
        }
    }

    mutating func write(_ platform: Platform, _ object: JSON.Members) {
        for field in ComposePlatforms.fields(of: platform, object) { set(field.name, field.value) }
    }

    mutating func add(_ name: String, _ value: String) { form = form.adding(name, value) }

    mutating func write(audience: JSON?) {
        guard let audience else { return }
        set("all", audience["all"])
        for (name, separator) in [("topics", ", "), ("not_topics", ", "), ("users", "\n"), ("devices", "\n")] {
            let items = audience[name]?.arrayValue?.compactMap(\.stringValue).map(Form.listed) ?? []
            set(name, items.joined(separator: separator))
        }
        for platform in audience["platforms"]?.arrayValue ?? [] {
            add("platforms", platform.stringValue ?? "")
        }
        write(condition: audience["where"].flatMap { Condition(stored: $0) })
    }

    /// As rows, or as JSON if rows cannot express it.
    mutating func write(condition: Condition?) {
        guard let condition else { return }
        if let rows = ComposeRows(condition) { rows.write(to: &form) } else { set("where", condition.json.text) }
    }

    mutating func write(options: JSON?) {
        guard let options else { return }
        for name in [
            "priority", "collapse_key", "environment", "background", "transactional", "rate_per_second", "unreachable",
        ] {
            set(name, options[name])
        }
        if let seconds = options["ttl_seconds"]?.integerValue { set("ttl_hours", String((seconds + 3599) / 3600)) }
    }

    mutating func write(schedule: JSON?, method: JSON?) {
        guard let schedule else { return }
        let isRecipients = schedule["in"]?.stringValue != nil
        if let at = schedule["at"]?.stringValue, let instant = Timestamp(rfc3339: at) {
            set("at", String((isRecipients ? at : instant.description).prefix(16)))
            set("time_zone", "UTC")
            set("recipient_time", isRecipients ? "1" : nil)
        }
        if let until = schedule["window"]?["until"]?.stringValue, let instant = Timestamp(rfc3339: until) {
            set("window_until", String(instant.description.prefix(16)))
            set("time_zone", "UTC")
            set("method", method)
        }
    }
}
