internal import PealCore

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

    /// Checks that the message suits a window, and says when it ends.
    func expiry(of draft: MessageDraft, _ window: DeliveryWindow) throws(PealError) -> Timestamp {
        let audience = draft.audience
        guard audience.isExplicit, audience.devices.isEmpty, audience.addresses.isEmpty,
            audience.identifiers.isEmpty, audience.excludedTopics.isEmpty, !audience.interactiveOnly,
            (1...Limits.momentUsersMax).contains(audience.users.count)
        else {
            throw .invalid(
                "audience",
                "a message with a window is for 1 to \(Limits.momentUsersMax) users: audience.users and platforms")
        }
        guard draft.options.life != nil else { return window.until + .seconds(Limits.momentRecoverySeconds) }
        let end = draft.options.expiry(start: draft.createdAt)
        guard end > window.until else {
            throw .invalid("options.expires_at", "the message would expire before its window ends")
        }
        return end
    }
}
