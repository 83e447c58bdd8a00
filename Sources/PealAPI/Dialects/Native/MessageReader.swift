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
        if let window = draft.window { return try WindowReader().expiry(of: draft, window) }
        let start = draft.startAt ?? now
        let ends =
            [("options", draft.options.life)]
            + Platform.addressable.map { ("content.\($0.rawValue).options", draft.content.platforms[$0]?.options.life) }
        for (path, life) in ends {
            if case .until(let instant) = life, instant <= start {
                throw .invalid("\(path).expires_at", "the message would expire before it is sent")
            }
        }
        return Lifetime.end(draft.options, draft.content, start: start, lifeSecondsMax: lifeSecondsMax)
    }
}
