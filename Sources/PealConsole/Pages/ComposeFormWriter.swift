internal import PealCore

/// Fills in the fields of Compose, from a request of the native API or from a message.
struct ComposeFormWriter {
    /// Members of the audience that are lists, of the content that are texts, and of content and options whose fields
    /// have the same name and value.
    static let lists = ["topics", "not_topics", "users", "devices"]
    static let texts = ["title", "subtitle", "body"]
    static let plainContent = ["badge", "sound", "thread_id", "category"]
    static let plainOptions = [
        "priority", "collapse_key", "environment", "background", "transactional", "rate_per_second", "unreachable",
    ]

    private(set) var form = Form()
    /// The numbers of the locales that have fields.
    private var numbers: [String: Int] = [:]

    mutating func set(_ name: String, _ value: String?) {
        if let value, !value.isEmpty { form.set(name, value) }
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
    private mutating func number(of locale: String) -> Int {
        if let number = numbers[locale] { return number }
        let number = min(numbers.count + 2, Limits.localesPerMessageMax)
        numbers[locale] = number
        return number
    }

    mutating func write(content: JSON?) {
        guard let content else { return }
        let locales = Set(Self.texts.flatMap { content[$0]?.objectValue?.names ?? [] }).sorted()
        let own = content["default_locale"]?.stringValue ?? (locales.contains("en") ? "en" : locales.first)
        for name in Self.texts {
            var texts: [String: String] = [:]
            for (locale, text) in content[name]?.objectValue?.pairs ?? JSON.Members().pairs {
                texts[locale] = text.stringValue
            }
            write(text: name, texts, plain: content[name]?.stringValue ?? own.flatMap { texts[$0] }, own: own)
        }
        set("image_url", content["image_url"])
        if let data = content["data"]?.objectValue, !data.isEmpty { set("data", JSON.object(data).text) }
        for name in Self.plainContent { set(name, content[name]) }
        for platform in Platform.addressable {
            if let object = content[platform.rawValue]?.objectValue { write(platform, object) }
        }
    }

    mutating func write(_ content: Content) {
        let locales = content.locales.sorted()
        let own = content.defaultLocale ?? locales.first
        for (name, text) in [("title", content.title), ("subtitle", content.subtitle), ("body", content.body)] {
            var texts: [String: String] = [:]
            for locale in locales { texts[locale] = text?.text(for: locale, fallback: nil) }
            write(text: name, texts, plain: text?.text(for: own, fallback: own), own: own)
        }
        set("image_url", content.imageURL)
        if !content.data.isEmpty { set("data", JSON.object(content.data).text) }
        set("badge", content.badge.map { String($0) })
        set("sound", content.sound)
        set("thread_id", content.threadID)
        set("category", content.category)
        for platform in Platform.addressable {
            guard let own = content.platforms[platform] else { continue }
            write(platform, ComposePlatforms.object(of: own))
        }
    }

    mutating func write(_ platform: Platform, _ object: JSON.Members) {
        for field in ComposePlatforms.fields(of: platform, object) { set(field.name, field.value) }
    }

    mutating func add(_ name: String, _ value: String) { form = form.adding(name, value) }

    mutating func write(audience: JSON?) {
        guard let audience else { return }
        set("all", audience["all"])
        for name in Self.lists {
            set(name, list: audience[name]?.arrayValue?.compactMap(\.stringValue) ?? [])
        }
        for platform in audience["platforms"]?.arrayValue ?? [] {
            add("platforms", platform.stringValue ?? "")
        }
        write(condition: audience["where"].flatMap { Condition(stored: $0) })
    }

    /// The platforms are not among them; see `MessageDraft.shownPlatforms`.
    mutating func write(_ audience: Audience) {
        set("topics", list: audience.topics)
        set("not_topics", list: audience.excludedTopics)
        set("users", list: audience.users)
        set("devices", list: audience.devices.map(\.description))
        set("all", audience.includesAll ? "1" : nil)
        write(condition: audience.condition)
    }

    /// Topics on one line, users and devices on one line each.
    private mutating func set(_ name: String, list: [String]) {
        let isLong = name == "users" || name == "devices"
        set(name, list.map(Form.listed).joined(separator: isLong ? "\n" : ", "))
    }

    /// As rows, or as JSON if rows cannot express it.
    mutating func write(condition: Condition?) {
        guard let condition else { return }
        if let rows = ComposeRows(condition) { rows.write(to: &form) } else { set("where", condition.json.text) }
    }

    mutating func write(options: JSON?) {
        guard let options else { return }
        for name in Self.plainOptions { set(name, options[name]) }
        write(lifeSeconds: options["ttl_seconds"]?.integerValue)
    }

    mutating func write(_ options: MessageOptions) {
        set("priority", options.priority?.rawValue)
        set("collapse_key", options.collapseKey)
        set("background", options.isBackground ? "1" : nil)
        set("environment", options.environment?.rawValue)
        set("transactional", options.isTransactional ? "1" : nil)
        set("rate_per_second", options.ratePerSecond.map { String($0) })
        if case .seconds(let seconds) = options.life { write(lifeSeconds: seconds) }
    }

    /// In the largest unit in which it is a whole number.
    private mutating func write(lifeSeconds seconds: Int64?) {
        guard let seconds, let unit = ComposeForm.lifeUnits.first(where: { seconds % $0.seconds == 0 }) else { return }
        set("ttl", String(seconds / unit.seconds))
        set("ttl_unit", unit.name)
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
