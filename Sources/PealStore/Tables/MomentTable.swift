internal import Crypto
internal import PealCore

/// `moment`: one row for each user of a message with a delivery window.
enum MomentTable {
    /// Without `due_at`, which follows from the others and the time.
    private static let columns: Columns = """
        app, message, user_id, state, rev, arm, claimable, fallback_at, deadline, awaits_device, route, had_device, \
        device, tried, claim_id, claim_until, has_ledger, score, cancel_requested, outcome, reason, request_key, \
        request_digest, requested_at, waiting, explore
        """

    /// Scores are stored in millionths.
    private static let scoreUnit = 1_000_000.0

    static func moment(_ row: inout RowReader) throws -> Moment {
        let id = Moment.ID(app: try row.next(), message: try row.next(), userID: try row.next())
        let (state, rev): (Moment.State, Int64) = (try row.next(), try row.next())
        let terms = Moment.Terms(
            arm: try row.next(), isClaimable: try row.next(), fallbackAt: try row.next(), deadline: try row.next())
        let (awaitsDevice, route, hadSDK): (Bool, Route, Bool) = (try row.next(), try row.next(), try row.next())
        let (device, tried): (DeviceKey?, [UInt8]) = (try row.next(), try row.next())
        let (claim, until, hasLedger): (ClaimID?, Timestamp, Bool) = (try row.next(), try row.next(), try row.next())
        let score: Int64? = try row.next()
        let (cancelRequested, outcome): (Bool, Int64?) = (try row.next(), try row.next())
        let (reason, key): (String, String?) = (try row.next(), try row.next())
        let (digest, requestedAt): ([UInt8]?, Timestamp?) = (try row.next(), try row.next())
        let (waiting, exploration): ([UInt8]?, Exploration) = (try row.next(), try row.next())
        var moment = Moment(
            app: id.app, message: id.message, userID: id.userID, terms: terms, route: route,
            hadSDK: hadSDK, idempotencyKey: key)
        moment.state = state
        moment.rev = rev
        moment.awaitsDevice = awaitsDevice
        moment.device = device
        moment.tried = try KeyListCoding.decode(tried)
        moment.claim = claim.map {
            Moment.Claim(id: $0, until: until, hasLedger: hasLedger, score: score.map { Double($0) / scoreUnit })
        }
        moment.cancelRequested = cancelRequested
        moment.outcome = outcome.flatMap { Outcome(rawValue: UInt8(truncatingIfNeeded: $0)) }
        moment.reason = reason
        if let digest, let requestedAt { moment.request = Moment.Request(digest: digest, at: requestedAt) }
        moment.waiting = try waiting.map(KeyListCoding.decode)
        moment.exploration = exploration
        return moment
    }

    /// The columns of a moment that can change.
    private static func changing(_ moment: Moment, dueAt: Timestamp) -> KeyValuePairs<String, any SQLStorable> {
        [
            "state": moment.state, "rev": moment.rev, "arm": moment.plannedArm, "claimable": moment.isClaimable,
            "fallback_at": moment.fallbackAt, "deadline": moment.deadline, "awaits_device": moment.awaitsDevice,
            "route": moment.route, "had_device": moment.hadSDK, "device": moment.device,
            "tried": KeyListCoding.encode(moment.tried), "claim_id": moment.claim?.id,
            "claim_until": moment.claim?.until, "has_ledger": moment.claim?.hasLedger ?? false,
            "score": moment.claim?.score.map { Int64(($0 * scoreUnit).rounded()) },
            "cancel_requested": moment.cancelRequested, "outcome": moment.outcome.map { Int64($0.rawValue) },
            "reason": moment.reason, "request_key": moment.idempotencyKey, "due_at": dueAt,
            "request_digest": moment.request?.digest, "requested_at": moment.request?.at,
            "waiting": moment.waiting.map(KeyListCoding.encode), "explore": moment.exploration,
        ]
    }

    static func insert(_ moment: Moment, nameKey: [UInt8]?) -> SQL {
        """
        INSERT INTO moment \(row: [
            "app": moment.app, "message": moment.message, "user_id": moment.userID, "name_key": nameKey,
        ], changing(moment, dueAt: moment.fallbackAt))
        """
    }

    /// The compare-and-set: the row must still be the one that was judged.
    static func change(_ former: Moment, to moment: Moment, dueAt: Timestamp) -> SQL {
        """
        UPDATE moment SET \(set: changing(moment, dueAt: dueAt))
        WHERE \(matching(former.id)) AND state = \(former.state) AND rev = \(former.rev)
            AND fallback_at = \(former.fallbackAt)
        """
    }

    /// For moments that cannot be cancelled any more: see `Moment.cancelRequested`.
    static func rememberCancellation(_ message: MessageID, app: AppKey, now: Timestamp) -> SQL {
        """
        UPDATE moment SET cancel_requested = 1
        WHERE \(MessageTable.matching(app, message)) AND deadline > \(now) AND cancel_requested = 0
            AND state NOT IN
                (\(code: Moment.State.open), \(code: Moment.State.claimed), \(code: Moment.State.cancelled))
        """
    }

    static func releaseName(_ moment: Moment.ID) -> SQL {
        "UPDATE moment SET name_key = NULL WHERE \(matching(moment))"
    }

    static func deleteOpen(_ moment: Moment.ID) -> SQL {
        "DELETE FROM moment WHERE \(matching(moment)) AND state = \(code: Moment.State.open)"
    }

    static func matching(_ id: Moment.ID) -> SQL {
        "app = \(id.app) AND message = \(id.message) AND user_id = \(id.userID)"
    }

    static func find(_ moment: Moment.ID) -> SQL { "SELECT \(columns) FROM moment WHERE \(matching(moment))" }

    static func find(_ name: MomentName, app: AppKey) -> SQL {
        "SELECT \(columns) FROM moment WHERE app = \(app) AND name_key = \(nameKey(name))"
    }

    static func of(_ message: MessageID, app: AppKey) -> SQL {
        "SELECT \(columns) FROM moment WHERE \(MessageTable.matching(app, message)) ORDER BY user_id"
    }

    /// - Parameter end: only those of messages that were accepted before; nil for all.
    static func openOf(_ userID: String, app: AppKey, before end: Timestamp? = nil, limit: Int) -> SQL {
        """
        SELECT \(columns) FROM moment
        WHERE app = \(app) AND user_id = \(userID) AND state = \(code: Moment.State.open)\(end.map(accepted) ?? "")
        ORDER BY deadline LIMIT \(limit)
        """
    }

    /// A user's open moments in the order of `MomentCursor`.
    static func openOf(_ userID: String, app: AppKey, after cursor: MomentCursor?, limit: Int) -> SQL {
        let later: SQL = cursor.map { " AND (deadline, message) > (\($0.deadline), \($0.message))" } ?? ""
        return """
            SELECT \(columns) FROM moment
            WHERE app = \(app) AND user_id = \(userID) AND state = \(code: Moment.State.open)\(later)
            ORDER BY deadline, message LIMIT \(limit)
            """
    }

    /// Those that wait only for a device of the user.
    static func awaitingDevice(of userID: String, app: AppKey, limit: Int) -> SQL {
        """
        SELECT \(columns) FROM moment
        WHERE app = \(app) AND user_id = \(userID) AND state = \(code: Moment.State.open) AND awaits_device = 1
        ORDER BY deadline LIMIT \(limit)
        """
    }

    /// The condition of a user's finished moments.
    static func over(of userID: String, app: AppKey) -> SQL {
        "app = \(app) AND user_id = \(userID) AND state >= \(code: Moment.State.sent)"
    }

    /// The further condition that the message was accepted before an instant.
    static func accepted(before end: Timestamp) -> SQL {
        """
         AND (SELECT created_at FROM message WHERE message.app = moment.app AND message.message = moment.message)
            <= \(end)
        """
    }

    /// The moment of that device, and those that were sent to several devices, which may be other ones. A message has
    /// at most `Limits.momentUsersMax` rows, mostly one.
    static func of(_ message: MessageID, app: AppKey, device: DeviceKey) -> SQL {
        """
        SELECT \(columns) FROM moment
        WHERE \(MessageTable.matching(app, message)) AND (device = \(device) OR waiting IS NOT NULL)
        """
    }

    /// Those whose alerts are with the sender.
    static func underWay(_ message: MessageID, app: AppKey) -> SQL {
        """
        SELECT \(columns) FROM moment WHERE \(MessageTable.matching(app, message))
            AND (state IN (\(code: Moment.State.sending), \(code: Moment.State.recovering)) OR waiting IS NOT NULL)
        ORDER BY user_id
        """
    }

    /// Open ones whose alert is due, or claimed ones whose claim has ended.
    static func due(_ state: Moment.State, _ now: Timestamp, limit: Int) -> SQL {
        """
        SELECT \(columns) FROM moment WHERE state = \(code: state) AND due_at <= \(now)
        ORDER BY due_at LIMIT \(limit)
        """
    }

    /// The key of the first one that is due.
    static func firstDue(_ state: Moment.State, _ now: Timestamp) -> SQL {
        """
        SELECT app, message, user_id FROM moment WHERE state = \(code: state) AND due_at <= \(now)
        ORDER BY due_at LIMIT 1
        """
    }

    static func nextDue(_ state: Moment.State) -> SQL {
        "SELECT due_at FROM moment WHERE state = \(code: state) ORDER BY due_at LIMIT 1"
    }

    static func counts(_ message: MessageID, app: AppKey) -> SQL {
        "SELECT state, route, outcome, reason FROM moment WHERE \(MessageTable.matching(app, message))"
    }

    /// Reads the keys from the index of users first: asked for the rows at once, SQLite reads all devices of the app.
    static func devices(of userID: String, app: AppKey) -> SQL {
        """
        SELECT d.seq, d.route, d.registered_at, COALESCE(i.seen_at, 0), CASE WHEN i.seq IS NULL THEN 0 ELSE 1 END
        FROM device u JOIN device d ON d.app = u.app AND d.seq = u.seq
            LEFT JOIN installation i ON i.app = u.app AND i.seq = u.seq
        WHERE u.app = \(app) AND u.user_id = \(userID) AND u.state = \(code: DeviceTable.State.active)
        """
    }

    /// The first moment to leave `open` moves its message to `sending`.
    static func begin(_ message: MessageID, app: AppKey, now: Timestamp) -> SQL {
        """
        UPDATE message SET state = \(Message.State.sending), cutoff_at = \(now)
        WHERE \(MessageTable.matching(app, message)) AND state = \(code: Message.State.scheduled)
        """
    }

    /// When the moment's next timed transition is due. A claim that has ended and must not be sent again is examined
    /// once more when the moment is given up.
    static func dueAt(_ moment: Moment, now: Timestamp) -> Timestamp {
        guard moment.state == .claimed, let claim = moment.claim else { return moment.fallbackAt }
        return claim.until > now ? claim.until : moment.givenUpAt
    }

    /// Identifies a name: the first 16 bytes of SHA-256 over its parts and their lengths.
    static func nameKey(_ name: MomentName) -> [UInt8] {
        var hash = SHA256()
        for part in [name.platform.rawValue, name.userID, name.campaignID, name.key] {
            hash.update(data: Array("\(part.utf8.count):\(part)".utf8))
        }
        return Array(hash.finalize().prefix(16))
    }
}

/// Reading moments, and the devices of their users.
extension StoreSession {
    func moment(_ id: Moment.ID) throws -> Moment? {
        try connection.first(MomentTable.find(id), MomentTable.moment)
    }

    func moment(app: AppKey, named name: MomentName) throws -> Moment? {
        try connection.first(MomentTable.find(name, app: app), MomentTable.moment)
    }

    func releaseName(of moment: Moment.ID) throws {
        try connection.execute(MomentTable.releaseName(moment))
    }

    func moments(app: AppKey, message: MessageID) throws -> [Moment] {
        try connection.all(MomentTable.of(message, app: app), MomentTable.moment)
    }

    func openMoments(app: AppKey, userID: String, after cursor: MomentCursor?, limit: Int) throws -> [Moment] {
        try connection.all(
            MomentTable.openOf(userID, app: app, after: cursor, limit: limit), MomentTable.moment)
    }

    func moment(app: AppKey, message: MessageID, device: DeviceKey) throws -> Moment? {
        try connection.all(MomentTable.of(message, app: app, device: device), MomentTable.moment)
            .first { $0.device == device || $0.tried.contains(device) }
    }

    func momentAudience(
        app: AppKey, _ audience: Audience, environment: Environment?
    ) throws -> [Platform: Int] {
        let routes = ResolvedAudience.routes(audience, environment)
        return try Set(audience.users.map(ExactText.init)).reduce(into: [:]) { counts, user in
            let target = try target(app: app, userID: user.text, routes: routes)
            counts[Self.momentRoute(target, routes).platform, default: 0] += 1
        }
    }

    /// The route to count a moment on; the first one when its user has no device.
    static func momentRoute(_ target: Moment.Target?, _ routes: [Route]) -> Route {
        target?.route ?? routes.first ?? Route.allCases[0]
    }

    /// The user's active device seen last, except those already tried.
    func target(
        app: AppKey, userID: String, routes: [Route], but tried: [DeviceKey] = []
    ) throws -> Moment.Target? {
        try targets(app: app, userID: userID, routes: routes, but: tried).first
    }

    /// The user's active devices except those already tried, the one seen last first. A registration counts, and so
    /// does a sync, even one in the background.
    func targets(
        app: AppKey, userID: String, routes: [Route], but tried: [DeviceKey] = []
    ) throws -> [Moment.Target] {
        try momentDevices(app: app, userID: userID, routes: routes).map(\.target)
            .filter { !tried.contains($0.device) }
    }

    func momentDevices(
        app: AppKey, userID: String, routes: [Route]
    ) throws -> [(target: Moment.Target, hasSDK: Bool)] {
        var found: [(target: Moment.Target, at: Timestamp, hasSDK: Bool)] = []
        try connection.query(MomentTable.devices(of: userID, app: app)) { row in
            let (device, code): (DeviceKey, Int64) = (try row.next(), try row.next())
            let (registeredAt, seenAt): (Timestamp, Timestamp) = (try row.next(), try row.next())
            // A newer server on the same database may know more routes.
            guard let route = Route(rawValue: code), routes.contains(route) else { return }
            let target = Moment.Target(device: device, route: route)
            found.append((target, max(registeredAt, seenAt), try row.next()))
        }
        return found.sorted { ($0.at, $0.target.device) > ($1.at, $1.target.device) }.map { ($0.target, $0.hasSDK) }
    }

    /// The routes of the devices that may show a message.
    func momentRoutes(app: AppKey, message: MessageID) throws -> [Route] {
        let terms = try alertTerms(app: app, message: message)
        return terms.routes.filter { !terms.absentPlatforms.contains($0.platform) }
    }

    /// What the alerts of a message may do.
    struct AlertTerms {
        var routes: [Route] = []
        /// See `Content.absentPlatforms`. Alerts take their routes too, because the outcome has the reason.
        var absentPlatforms: Set<Platform> = []
        /// See `MessageOptions.isTransactional`.
        var isTransactional = false
        /// As its author stated it.
        var life: MessageOptions.Life?
    }

    func alertTerms(app: AppKey, message: MessageID) throws -> AlertTerms {
        try connection.first(
            "SELECT audience, content, options FROM message_content WHERE \(MessageTable.matching(app, message))"
        ) { row in
            let audience = try AudienceCoding.decode(row.next())
            let bytes: [UInt8] = try row.next()
            let options = try OptionsCoding.decode(row.next())
            // Claims ask for the routes inside the writer, where decoding a large content would take long.
            let content = ContentCoding.mayLimitRoutes(bytes) ? try ContentCoding.decode(bytes) : Content()
            return AlertTerms(
                routes: ResolvedAudience.routes(audience, options.audienceEnvironment(in: content)),
                absentPlatforms: content.absentPlatforms, isTransactional: options.isTransactional,
                life: options.life)
        } ?? AlertTerms()
    }
}
