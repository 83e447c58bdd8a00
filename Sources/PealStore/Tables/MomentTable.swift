internal import Crypto
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

/// Who is in which arm of a campaign's experiment.
extension StoreSession {
    /// The arm of a user's message: what the author says, else where the user was assigned, now or before.
    func arm(of user: String, in draft: MessageDraft, _ window: DeliveryWindow, now: Timestamp) throws -> Arm {
        if let arm = window.method.arm { return arm }
        let campaign = draft.campaignID ?? ""
        let place: [SQLValue] = [.int(draft.app), .text(campaign), .text(user)]
        let known = try connection.int(
            "SELECT arm FROM experiment_arm WHERE app = $1 AND campaign_id = $2 AND user_id = $3", place)
        if let arm = known.flatMap(Arm.init(rawValue:)) { return arm }
        guard let app = try app(key: draft.app) else { throw PealError.notFound("app") }
        let salt = try salt(of: campaign, in: draft, now: now)
        let input = ArmAssignment.input(
            app: app.bundleID ?? app.id.description, salt: salt, campaign: campaign, userID: user)
        let arm = ArmAssignment.arm(ofDigest: SHA256.hash(data: input), share: app.settings[.experimentShare])
        try connection.execute(
            "INSERT INTO experiment_arm (app, campaign_id, user_id, arm, assigned_at) VALUES ($1, $2, $3, $4, $5)",
            place + [.int(arm.rawValue), .time(now)])
        return arm
    }

    /// A campaign's own; the first message of its experiment brings it with the chance in its id.
    private func salt(of campaign: String, in draft: MessageDraft, now: Timestamp) throws -> String {
        let place: [SQLValue] = [.int(draft.app), .text(campaign)]
        try connection.execute(
            """
            INSERT INTO experiment (app, campaign_id, salt, started_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT (app, campaign_id) DO NOTHING
            """, place + [.text(Hex.encode(draft.id.bytes.suffix(8))), .time(now)])
        let salt = try connection.first(
            "SELECT salt FROM experiment WHERE app = $1 AND campaign_id = $2", place
        ) { $0.text(0) }
        return salt ?? ""
    }
}

/// How moments are written and read.
enum MomentRow {
    static let columns = """
        app, message, user_id, state, rev, arm, claimable, fallback_at, deadline, awaits_device, route, had_device, \
        device, tried, claim_id, claim_until, has_ledger, cancel_requested, outcome, reason, request_key
        """

    /// Reads `columns`.
    static func moment(_ row: any SQLRow) throws -> Moment {
        guard let state = Moment.State(rawValue: row.int(3)), let arm = Arm(rawValue: row.int(5)) else {
            throw PealError.damaged("a moment")
        }
        let terms = Moment.Terms(
            arm: arm, isClaimable: row.flag(6), fallbackAt: row.time(7), deadline: row.time(8))
        var moment = Moment(
            app: row.int(0), message: try row.id(1), userID: row.text(2), terms: terms, route: try row.route(10),
            hadDevice: row.flag(11), idempotencyKey: row.textIfPresent(20))
        moment.state = state
        moment.rev = row.int(4)
        moment.awaitsDevice = row.flag(9)
        moment.device = row.intIfPresent(12)
        moment.tried = try KeyListCoding.decode(row.bytes(13))
        if !row.isNull(14) {
            moment.claim = Moment.Claim(id: try row.id(14), until: row.time(15), hasLedger: row.flag(16))
        }
        moment.cancelRequested = row.flag(17)
        moment.outcome = row.intIfPresent(18).flatMap { Outcome(rawValue: UInt8(truncatingIfNeeded: $0)) }
        moment.reason = row.text(19)
        return moment
    }

    static func place(_ place: Moment.Place) -> [SQLValue] {
        [.int(place.app), .id(place.message), .text(place.userID)]
    }

    /// In the order of `columns`.
    static func values(_ moment: Moment) -> [SQLValue] {
        place(moment.place) + [
            .int(moment.state.rawValue), .int(moment.rev), .int(moment.plannedArm.rawValue),
            .flag(moment.isClaimable), .time(moment.fallbackAt), .time(moment.deadline), .flag(moment.awaitsDevice),
            .route(moment.route), .flag(moment.hadDevice), .int(moment.device),
            .bytes(KeyListCoding.encode(moment.tried)), .bytes(moment.claim?.id.bytes), .time(moment.claim?.until),
            .flag(moment.claim?.hasLedger ?? false), .flag(moment.cancelRequested),
            .int(moment.outcome.map { Int64($0.rawValue) }), .text(moment.reason), .text(moment.idempotencyKey),
        ]
    }

    /// When the clock acts on it. A claim that ended and may not be sent again is looked at once more when it is given
    /// up.
    static func dueAt(_ moment: Moment, now: Timestamp) -> Timestamp {
        guard moment.state == .claimed, let claim = moment.claim else { return moment.fallbackAt }
        return claim.until > now ? claim.until : moment.givenUpAt
    }

    /// What tells names apart: the first 16 bytes of SHA-256 over their parts and the lengths of these.
    static func nameKey(_ name: MomentName) -> [UInt8] {
        var hash = SHA256()
        for part in [name.platform.rawValue, name.userID, name.campaignID, name.key] {
            hash.update(data: Array("\(part.utf8.count):\(part)".utf8))
        }
        return Array(hash.finalize().prefix(16))
    }
}

/// The statements of moments. A test reads the plan of each, as of `HotSQL`.
enum MomentSQL {
    private static let place = "app = $1 AND message = $2 AND user_id = $3"

    static let insert = """
        INSERT INTO moment (\(MomentRow.columns), due_at, name_key)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
            $23)
        """

    /// The compare-and-set: the row must still be the one that was judged.
    static let change = """
        UPDATE moment SET state = $4, rev = $5, arm = $6, claimable = $7, fallback_at = $8, deadline = $9,
            awaits_device = $10, route = $11, had_device = $12, device = $13, tried = $14, claim_id = $15,
            claim_until = $16, has_ledger = $17, cancel_requested = $18, outcome = $19, reason = $20, request_key = $21,
            due_at = $22
        WHERE \(place) AND state = $23 AND rev = $24 AND fallback_at = $25
        """

    static let leave = "DELETE FROM moment WHERE \(place) AND state = 1"

    static let one = "SELECT \(MomentRow.columns) FROM moment WHERE \(place)"
    static let named = "SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND name_key = $2"
    static let ofMessage = "SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND message = $2 ORDER BY user_id"
    static let openOfUser = """
        SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND user_id = $2 AND state = 1 ORDER BY deadline LIMIT $3
        """
    static let awaiting = """
        SELECT \(MomentRow.columns) FROM moment
        WHERE app = $1 AND user_id = $2 AND state = 1 AND awaits_device = 1 ORDER BY deadline
        """
    /// A message has at most `Limits.momentUsersMax` rows, mostly one.
    static let ofDevice = """
        SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND message = $2 AND device = $3
        """
    /// Whose alerts are with the sender.
    static let underWay = """
        SELECT \(MomentRow.columns) FROM moment WHERE app = $1 AND message = $2 AND state IN (3, 4) ORDER BY user_id
        """

    static let due = "SELECT \(MomentRow.columns) FROM moment WHERE state = 1 AND due_at <= $1 ORDER BY due_at LIMIT $2"
    static let lapsed = """
        SELECT \(MomentRow.columns) FROM moment WHERE state = 2 AND due_at <= $1 ORDER BY due_at LIMIT $2
        """
    static let nextDue = "SELECT due_at FROM moment WHERE state = 1 ORDER BY due_at LIMIT 1"
    static let nextLapsed = "SELECT due_at FROM moment WHERE state = 2 ORDER BY due_at LIMIT 1"

    static let counts = """
        SELECT state, route, outcome, reason FROM moment WHERE app = $1 AND message = $2
        """

    static let devices = "SELECT seq, route, registered_at FROM device WHERE app = $1 AND user_id = $2 AND state = 1"

    /// The first moment that leaves open takes its message along.
    static let begin = """
        UPDATE message SET state = 3, cutoff_at = $3 WHERE app = $1 AND message = $2 AND state = 1
        """

    /// Every statement by name.
    static let all: KeyValuePairs<String, String> = [
        "moment.change": change, "moment.leave": leave, "moment.one": one, "moment.named": named,
        "moment.ofMessage": ofMessage, "moment.openOfUser": openOfUser, "moment.awaiting": awaiting,
        "moment.ofDevice": ofDevice, "moment.underWay": underWay, "moment.due": due, "moment.lapsed": lapsed,
        "moment.nextDue": nextDue,
        "moment.nextLapsed": nextLapsed, "moment.counts": counts, "moment.devices": devices, "moment.begin": begin,
    ]
}
