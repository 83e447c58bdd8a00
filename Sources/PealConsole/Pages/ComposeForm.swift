internal import Foundation
internal import PealCore

/// The fields of Compose, and the message that they describe.
struct ComposeForm: Sendable {
    let form: Form

    /// How many languages a message may have here; the API takes more.
    static let translationsMax = 4

    init(_ form: Form) { self.form = form }

    var hasContent: Bool { form["title"] != nil || form["body"] != nil || form["data"] != nil }

    /// For the audience only.
    var environment: Environment? { form["environment"].flatMap { Environment(alias: $0) } }

    /// The form with an audience, for a preview before somebody chose one.
    func withAnybody() -> ComposeForm {
        ((try? audience())?.isEmpty ?? true) ? ComposeForm(form.with("all", "1")) : self
    }

    /// What makes two forms the same message.
    var identity: String {
        form.pairs.filter { !["csrf", "step", "once", "confirm"].contains($0.name) }
            .map { "\($0.name)=\($0.value)" }.sorted().joined(separator: "\n")
    }

    /// - Throws: `invalid_field`, naming the field of the form.
    func audience() throws(PealError) -> Audience {
        var audience = Audience()
        audience.includesAll = form.isSet("all")
        audience.topics = try names("topics", max: Limits.audienceTopicsMax, bytesMax: Limits.topicBytesMax)
        audience.users = try names("users", max: Limits.audienceUsersMax, bytesMax: Limits.userIDBytesMax)
        audience.excludedTopics = try names("not_topics", max: Limits.audienceTopicsMax, bytesMax: Limits.topicBytesMax)
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

    /// The segments, any of which is enough, and what else must hold.
    private func condition() throws(PealError) -> Condition? {
        let segments = try names("segments", max: 64, bytesMax: Limits.nameCharactersMax * 4).map(Condition.segment)
        let chosen: Condition? = segments.count > 1 ? .or(segments) : segments.first
        guard let text = form["where"] else { return chosen }
        let own = try ConsoleCondition.read(text, named: "where")
        return chosen.map { .and([$0, own]) } ?? own
    }

    private func names(_ field: String, max: Int, bytesMax: Int) throws(PealError) -> [String] {
        let names = form.list(field)
        guard names.count <= max else { throw .invalid(field, "\(field) may have at most \(max) entries") }
        for name in names {
            guard name.utf8.count <= bytesMax,
                !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { throw .invalid(field, "\(field) contains a name that is too long or has control characters") }
        }
        return names
    }

    /// - Throws: `invalid_field` or `missing_field`, naming the field of the form.
    func draft(
        id: MessageID, app: AppKey, dialect: DialectName, lifeSecondsMax: Int64, now: Timestamp
    ) throws(PealError) -> MessageDraft {
        let audience = try audience()
        guard !audience.isEmpty else { throw .invalid("topics", "choose who gets the message") }
        let content = try content()
        guard hasContent else { throw .invalid("title", "write a title or a text") }
        let options = try options(now: now)
        var draft = MessageDraft(
            id: id, app: app, dialect: dialect, campaignID: try campaign(), audience: audience, content: content,
            options: options, createdAt: now, expiresAt: now)
        if let start = try instant("at"), start > now { draft.startAt = start }
        if let until = try instant("window_until") {
            draft.window = try window(until, audience, now: now)
            draft.startAt = nil
        }
        let start = draft.window == nil ? draft.startAt ?? now : now
        draft.expiresAt =
            MessageLife(options, content, window: draft.window, start: start, secondsMax: lifeSecondsMax).end
        guard draft.expiresAt > start else { throw .invalid("ttl_hours", "the message would expire before it is sent") }
        return draft
    }

    private func campaign() throws(PealError) -> String? {
        guard let name = form["campaign_id"] else { return nil }
        guard name.utf8.count <= Limits.campaignIDBytesMax else {
            throw .invalid("campaign_id", "campaign_id may have at most \(Limits.campaignIDBytesMax) bytes")
        }
        return name
    }

    private func window(_ until: Timestamp, _ audience: Audience, now: Timestamp) throws(PealError) -> DeliveryWindow {
        guard until > now, until <= now + .seconds(Limits.windowSecondsMax) else {
            throw .invalid(
                "window_until",
                "the window must end in the future, at most \(Limits.windowSecondsMax / 86_400) days from now")
        }
        guard (1...Limits.momentUsersMax).contains(audience.users.count), audience.devices.isEmpty,
            audience.topics.isEmpty, !audience.includesAll, audience.excludedTopics.isEmpty
        else {
            throw .invalid("users", "a message with a delivery window is for 1 to \(Limits.momentUsersMax) users only")
        }
        let method = form["method"].flatMap { DeliveryWindow.Method(rawValue: $0) } ?? .experiment
        return DeliveryWindow(until: until, method: method)
    }

    private func options(now: Timestamp) throws(PealError) -> MessageOptions {
        var options = MessageOptions()
        options.priority = form["priority"].flatMap { MessageOptions.Priority(rawValue: $0) }
        options.collapseKey = form["collapse_key"]
        options.environment = environment
        if let text = form["ttl_hours"] {
            guard let hours = Int64(text), (0...Limits.ttlSecondsMax / 3600).contains(hours) else {
                throw .invalid("ttl_hours", "the lifetime must be a number of hours")
            }
            options.life = .seconds(hours * 3600)
        }
        return options
    }

    private func content() throws(PealError) -> Content {
        var content = Content()
        content.title = try text("title")
        content.subtitle = try text("subtitle")
        content.body = try text("body")
        if !translations.isEmpty { content.defaultLocale = try defaultLocale() }
        if let url = form["image_url"] {
            guard url.hasPrefix("https://"), url.utf8.count <= Limits.imageURLBytesMax else {
                throw .invalid("image_url", "the address of the image must begin with https://")
            }
            content.imageURL = url
        }
        if let text = form["data"] {
            guard let json = try? JSONParser.parse(text), let members = json.objectValue else {
                throw .invalid("data", "data must be a JSON object, such as {\"order\": 7}")
            }
            content.data = members
        }
        if let text = form["badge"] {
            guard let badge = Int64(text), badge >= 0 else { throw .invalid("badge", "badge must be a number") }
            content.badge = badge
        }
        content.sound = form["sound"]
        return content
    }

    /// The numbers of the translations that have a locale.
    private var translations: [Int] { (2...Self.translationsMax).filter { form["locale_\($0)"] != nil } }

    private func defaultLocale() throws(PealError) -> String { try Self.locale(form["default_locale"] ?? "en") }

    private static func locale(_ text: String) throws(PealError) -> String {
        guard text.count <= Limits.localeCharactersMax,
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
        else { throw .invalid("default_locale", "\(text) is not a locale such as de or pt-BR") }
        return text
    }

    private func text(_ name: String) throws(PealError) -> LocalizedText? {
        let own = form.raw(name).trimmed
        var texts: [String: String] = [:]
        for number in translations {
            let translated = form.raw("\(name)_\(number)").trimmed
            if !translated.isEmpty { texts[try Self.locale(form["locale_\(number)"] ?? "")] = translated }
        }
        guard !texts.isEmpty else { return own.isEmpty ? nil : .plain(own) }
        if !own.isEmpty { texts[try defaultLocale()] = own }
        return .localized(texts)
    }

    /// A local time in the form's time zone.
    private func instant(_ name: String) throws(PealError) -> Timestamp? {
        guard let text = form[name] else { return nil }
        if let exact = Timestamp(rfc3339: text) { return exact }
        guard let zone = TimeZone(identifier: form["time_zone"] ?? "UTC") else {
            throw .invalid("time_zone", "\(form["time_zone"] ?? "") is not a time zone such as Europe/Berlin")
        }
        guard let wall = Timestamp(rfc3339: text.count == 16 ? text + ":00Z" : text + "Z") else {
            throw .invalid(name, "\(text) is not a date and time")
        }
        // The offset that holds then: first as if the wall clock were UTC, then at the instant found.
        let first =
            Double(wall.seconds) - Double(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(wall.seconds))))
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: first))
        return wall - .seconds(offset)
    }

    /// The fields of a message, for a duplicate of it.
    static func form(of draft: MessageDraft) -> Form {
        var form = Form()
        func set(_ name: String, _ value: String?) {
            if let value, !value.isEmpty { form = form.with(name, value) }
        }
        let locales = draft.content.locales.sorted()
        let own = draft.content.defaultLocale ?? locales.first
        for (name, text) in [
            ("title", draft.content.title), ("subtitle", draft.content.subtitle), ("body", draft.content.body),
        ] {
            set(name, text?.text(for: own, fallback: own))
            for (index, locale) in locales.filter({ $0 != own }).prefix(translationsMax - 1).enumerated() {
                set("locale_\(index + 2)", locale)
                set("\(name)_\(index + 2)", text?.text(for: locale, fallback: nil))
            }
        }
        set("default_locale", locales.isEmpty ? nil : own)
        set("image_url", draft.content.imageURL)
        if !draft.content.data.isEmpty { set("data", JSON.object(draft.content.data).text) }
        set("topics", draft.audience.topics.joined(separator: ", "))
        set("not_topics", draft.audience.excludedTopics.joined(separator: ", "))
        set("users", draft.audience.users.joined(separator: "\n"))
        set("devices", draft.audience.devices.map(\.description).joined(separator: "\n"))
        set("all", draft.audience.includesAll ? "1" : nil)
        set("where", draft.audience.condition?.json.text)
        set("campaign_id", draft.campaignID)
        set("priority", draft.options.priority?.rawValue)
        set("collapse_key", draft.options.collapseKey)
        return form
    }
}

/// The inputs of Compose, in the order in which people think: who, what, when.
struct ComposeFields: Sendable {
    let visit: PageCall
    let form: ComposeForm
    let topics: [String]
    let error: PealError?

    private var texts: Texts { visit.texts }

    private func field(
        _ name: String, _ label: Word, _ kind: Field.Kind = .text, hint: Word? = nil, more: HTML = .empty
    ) -> HTML {
        Field(
            name: name, label: texts[label], kind: kind, value: form.form.raw(name), hint: hint.map { texts[$0] },
            error: error?.field == name ? error?.message : nil, more: more
        ).html
    }

    var html: HTML {
        """
        <section class="card"><h2>\(texts[.audience])</h2>
        \(field("topics", .topics, hint: .topicsHint, more: " list=\"topic-names\" autocomplete=\"off\" spellcheck=\"false\""))
        <datalist id="topic-names">\(HTML.each(topics) { "<option value=\"\($0)\"></option>" })</datalist>
        \(field("all", .everybodyBox, .check))
        <details\(if: isOpen(["segments", "users", "devices", "not_topics", "where", "platforms"]), " open")>\
        <summary>\(texts[.moreAudience])</summary>
        \(field("segments", .segments, hint: .segmentsHint, more: " spellcheck=\"false\""))
        \(field("users", .users, .area(rows: 2), hint: .usersHint, more: " spellcheck=\"false\""))
        \(field("devices", .deviceIDs, .area(rows: 2), more: " spellcheck=\"false\""))
        \(field("not_topics", .exceptTopics, more: " spellcheck=\"false\""))
        \(field("where", .condition, .area(rows: 2), hint: .conditionHint, more: " spellcheck=\"false\" class=\"code\""))
        \(platforms)
        </details></section>
        <section class="card"><h2>\(texts[.content])</h2>
        \(field("title", .title, more: " maxlength=\"1000\""))
        \(field("body", .body, .area(rows: 3)))
        <details\(if: isOpen(["locale_2", "locale_3", "locale_4", "default_locale"]), " open")>\
        <summary>\(texts[.translations])</summary>
        \(field("default_locale", .defaultLocale, hint: .defaultLocaleHint))
        \(HTML.each(2...ComposeForm.translationsMax, translation))
        </details>
        <details\(if: isOpen(["subtitle", "image_url", "data", "badge", "sound"]), " open")><summary>\(texts[.moreContent])</summary>
        \(field("subtitle", .subtitle))
        \(field("image_url", .image, hint: .imageHint))
        \(field("data", .data, .area(rows: 3), hint: .dataHint, more: " spellcheck=\"false\" class=\"code\""))
        \(field("badge", .badge, more: " inputmode=\"numeric\""))
        \(field("sound", .sound))
        </details></section>
        <section class="card"><h2>\(texts[.delivery])</h2>
        \(field("at", .sendAt, .moment, hint: .sendAtHint))
        \(field("time_zone", .timeZone, more: " list=\"zones\" data-zone spellcheck=\"false\""))
        <details\(if: isOpen(["campaign_id", "priority", "collapse_key", "ttl_hours", "window_until"]), " open")>\
        <summary>\(texts[.moreDelivery])</summary>
        \(field("campaign_id", .campaign, hint: .campaignHint))
        \(field("priority", .priority, .choice([("", "–"), ("high", texts[.high]), ("normal", texts[.normal]), ("low", texts[.low])])))
        \(field("ttl_hours", .lifetimeHours, more: " inputmode=\"numeric\""))
        \(field("collapse_key", .collapseKey, hint: .collapseKeyHint))
        \(field("window_until", .windowEnd, .moment, hint: .windowHint))
        \(field("method", .windowMethod, .choice([("ab_test", texts[.methodExperiment]), ("context_aware", texts[.methodAware]), ("traditional", texts[.methodTraditional])])))
        </details></section>
        """
    }

    private func isOpen(_ names: [String]) -> Bool { names.contains { form.form[$0] != nil || error?.field == $0 } }

    private var platforms: HTML {
        let chosen = form.form.all("platforms")
        return """
            <fieldset class="field"><legend>\(texts[.onlyPlatforms])</legend><div class="boxes">\
            \(HTML.each(Platform.addressable) { platform in
                """
                <label><input type="checkbox" name="platforms" value="\(platform.rawValue)"\
                \(if: chosen.contains(platform.rawValue), " checked")> \(texts.platform(platform))</label>
                """
            })</div></fieldset>
            """
    }

    private func translation(_ number: Int) -> HTML {
        """
        <fieldset class="translation"><legend>\(texts(.translation, String(number - 1)))</legend>
        \(field("locale_\(number)", .locale))\(field("title_\(number)", .translatedTitle))\(field("body_\(number)", .translatedBody, .area(rows: 2)))
        </fieldset>
        """
    }
}
