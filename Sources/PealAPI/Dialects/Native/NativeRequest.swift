internal import PealCore
internal import PealShapes

/// The original request, as messages show it under `request`: unchanged, or for a message of another dialect translated
/// into the native API's members.
enum NativeRequest {
    static func json(_ draft: MessageDraft) -> JSON {
        given(draft).map { with(draft.options.ratePerSecond, $0) } ?? translated(draft)
    }

    /// The rate is the only option that can be changed while a message is being sent.
    private static func with(_ rate: Int64?, _ request: JSON) -> JSON {
        var options = request["options"]?.objectValue ?? .init()
        guard options["rate_per_second"]?.integerValue != rate else { return request }
        options["rate_per_second"] = rate.map(JSON.integer)
        var members = request.objectValue ?? .init()
        members["options"] = options.isEmpty ? nil : .object(options)
        return .object(members)
    }

    /// Replaces the members that a change contains. null removes one.
    static func apply(_ change: JSON, to draft: inout MessageDraft) {
        guard var members = given(draft)?.objectValue, let changed = change.objectValue else { return }
        for (name, value) in changed.pairs { members[name] = value.isNull ? nil : value }
        draft.source = JSON.object(members).bytes
    }

    /// The audience of the original request, with the members that were changed since; nil if it was not kept.
    static func audience(of draft: MessageDraft, now: Timestamp) -> NativeAudience? {
        guard let json = given(draft)?["audience"] else { return nil }
        return try? NativeMessageShapes.audienceOnly.shape.value(of: ["audience": json], .native, now: now)
    }

    /// Messages of earlier versions have none.
    private static func given(_ draft: MessageDraft) -> JSON? {
        guard draft.dialect == .native, let source = draft.source else { return nil }
        return try? JSONParser.parse(source, isStored: true)
    }

    private static func translated(_ draft: MessageDraft) -> JSON {
        let schedule: JSON? =
            draft.window.map { ["window": ["until": .string($0.until.description)]] }
            ?? draft.startAt.flatMap { $0 > draft.createdAt ? ["at": .string($0.description)] : nil }
        let options = json(draft.options)
        return .compact([
            ("audience", json(draft.audience)), ("content", json(draft.content)),
            ("options", options.isEmpty ? nil : .object(options)), ("schedule", schedule),
            ("method", draft.window.map { .string($0.method.rawValue) }),
            ("campaign_id", draft.campaignID.map(JSON.string)), ("test", draft.isTest ? true : nil),
        ])
    }

    private static func json(_ audience: Audience) -> JSON {
        .compact([
            ("all", audience.includesAll ? true : nil),
            ("devices", list(audience.devices.map { .string($0.description) })),
            ("users", list(audience.users.map(JSON.string))),
            (
                "identifiers",
                list(audience.identifiers.map { ["kind": .string($0.kind.rawValue), "value": .string($0.value)] })
            ),
            ("topics", list(audience.topics.map(JSON.string))),
            ("addresses", list(audience.addresses.map(json))),
            (
                "platforms",
                audience.platforms.map { .array($0.map(\.rawValue).sorted().map(JSON.string)) }
            ),
            ("interactive_only", audience.interactiveOnly ? true : nil),
            ("not_topics", list(audience.excludedTopics.map(JSON.string))),
        ])
    }

    private static func json(_ address: Address) -> JSON {
        [
            "platform": .string(address.route.platform.rawValue),
            "environment": .string(address.route.environment.rawValue), "address": address.json,
        ]
    }

    private static func list(_ items: [JSON]) -> JSON? { items.isEmpty ? nil : .array(items) }

    private static func json(_ content: Content) -> JSON {
        let common: [(String, JSON?)] = [
            ("title", content.title.map(json)), ("subtitle", content.subtitle.map(json)),
            ("body", content.body.map(json)), ("image_url", content.imageURL.map(JSON.string)),
            ("data", content.data.isEmpty ? nil : .object(content.data)), ("badge", content.badge.map(JSON.integer)),
            ("sound", content.sound.map(JSON.string)), ("thread_id", content.threadID.map(JSON.string)),
            ("category", content.category.map(JSON.string)),
            ("default_locale", content.defaultLocale.map(JSON.string)),
        ]
        let platforms = Platform.allCases.map { platform in
            (platform.rawValue, content.platforms[platform].map(json))
        }
        return .compact(common + platforms)
    }

    private static func json(_ text: LocalizedText) -> JSON {
        switch text {
        case .plain(let text): .string(text)
        case .localized(let texts):
            .object(.init(texts.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
        }
    }

    private static func json(_ own: Content.PlatformContent) -> JSON {
        var members = own.fields
        let options = json(own.options)
        if !options.isEmpty { members["options"] = .object(options) }
        return .object(members)
    }

    private static func json(_ options: MessageOptions) -> JSON.Members {
        var members = json(options.shared)
        if !options.isBackground { members["background"] = nil }
        members["rate_per_second"] = options.ratePerSecond.map(JSON.integer)
        if options.lostAnswer != .resend { members["lost_answer"] = .string(options.lostAnswer.rawValue) }
        return members
    }

    private static func json(_ options: PlatformOptions) -> JSON.Members {
        var members = JSON.Members()
        members["priority"] = options.priority.map { .string($0.rawValue) }
        switch options.life {
        case .until(let end): members["expires_at"] = .string(end.description)
        case .seconds(let seconds): members["ttl_seconds"] = .integer(seconds)
        case nil: break
        }
        members["collapse_key"] = options.collapseKey.map(JSON.string)
        members["background"] = options.isBackground.map(JSON.bool)
        members["environment"] = options.environment.map { .string($0.rawValue) }
        return members
    }
}
