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
        for name in ComposeFormWriter.texts { members[name] = try text(name) }
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
        guard var request = (try? JSONParser.parse(bytes, isStored: true))?.objectValue else { return nil }
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
        var writer = ComposeFormWriter()
        writer.write(content: request["content"])
        writer.write(audience: request["audience"])
        writer.write(options: request["options"])
        writer.set("campaign_id", request["campaign_id"])
        if keepsTime { writer.write(schedule: request["schedule"], method: request["method"]) }
        return writer.form
    }

    /// The request of the native API that created the message; nil for other dialects.
    private static func request(of draft: MessageDraft) -> JSON? {
        guard draft.dialect == "native", let source = draft.source else { return nil }
        return try? JSONParser.parse(source, isStored: true)
    }

    /// The fields of a message, for a duplicate of it, which is sent at another time.
    static func form(of draft: MessageDraft) -> Form {
        if let request = request(of: draft) { return form(of: request, keepsTime: false) }
        var writer = ComposeFormWriter()
        writer.write(draft.content)
        writer.write(draft.audience)
        writer.write(draft.options)
        writer.set("campaign_id", draft.campaignID)
        for platform in draft.shownPlatforms { writer.add("platforms", platform.rawValue) }
        return writer.form
    }
}

/// What Compose has no field for.
extension ComposeForm {
    private static let members: [(object: String, names: Set<String>)] = [
        ("audience", Set(ComposeFormWriter.lists + ["all", "platforms", "where"])),
        (
            "content",
            Set(
                ComposeFormWriter.texts + ComposeFormWriter.plainContent + ["default_locale", "image_url", "data"]
                    + Platform.addressable.map(\.rawValue))
        ),
        ("options", Set(ComposeFormWriter.plainOptions + ["ttl_seconds"])),
    ]

    /// The same of a message: from its request of the native API, or from the message itself.
    static func leftOut(of draft: MessageDraft) -> [String] {
        if let request = request(of: draft) { return leftOut(of: request) }
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
        "audience": "topics", "content": "title", "options.expires_at": "ttl", "options.ttl_seconds": "ttl",
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
