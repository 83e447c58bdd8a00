internal import PealCore

/// Creating moments with their message, and replacing them with a new draft.
extension StoreSession {
    /// Inserts the moments of a message that was just inserted.
    func insertMoments(of draft: MessageDraft, _ window: DeliveryWindow) throws {
        var predicate = Predicate()
        predicate.isList = true
        try insert(predicate, app: draft.app, message: draft.id)
        for user in draft.audience.users.distinctTexts {
            try insertMoment(user, of: draft, window, now: draft.createdAt)
        }
        try endTraditional(draft, window)
    }

    private func insertMoment(
        _ user: String, of draft: MessageDraft, _ window: DeliveryWindow, rev: Int64 = 1, now: Timestamp
    ) throws {
        let terms = try terms(of: user, in: draft, window, now: now)
        let (target, outlook) = try outlook(of: user, in: draft, window, terms)
        var moment = Moment(
            app: draft.app, message: draft.id, userID: user, terms: terms, route: outlook.route,
            hadSDK: outlook.hasSDK, idempotencyKey: window.name?.key, request: window.request)
        moment.rev = rev
        moment.exploration = outlook.exploration
        try connection.post(MomentTable.insert(moment, nameKey: window.name.map(MomentTable.nameKey)))
        try announce(moment, target, now: now)
    }

    /// Reports that a moment is pending, and wakes the devices that may claim it.
    private func announce(_ moment: Moment, _ target: Moment.Target?, now: Timestamp) throws {
        try report(.init(status: .pending, device: target?.device), of: moment, now: now)
        if moment.isClaimable { try requestWakes(app: moment.app, userID: moment.userID, now: now) }
    }

    /// The device that an alert would go to now, and what follows for the moment.
    private func outlook(
        of user: String, in draft: MessageDraft, _ window: DeliveryWindow, _ terms: Moment.Terms
    ) throws -> (target: Moment.Target?, outlook: Moment.Outlook) {
        let routes = ResolvedAudience.routes(draft.audience, draft.audienceEnvironment)
        let devices = try momentDevices(app: draft.app, userID: user, routes: routes)
        let target = devices.first?.target
        let exploration = terms.isClaimable ? try exploration(of: user, in: draft, window) : .greedy
        return (
            target,
            Moment.Outlook(
                route: Self.momentRoute(target, routes), hasSDK: devices.contains(where: \.hasSDK),
                exploration: exploration)
        )
    }

    private func terms(
        of user: String, in draft: MessageDraft, _ window: DeliveryWindow, now: Timestamp
    ) throws -> Moment.Terms {
        let arm = try arm(of: user, in: draft, window, now: now)
        let fallback = arm == .contextAware ? try fallback(of: user, in: draft, window, now: now) : nil
        return window.terms(arm, now: now, fallback: fallback)
    }

    /// Replaces the draft of a message all of whose moments are open. Users who stay get a new revision, users no
    /// longer in the audience lose their moment, new users get one.
    func supersede(_ draft: MessageDraft, _ window: DeliveryWindow, now: Timestamp) throws {
        var users = Set(draft.audience.users.map(ExactText.init))
        let count = users.count
        let moments = try moments(app: draft.app, message: draft.id)
        let rev = (moments.map(\.rev).max() ?? 0) + 1
        for moment in moments {
            if users.remove(ExactText(moment.userID)) != nil {
                let terms = try terms(of: moment.userID, in: draft, window, now: now)
                let (target, outlook) = try outlook(of: moment.userID, in: draft, window, terms)
                let event = MomentEvent.supersede(terms, outlook: outlook, request: window.request)
                guard let step = try apply(event, to: moment, now: now) else { throw Self.overtaken }
                try announce(step.moment, target, now: now)
            } else {
                guard try connection.execute(MomentTable.deleteOpen(moment.id)) == 1 else {
                    throw Self.overtaken
                }
            }
        }
        for user in users.sorted() { try insertMoment(user.text, of: draft, window, rev: rev, now: now) }
        try connection.post(
            "UPDATE message SET slices_open = \(count) WHERE \(MessageTable.matching(draft.app, draft.id))")
        try endTraditional(draft, window)
    }

    /// Ends a message of an experiment with its window if all of its users are in the traditional arm.
    private func endTraditional(_ draft: MessageDraft, _ window: DeliveryWindow) throws {
        guard window.method == .experiment, draft.options.life == nil else { return }
        let moments = try moments(app: draft.app, message: draft.id)
        guard moments.allSatisfy({ $0.plannedArm == .traditional }) else { return }
        try connection.post(
            "UPDATE message SET expires_at = \(window.until) WHERE \(MessageTable.matching(draft.app, draft.id))")
    }

    private static let overtaken = PealError(.conflict, "the message is being sent")
}
