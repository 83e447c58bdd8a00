internal import PealCore

/// Reading moments, and making them with their message.
extension StoreSession {
    func moment(_ place: Moment.Place) throws -> Moment? {
        try connection.first(MomentSQL.one, MomentRow.place(place), MomentRow.moment)
    }

    func moment(app: AppKey, named name: MomentName) throws -> Moment? {
        try connection.first(MomentSQL.named, [.int(app), .bytes(MomentRow.nameKey(name))], MomentRow.moment)
    }

    func moments(app: AppKey, message: MessageID) throws -> [Moment] {
        try connection.all(MomentSQL.ofMessage, [.int(app), .id(message)], MomentRow.moment)
    }

    func openMoments(app: AppKey, userID: String, limit: Int) throws -> [Moment] {
        try connection.all(MomentSQL.openOfUser, [.int(app), .text(userID), .int(limit)], MomentRow.moment)
    }

    func momentAudience(
        app: AppKey, _ audience: Audience, environment: Environment?
    ) throws -> [Platform: Int] {
        let routes = ResolvedAudience.routes(audience, environment)
        return try Set(audience.users.map(ExactText.init)).reduce(into: [:]) { counts, user in
            let target = try target(app: app, userID: user.text, routes: routes)
            counts[Self.route(target, routes).platform, default: 0] += 1
        }
    }

    /// Where a moment counts whose user has no device.
    private static func route(_ target: Moment.Target?, _ routes: [Route]) -> Route {
        target?.route ?? routes.first ?? .apnsProduction
    }

    /// The user's active device seen last, but for those that were tried.
    func target(
        app: AppKey, userID: String, routes: [Route], but tried: [DeviceKey] = []
    ) throws -> Moment.Target? {
        var latest: (target: Moment.Target, at: Int64)?
        try connection.query(MomentSQL.devices, [.int(app), .text(userID)]) { row in
            let found = (target: Moment.Target(device: row.int(0), route: try row.route(1)), at: row.int(2))
            guard routes.contains(found.target.route), !tried.contains(found.target.device) else { return }
            let isLater = latest.map { ($0.at, $0.target.device) < (found.at, found.target.device) } ?? true
            if isLater { latest = found }
        }
        return latest?.target
    }

    /// Where the alerts of a message may go.
    func momentRoutes(app: AppKey, message: MessageID) throws -> [Route] {
        try connection.first(
            "SELECT audience, content, options FROM message_content WHERE app = $1 AND message = $2",
            [.int(app), .id(message)]
        ) { row in
            let content = try ContentCoding.decode(row.bytes(1))
            let options = try OptionsCoding.decode(row.bytes(2)).resolved(for: .ios, in: content)
            return ResolvedAudience.routes(try AudienceCoding.decode(row.bytes(0)), options.environment)
        } ?? []
    }

    /// Makes the moments of a message that was just inserted.
    func insertMoments(of draft: MessageDraft, _ window: DeliveryWindow) throws {
        var predicate = Predicate()
        predicate.isList = true
        try connection.execute(
            "INSERT INTO message_predicate (app, message, predicate) VALUES ($1, $2, $3)",
            [.int(draft.app), .id(draft.id), .bytes(PredicateCoding.encode(predicate))])
        let users = Set(draft.audience.users.map(ExactText.init)).sorted().map(\.text)
        for user in users { try insertMoment(user, of: draft, window, now: draft.createdAt) }
        try setOpen(users.count, app: draft.app, message: draft.id)
    }

    private func insertMoment(
        _ user: String, of draft: MessageDraft, _ window: DeliveryWindow, rev: Int64 = 1, now: Timestamp
    ) throws {
        let environment = draft.options.resolved(for: .ios, in: draft.content).environment
        let routes = ResolvedAudience.routes(draft.audience, environment)
        let target = try target(app: draft.app, userID: user, routes: routes)
        var moment = Moment(
            app: draft.app, message: draft.id, userID: user,
            terms: window.terms(try arm(of: user, in: draft, window, now: now), now: now),
            route: Self.route(target, routes), hadDevice: target != nil, idempotencyKey: window.name?.key)
        moment.rev = rev
        try connection.execute(
            MomentSQL.insert,
            MomentRow.values(moment) + [.time(moment.fallbackAt), .bytes(window.name.map(MomentRow.nameKey))])
    }

    private func setOpen(_ count: Int, app: AppKey, message: MessageID) throws {
        try connection.execute(
            "UPDATE message SET slices_open = $3 WHERE app = $1 AND message = $2",
            [.int(app), .id(message), .int(count)])
    }

    /// Lays another draft over a message all of whose moments are open: who stays gets a new revision, who is no
    /// longer in the audience goes, who is new comes.
    func supersede(_ draft: MessageDraft, _ window: DeliveryWindow, now: Timestamp) throws {
        var users = Set(draft.audience.users.map(ExactText.init))
        let count = users.count
        let moments = try moments(app: draft.app, message: draft.id)
        let rev = (moments.map(\.rev).max() ?? 0) + 1
        for moment in moments {
            if users.remove(ExactText(moment.userID)) != nil {
                let terms = window.terms(try arm(of: moment.userID, in: draft, window, now: now), now: now)
                guard try apply(.supersede(terms), to: moment, now: now) != nil else { throw Self.overtaken }
            } else {
                guard try connection.execute(MomentSQL.leave, MomentRow.place(moment.place)) == 1 else {
                    throw Self.overtaken
                }
            }
        }
        for user in users.sorted() { try insertMoment(user.text, of: draft, window, rev: rev, now: now) }
        try setOpen(count, app: draft.app, message: draft.id)
    }

    private static let overtaken = PealError(.conflict, "the message is being sent")
}
