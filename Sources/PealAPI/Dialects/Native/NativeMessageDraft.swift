internal import PealCore

/// Reads a request to send, or a change of one.
struct MessageReader {
    let rules: AddressRules
    let check: AddressCheck
    let lifeSecondsMax: Int64

    func draft(_ fields: Fields, id: MessageID, app: AppKey, now: Timestamp) throws(PealError) -> MessageDraft {
        let campaign = try fields.text("campaign_id")
        let options = try OptionsReader().options(try fields.object("options"))
        let audience = try audience(try fields.requiredObject("audience"), options)
        let content = try ContentReader().content(
            try fields.requiredObject("content"), isBackground: options.isBackground)
        var draft = MessageDraft(
            id: id, app: app, dialect: .native, campaignID: campaign, audience: audience, content: content,
            options: options, createdAt: now, expiresAt: now)
        draft.window = try WindowReader().window(fields, now: now)
        if draft.window == nil { draft.startAt = try start(fields, now: now) }
        draft.expiresAt = try expiry(of: draft, now: now)
        return draft
    }

    /// Replaces the parts that `fields` mention.
    func apply(_ fields: Fields, to draft: inout MessageDraft, now: Timestamp) throws(PealError) {
        if fields.mentions("options") { draft.options = try OptionsReader().options(try fields.object("options")) }
        if fields.mentions("audience") {
            draft.audience = try audience(try fields.requiredObject("audience"), draft.options)
        }
        if fields.mentions("content") {
            draft.content = try ContentReader().content(
                try fields.requiredObject("content"), isBackground: draft.options.isBackground)
        }
        draft.window = try WindowReader().window(fields, of: draft, now: now)
        if fields.mentions("schedule"), draft.window == nil { draft.startAt = try start(fields, now: now) ?? now }
        draft.expiresAt = try expiry(of: draft, now: now)
    }

    private func audience(_ fields: Fields, _ options: MessageOptions) throws(PealError) -> Audience {
        try AudienceReader(rules: rules, check: check, environment: options.environment).audience(fields)
    }

    /// When sending starts: nil = at once, also for an instant that has passed.
    private func start(_ fields: Fields, now: Timestamp) throws(PealError) -> Timestamp? {
        guard let schedule = try fields.object("schedule") else { return nil }
        try schedule.refuse("in")
        guard let start = try schedule.time("at") else { throw .missing(schedule.path("at")) }
        guard start <= now + .seconds(Limits.ttlSecondsMax) else {
            throw .invalid(schedule.path("at"), "\(schedule.path("at")) is too far ahead")
        }
        return start > now ? start : nil
    }

    /// - Throws: `invalid_field` when nothing could be sent before the end.
    private func expiry(of draft: MessageDraft, now: Timestamp) throws(PealError) -> Timestamp {
        let start = draft.window == nil ? draft.startAt ?? now : draft.createdAt
        let life = MessageLife(
            draft.options, draft.content, window: draft.window, start: start, secondsMax: lifeSecondsMax)
        if let window = draft.window {
            try WindowReader().check(draft, window, life)
            return life.end
        }
        let ends =
            [("options", draft.options.life)]
            + Platform.addressable.map { ("content.\($0.rawValue).options", draft.content.platforms[$0]?.options.life) }
        for (path, life) in ends {
            if case .until(let instant) = life, instant <= start {
                throw .invalid("\(path).expires_at", "the message would expire before it is sent")
            }
        }
        return life.end
    }
}

/// Reads who a message is for.
struct AudienceReader {
    let rules: AddressRules
    let check: AddressCheck
    /// The environment that the message asks for, which is that of addresses and channels that name none.
    let environment: Environment?

    func audience(_ fields: Fields) throws(PealError) -> Audience {
        if let channel = try fields.object("channel") { return try audience(of: channel, fields) }
        var audience = Audience()
        audience.includesAll = try fields.flag("all") ?? false
        audience.devices = try devices(fields)
        audience.users =
            try fields.texts("users", countMax: Limits.audienceUsersMax) ?? []
        audience.topics =
            try fields.texts("topics", countMax: Limits.audienceTopicsMax) ?? []
        audience.addresses = try addresses(fields)
        audience.excludedTopics =
            try fields.texts("not_topics", countMax: Limits.audienceTopicsMax) ?? []
        audience.interactiveOnly = try fields.flag("interactive_only") ?? false
        audience.platforms = try platforms(fields)
        guard !audience.isEmpty else {
            throw PealError(
                .missingField, "\(fields.path) must name somebody: all, devices, users, topics or addresses",
                field: fields.path)
        }
        return audience
    }

    /// Everybody who follows a channel; APNs knows who they are, so nothing can be added or taken away.
    private func audience(of channel: Fields, _ fields: Fields) throws(PealError) -> Audience {
        let others = [
            "all", "devices", "users", "topics", "addresses", "platforms", "interactive_only", "not_topics",
        ]
        for name in others where fields[name] != nil {
            throw .invalid(fields.path(name), "a channel is an audience of its own: leave \(name) out")
        }
        let own = try channel.environment()
        if let own, let environment, own != environment {
            throw .invalid(
                channel.path("environment"), "options.environment is \(environment.rawValue), the channel's another")
        }
        guard let id = channel["id"] else { throw .missing(channel.path("id")) }
        var audience = Audience()
        do {
            audience.addresses = [try rules.channel(id, environment: own ?? environment ?? .production)]
        } catch {
            throw error.under(channel.path)
        }
        return audience
    }

    private func devices(_ fields: Fields) throws(PealError) -> [DeviceID] {
        var seen: Set<DeviceID> = []
        var devices: [DeviceID] = []
        for (value, path) in try fields.list("devices", countMax: Limits.audienceDevicesMax) ?? [] {
            guard let text = value.stringValue else {
                throw .invalid(path, "\(path) must be a string, not \(value.typeName)")
            }
            guard let id = DeviceID(text) else { throw .invalid(path, "\(path) must be a UUID") }
            if seen.insert(id).inserted { devices.append(id) }
        }
        return devices
    }

    private func addresses(_ fields: Fields) throws(PealError) -> [Address] {
        var seen: Set<Address> = []
        var addresses: [Address] = []
        for (value, path) in try fields.list("addresses", countMax: Limits.audienceAddressesMax) ?? [] {
            let item = try Fields(value, path: path)
            guard let platform = try item.platform() else { throw .missing(item.path("platform")) }
            guard let text = item["address"] else { throw .missing(item.path("address")) }
            let environment = try item.environment() ?? environment ?? .production
            let address: Address
            do {
                address = try check.checked(
                    try rules.address(text, platform: platform, environment: environment))
            } catch {
                throw error.under(path)
            }
            if seen.insert(address).inserted { addresses.append(address) }
        }
        return addresses
    }

    private func platforms(_ fields: Fields) throws(PealError) -> Set<Platform>? {
        guard let list = try fields.list("platforms", countMax: Platform.allCases.count) else { return nil }
        var platforms: Set<Platform> = []
        for (value, path) in list { platforms.insert(try Fields.platform(value, path)) }
        return platforms.isEmpty ? nil : platforms
    }
}

/// Reads how a message is to be sent.
struct OptionsReader {
    func options(_ fields: Fields?) throws(PealError) -> MessageOptions {
        guard let fields else { return MessageOptions() }
        try fields.refuse("rate_per_second", "unreachable")
        let shared = try platformOptions(fields)
        var options = MessageOptions()
        options.priority = shared.priority
        options.life = shared.life
        options.collapseKey = shared.collapseKey
        options.isBackground = shared.isBackground ?? false
        options.environment = shared.environment
        options.lostAnswer = try fields.choice("lost_answer") ?? .resend
        return options
    }

    func platformOptions(_ fields: Fields) throws(PealError) -> PlatformOptions {
        var options = PlatformOptions()
        options.priority = try fields.choice("priority")
        options.life = try life(fields)
        options.collapseKey = try fields.text("collapse_key")
        options.isBackground = try fields.flag("background")
        options.environment = try fields.environment()
        return options
    }

    private func life(_ fields: Fields) throws(PealError) -> MessageOptions.Life? {
        let instant = try fields.time("expires_at")
        let seconds = try fields.integer("ttl_seconds", in: 0...Limits.ttlSecondsMax)
        switch (instant, seconds) {
        case (let instant?, nil): return .until(instant)
        case (nil, let seconds?): return .seconds(seconds)
        case (nil, nil): return nil
        case (_?, _?):
            throw .invalid(
                fields.path("ttl_seconds"), "give either expires_at or ttl_seconds, not both")
        }
    }
}

/// Reads until when a message may be shown, and by which method: `schedule.window` and `method`.
struct WindowReader {
    /// nil where the message has none.
    func window(_ fields: Fields, now: Timestamp) throws(PealError) -> DeliveryWindow? {
        let method = try fields.choice("method", DeliveryWindow.Method.self)
        let schedule = try fields.object("schedule")
        guard let schedule, let window = try schedule.object("window") else {
            if method != nil { throw .invalid("method", "method needs schedule.window") }
            return nil
        }
        for name in ["at", "in"] where schedule[name] != nil {
            throw .invalid(schedule.path(name), "give either schedule.window or schedule.\(name), not both")
        }
        guard let until = try window.time("until") else { throw .missing(window.path("until")) }
        guard until > now, until <= now + .seconds(Limits.windowSecondsMax) else {
            throw .invalid(
                window.path("until"), "\(window.path("until")) must lie ahead, at most \(Self.daysMax) days")
        }
        return DeliveryWindow(until: until, method: method ?? .experiment)
    }

    private static let daysMax = Limits.windowSecondsMax / 86_400

    /// The window after a change. A message has one from its beginning or never.
    func window(_ fields: Fields, of draft: MessageDraft, now: Timestamp) throws(PealError) -> DeliveryWindow? {
        guard var window = draft.window else {
            guard try self.window(fields, now: now) == nil else {
                throw .invalid("schedule.window", "a message without a window cannot be given one: send another")
            }
            return nil
        }
        if let method = try fields.choice("method", DeliveryWindow.Method.self) { window.method = method }
        guard fields.mentions("schedule") else { return window }
        guard let changed = try self.window(fields, now: now) else {
            throw .invalid("schedule", "a message with a window keeps one: give schedule.window")
        }
        window.until = changed.until
        return window
    }

    /// Checks that the message suits a window and outlives it.
    func check(_ draft: MessageDraft, _ window: DeliveryWindow, _ life: MessageLife) throws(PealError) {
        let audience = draft.audience
        guard audience.isExplicit, audience.devices.isEmpty, audience.addresses.isEmpty,
            audience.identifiers.isEmpty, audience.excludedTopics.isEmpty, !audience.interactiveOnly,
            (1...Limits.momentUsersMax).contains(audience.users.count)
        else {
            throw .invalid(
                "audience",
                "a message with a window is for 1 to \(Limits.momentUsersMax) users: audience.users and platforms")
        }
        guard life.end > window.until, draft.options.life?.isOneAttempt != true else {
            throw .invalid("options.expires_at", "the message would expire before its window ends")
        }
    }
}
