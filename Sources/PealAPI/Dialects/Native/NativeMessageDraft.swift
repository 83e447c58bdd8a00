internal import PealCore
internal import PealShapes

/// A message as a request contains it. `NativeMessageReader` checks what depends on the app, the configuration or
/// several parts. In a change, nil is a part that the request does not contain.
struct NativeMessageDraft: Sendable {
    var campaignID: String?
    var isTest = false
    var options: MessageOptions?
    /// Whether `options` contains `unreachable`, even with its default.
    var namesUnreachable = false
    var audience: NativeAudience?
    var content: Content?
    var method: DeliveryWindow.Method?
    var schedule: NativeSchedule?
}

/// `audience` as a request contains it: addresses and the channel are checked by `NativeMessageReader`.
struct NativeAudience: Sendable {
    var audience = Audience()
    var addresses: [Located<NativeAddress>] = []
    var channel: Located<NativeChannelName>?
}

/// An element of `audience.addresses`.
struct NativeAddress: Sendable {
    /// Required in requests.
    var platform = Platform.addressable[0]
    var address = JSON.null
    var environment: Environment?
}

/// `audience.channel`.
struct NativeChannelName: Sendable {
    var id = JSON.null
    var environment: Environment?
}

/// `schedule`: when the message starts, and its delivery window.
struct NativeSchedule: Sendable {
    var at: Timestamp?
    /// `at` as it is written, without its offset.
    var reading: Timestamp?
    var isInRecipientTimeZone = false
    /// The end of the delivery window.
    var until: Timestamp?
}

extension NativeSchedule {
    /// Sets the message's start; nil to start now.
    fileprivate func apply(to draft: inout MessageDraft, now: Timestamp) {
        draft.options.recipientsTime = isInRecipientTimeZone ? reading : nil
        let start = draft.options.recipientsTime.map { MessageLife.firstStart(of: $0) } ?? at
        draft.startAt = start.flatMap { $0 > now ? $0 : nil }
    }
}

/// Makes the core's draft from a request to send a message or to change one.
struct NativeMessageReader {
    let app: AppKey
    let rules: AddressRules
    let check: AddressCheck
    let lifeSecondsMax: Int64
    /// See `DeliveryWindow.graceSeconds`.
    let graceSeconds: Int64

    /// - Parameters:
    ///   - credentials: the app's.
    ///   - providers: check addresses.
    init(
        _ app: App, _ credentials: [CredentialRecord], rules: AddressRules, providers: [ProviderName: any Provider],
        lifeSecondsMax: Int64
    ) {
        self.app = app.key
        self.rules = rules
        check = AddressCheck(providers: providers, keys: ApplicationServerKeys(credentials))
        self.lifeSecondsMax = lifeSecondsMax
        graceSeconds = app.settings[.windowGrace].seconds
    }

    /// The message of a request to send one.
    func draft(
        of request: JSON, _ facts: SendingFacts, id: MessageID, now: Timestamp
    ) throws(PealError) -> MessageDraft {
        let given = try NativeMessageShapes.message.value(of: request, .native, now: now)
        var draft = try draft(given, id: id, now: now)
        draft.source = request.bytes
        draft.content.namesMessage = facts.namesMessages
        return draft
    }

    private func draft(
        _ given: NativeMessageDraft, id: MessageID, now: Timestamp
    ) throws(PealError) -> MessageDraft {
        let options = given.options ?? MessageOptions()
        let schedule = given.schedule ?? NativeSchedule()
        var draft = MessageDraft(
            id: id, app: app, dialect: .native, campaignID: given.campaignID,
            audience: Audience(), content: given.content ?? Content(), options: options, createdAt: now, expiresAt: now)
        draft.audience = try audience(given.audience ?? NativeAudience(), draft)
        draft.isTest = given.isTest
        try findAbsentPlatforms(of: &draft)
        try checkTest(draft, schedule)
        draft.window = schedule.until.map {
            DeliveryWindow(until: $0, method: given.method ?? .experiment, graceSeconds: graceSeconds)
        }
        guard draft.window != nil || given.method == nil else {
            throw .invalid("method", "method requires schedule.window")
        }
        try checkUnreachable(draft, isGiven: given.namesUnreachable)
        if draft.window == nil { schedule.apply(to: &draft, now: now) }
        draft.expiresAt = try expiry(of: draft, now: now)
        return draft
    }

    /// Replaces the parts that the request contains.
    /// - Parameter former: the audience in its earlier request; nil if the message does not contain it.
    func apply(
        _ given: NativeMessageDraft, former: NativeAudience?, to draft: inout MessageDraft, now: Timestamp
    ) throws(PealError) {
        let environment = draft.audienceEnvironment
        if let options = given.options {
            let reading = draft.options.recipientsTime
            draft.options = options
            draft.options.recipientsTime = reading
        }
        if let content = given.content { draft.content = content }
        // Without `background`, a message may have nothing to send. A dialect decides about its own messages.
        if given.content != nil || given.options != nil && draft.dialect == .native {
            try findAbsentPlatforms(of: &draft)
        }
        // Addresses without an environment follow that of the options, which the change may replace.
        if let audience = given.audience ?? (draft.audienceEnvironment == environment ? nil : former) {
            draft.audience = try self.audience(audience, draft)
        }
        try checkTest(draft, given.schedule ?? NativeSchedule())
        draft.window = try window(given, of: draft)
        // A message of an earlier version may contain it without a window.
        if given.options != nil || given.method != nil {
            try checkUnreachable(draft, isGiven: given.namesUnreachable)
        }
        if let schedule = given.schedule, draft.window == nil {
            schedule.apply(to: &draft, now: now)
            draft.startAt = draft.startAt ?? now
        }
        draft.expiresAt = try expiry(of: draft, now: now)
    }

    /// The delivery window after a change. A change cannot add or remove one.
    private func window(
        _ given: NativeMessageDraft, of draft: MessageDraft
    ) throws(PealError) -> DeliveryWindow? {
        guard var window = draft.window else {
            if given.schedule?.until != nil {
                throw .invalid("schedule.window", "a message without a window cannot get one; send another message")
            }
            if given.method != nil { throw .invalid("method", "method requires schedule.window") }
            return nil
        }
        window.graceSeconds = graceSeconds
        if let method = given.method { window.method = method }
        guard let schedule = given.schedule else { return window }
        guard let until = schedule.until else {
            throw .invalid("schedule", "a message with a window must keep one; give schedule.window")
        }
        window.until = until
        return window
    }

    /// `unreachable` applies only to users for whom a phone would choose the moment.
    private func checkUnreachable(_ draft: MessageDraft, isGiven: Bool) throws(PealError) {
        guard isGiven || draft.options.unreachable != .deadline else { return }
        guard let window = draft.window else {
            throw .invalid("options.unreachable", "unreachable requires schedule.window")
        }
        guard window.method != .traditional else {
            throw .invalid("options.unreachable", "unreachable requires method context_aware or ab_test")
        }
    }

    /// Devices for which the content has nothing get no empty notification.
    /// - Throws: `invalid_field` if it has nothing for any device.
    private func findAbsentPlatforms(of draft: inout MessageDraft) throws(PealError) {
        let absent = draft.content.emptyPlatforms.filter { platform in
            !draft.options.resolved(for: platform, in: draft.content).isBackground
        }
        guard !absent.isSuperset(of: Platform.addressable) else {
            throw .invalid("content", "content is empty; give a title, a body, data or a platform's object")
        }
        draft.content.absentPlatforms = absent
    }

    /// A test reaches few devices, which are named.
    private func checkTest(_ draft: MessageDraft, _ schedule: NativeSchedule) throws(PealError) {
        guard draft.isTest else { return }
        let audience = draft.audience
        let named = audience.devices.count + audience.users.count
        guard audience.isExplicit, audience.addresses.isEmpty, audience.identifiers.isEmpty,
            (1...Limits.testDevicesMax).contains(named)
        else {
            throw .invalid(
                "audience",
                "a test is for audience.devices and audience.users, together at most \(Limits.testDevicesMax)")
        }
        guard schedule.until == nil else {
            throw .invalid("schedule.window", "a test is sent at once or at schedule.at, not in a window")
        }
    }

    /// Addresses and channels without an environment use the effective one of their platform.
    /// - Parameter draft: the message, whose options and content decide; nil for none.
    func audience(_ given: NativeAudience, _ draft: MessageDraft?) throws(PealError) -> Audience {
        var audience = given.audience
        if let channel = given.channel {
            audience.addresses = [try address(of: channel, draft)]
            return audience
        }
        var seen: Set<Address> = []
        for item in given.addresses {
            do throws(PealError) {
                let inForce = draft.flatMap {
                    $0.options.resolved(for: item.value.platform, in: $0.content).environment
                }
                let environment = item.value.environment ?? inForce ?? .production
                let address = try check.checked(
                    try rules.address(item.value.address, platform: item.value.platform, environment: environment))
                if seen.insert(address).inserted { audience.addresses.append(address) }
            } catch {
                throw error.under(item.path)
            }
        }
        return audience
    }

    /// The address of a channel. Only APNs knows the devices that follow it.
    private func address(
        of channel: Located<NativeChannelName>, _ draft: MessageDraft?
    ) throws(PealError) -> Address {
        let (own, environment) = (channel.value.environment, draft?.audienceEnvironment)
        if let own, let environment, own != environment {
            let own = draft?.content.platforms.first { $0.value.options.environment == environment }
            let name = (own.map { "content.\($0.key.rawValue)." } ?? "") + "options.environment"
            throw .invalid(
                "\(channel.path).environment",
                "\(name) is \(environment.rawValue), but the channel is in the other environment")
        }
        do throws(PealError) {
            return try rules.channel(channel.value.id, environment: own ?? environment ?? .production)
        } catch {
            throw error.under(channel.path)
        }
    }

    /// - Throws: `invalid_field` if the message would expire before anything can be sent.
    private func expiry(of draft: MessageDraft, now: Timestamp) throws(PealError) -> Timestamp {
        let start = draft.window == nil ? draft.startAt ?? now : draft.createdAt
        // A lifetime in seconds counts from the start in the last zone.
        let last = draft.options.recipientsTime.map { max(start, MessageLife.lastStart(of: $0)) }
        let life = MessageLife(
            draft.options, draft.content, window: draft.window, start: last ?? start, secondsMax: lifeSecondsMax)
        if let window = draft.window {
            try check(draft, window, life)
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

    /// Checks that a message may have a delivery window, and that it outlives the window.
    private func check(_ draft: MessageDraft, _ window: DeliveryWindow, _ life: MessageLife) throws(PealError) {
        let audience = draft.audience
        guard audience.isExplicit, audience.devices.isEmpty, audience.addresses.isEmpty,
            audience.identifiers.isEmpty, audience.excludedTopics.isEmpty, !audience.interactiveOnly,
            audience.condition == nil,
            (1...Limits.momentUsersMax).contains(audience.users.count)
        else {
            throw .invalid(
                "audience",
                "a message with a window is for 1 to \(Limits.momentUsersMax) users; only platforms may narrow it")
        }
        guard life.end >= window.lastInstant || life.end > window.until, draft.options.life?.isOneAttempt != true else {
            var name = "expires_at"
            if case .seconds = draft.options.life { name = "ttl_seconds" }
            throw .invalid("options.\(name)", "the message would expire before its window ends")
        }
    }
}
