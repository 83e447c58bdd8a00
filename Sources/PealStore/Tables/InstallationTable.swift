internal import PealCore

/// `installation`: apps that registered their own device, with what is needed to reach them in the background.
enum InstallationTable {
    private static let columns: Columns = """
        app, seq, token_hash, api_key, capabilities, sdk_version, seen_at, wake_no, woken_at, woken_before, \
        wake_asked, counted_to, wake_at, hits, misses, reach_at, class
        """

    static func installation(_ row: inout RowReader) throws -> Installation {
        let (app, device): (AppKey, DeviceKey) = (try row.next(), try row.next())
        let (hash, key): ([UInt8], KeyID) = (try row.next(), try row.next())
        let capabilities = Installation.Capabilities(rawValue: try row.next())
        let (version, seenAt): (String?, Timestamp) = (try row.next(), try row.next())
        var installation = Installation(
            app: app, device: device, tokenHash: hash, key: key, capabilities: capabilities, sdkVersion: version,
            seenAt: seenAt)
        installation.wakes.number = try row.next()
        installation.wakes.lastAt = try row.next()
        installation.wakes.earlierAt = try row.next()
        installation.wakes.hasAsked = try row.next()
        installation.wakes.countedThrough = try row.next()
        installation.wakes.dueAt = try row.next()
        installation.reachability.hits = try row.next()
        installation.reachability.misses = try row.next()
        installation.reachability.at = try row.next()
        installation.classification = DeviceClassification(rawValue: try row.next()) ?? .unknown
        return installation
    }

    static func find(tokenHash: [UInt8], now: Timestamp) -> SQL {
        """
        SELECT \(columns.of("i")) FROM installation i JOIN api_key k ON k.id = i.api_key
        WHERE i.token_hash = \(tokenHash) AND (k.expires_at IS NULL OR k.expires_at > \(now))
        """
    }

    static func find(_ device: DeviceKey, app: AppKey) -> SQL {
        "SELECT \(columns) FROM installation WHERE app = \(app) AND seq = \(device)"
    }

    static func due(_ now: Timestamp, limit: Int) -> SQL {
        """
        SELECT \(columns) FROM installation WHERE wake_at <= \(now) AND wake_at IS NOT NULL
        ORDER BY wake_at LIMIT \(limit)
        """
    }

    /// The key of the first one that is due.
    static func firstDue(_ now: Timestamp) -> SQL {
        "SELECT app, seq FROM installation WHERE wake_at <= \(now) AND wake_at IS NOT NULL ORDER BY wake_at LIMIT 1"
    }

    static let nextDue: SQL = "SELECT wake_at FROM installation WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1"

    /// Those of a user's active devices.
    static func of(_ userID: String, app: AppKey) -> SQL {
        """
        SELECT \(columns.of("i")) FROM device d JOIN installation i ON i.app = d.app AND i.seq = d.seq
        WHERE d.app = \(app) AND d.user_id = \(userID) AND d.state = \(code: DeviceTable.State.active)
        """
    }

    /// The sums of hits and of all wake-ups with a known result, of the newest devices.
    static func evidence(_ app: AppKey, limit: Int) -> SQL {
        """
        SELECT CAST(SUM(hits) AS BIGINT), CAST(SUM(hits + misses) AS BIGINT) FROM (
            SELECT hits, misses FROM installation WHERE app = \(app) ORDER BY seq DESC LIMIT \(limit)) AS sample
        """
    }

    static func put(_ installation: Installation) -> SQL {
        let changing = changing(installation)
        return """
            INSERT INTO installation \(row: ["app": installation.app, "seq": installation.device], changing)
            ON CONFLICT (app, seq) DO UPDATE SET \(set: Array(changing))
            """
    }

    private static func changing(_ installation: Installation) -> KeyValuePairs<String, any SQLStorable> {
        let (wakes, reach) = (installation.wakes, installation.reachability)
        return [
            "token_hash": installation.tokenHash, "api_key": installation.key,
            "capabilities": installation.capabilities.rawValue, "sdk_version": installation.sdkVersion,
            "seen_at": installation.seenAt, "wake_no": wakes.number, "woken_at": wakes.lastAt,
            "woken_before": wakes.earlierAt, "wake_asked": wakes.hasAsked, "counted_to": wakes.countedThrough,
            "wake_at": wakes.dueAt, "hits": reach.hits, "misses": reach.misses, "reach_at": reach.at,
            "class": installation.classification.rawValue,
        ]
    }
}

extension StoreSession {
    func installation(tokenHash: [UInt8], now: Timestamp) throws -> Installation? {
        try connection.first(
            InstallationTable.find(tokenHash: tokenHash, now: now), InstallationTable.installation)
    }

    func installation(app: AppKey, device: DeviceKey) throws -> Installation? {
        try connection.first(InstallationTable.find(device, app: app), InstallationTable.installation)
    }

    func putInstallation(_ installation: Installation) throws {
        memo.installs[installation.app] = true
        try connection.post(InstallationTable.put(installation))
    }

    func nextWakeAt() throws -> Timestamp? { try connection.value(InstallationTable.nextDue) }

    func dueInstallations(now: Timestamp, limit: Int) throws -> [Installation] {
        try connection.all(InstallationTable.due(now, limit: limit), InstallationTable.installation)
    }

    func postponeDueWake(to later: Timestamp, now: Timestamp) throws -> String? {
        let first = try connection.first(InstallationTable.firstDue(now)) { row in
            (app: try row.next(AppKey.self), device: try row.next(DeviceKey.self))
        }
        guard let (app, device) = first else { return nil }
        try connection.execute("UPDATE installation SET wake_at = \(later) WHERE app = \(app) AND seq = \(device)")
        return "device \(device) of app \(app)"
    }

    /// Ends a device's token, because the address, and with it the device, now belongs to another installation.
    func endToken(app: AppKey, device: DeviceKey, now: Timestamp) throws {
        try keepSpentWakes(of: device, app: app, now: now)
        try connection.post("DELETE FROM installation WHERE app = \(app) AND seq = \(device)")
    }

    /// Asks for wake-up pushes to a user's devices, as soon as their budgets allow it.
    func requestWakes(app: AppKey, userID: String, now: Timestamp) throws {
        guard try hasInstallations(app) else { return }
        for var installation in try connection.all(
            InstallationTable.of(userID, app: app), InstallationTable.installation)
        where installation.capabilities.choosesMoments {
            installation.wakes.request(at: now)
            try putInstallation(installation)
        }
    }

    private func hasInstallations(_ app: AppKey) throws -> Bool {
        if let known = memo.installs[app] { return known }
        let has = try connection.exists("SELECT 1 FROM installation WHERE app = \(app) LIMIT 1")
        memo.installs[app] = has
        return has
    }
}

/// `device_event` and `context_sample`: what devices reported, and what people consented to share.
enum DeviceEventTable {
    static func insert(_ event: DeviceEvent, app: AppKey, device: DeviceKey, now: Timestamp) -> SQL {
        """
        INSERT INTO device_event \(row: [
            "app": app, "seq": device, "id": event.id, "kind": event.kind.rawValue, "message": event.message,
            "at": event.at, "stored_at": now, "detail": detail(event),
        ])
        ON CONFLICT (app, seq, id) DO NOTHING
        """
    }

    static func insertSample(_ event: DeviceEvent, app: AppKey, device: DeviceKey) -> SQL {
        """
        INSERT INTO context_sample \(row: [
            "app": app, "seq": device, "id": event.id, "message": event.message, "at": event.at,
            "snapshot": event.shared.snapshot, "trace": event.shared.trace, "hour": event.shared.hour,
        ])
        ON CONFLICT (app, seq, id) DO NOTHING
        """
    }

    static func sample(_ message: MessageID, app: AppKey, device: DeviceKey) -> SQL {
        "SELECT 1 FROM context_sample WHERE app = \(app) AND seq = \(device) AND message = \(message) LIMIT 1"
    }

    static func details(_ message: MessageID, app: AppKey, device: DeviceKey) -> SQL {
        """
        SELECT kind, detail FROM device_event WHERE app = \(app) AND seq = \(device) AND message = \(message)
        ORDER BY at, id
        """
    }

    /// The detail as compact JSON; nil if there is none.
    private static func detail(_ event: DeviceEvent) -> [UInt8]? {
        guard event.detail != DeviceEvent.Detail() else { return nil }
        return JSON.compact([
            ("button", event.detail.button.map(JSON.string)), ("content", event.detail.content.map(JSON.string)),
            ("reason", event.detail.reason.map(JSON.string)),
        ]).bytes
    }
}

extension StoreSession {
    func eventDetails(
        app: AppKey, message: MessageID, device: DeviceKey
    ) throws -> [(kind: DeviceEvent.Kind, detail: String?)] {
        try connection.all(DeviceEventTable.details(message, app: app, device: device)) { row in
            (kind: DeviceEvent.Kind(rawValue: try row.next()), detail: try row.next([UInt8]?.self))
        }
        .compactMap { kind, detail in
            let json = detail.flatMap { try? JSONParser.parse($0, isStored: true) }
            return kind.map { ($0, (json?["button"] ?? json?["content"])?.stringValue) }
        }
    }

    func record(_ events: [DeviceEvent], app: AppKey, device: DeviceKey, now: Timestamp) throws -> [Bool] {
        var isNew: [Bool] = []
        for event in events {
            let count = try connection.execute(
                DeviceEventTable.insert(event, app: app, device: device, now: now))
            isNew.append(count > 0)
            guard count > 0, event.shared != DeviceEvent.Shared(),
                try !hasSample(event.message, app: app, device: device)
            else { continue }
            try connection.post(DeviceEventTable.insertSample(event, app: app, device: device))
        }
        return isNew
    }

    /// A device displays a message once. One that reports it again under other ids must not count more often in the
    /// training than others.
    private func hasSample(_ message: MessageID?, app: AppKey, device: DeviceKey) throws -> Bool {
        guard let message else { return false }
        return try connection.exists(DeviceEventTable.sample(message, app: app, device: device))
    }
}

/// `open_hour`: the hours of their own days at which people open messages.
extension StoreSession {
    /// The name of the row for all users together.
    private static let everybody = ""
    /// The number of own opens at which a user's history weighs as much as that of all users.
    private static let priorOpens = 12.0

    /// A user's counters fade as those on a phone do (`Ledger.countOpen`), so that a changed habit shows. For all
    /// users, only the first opens of each count, so that one device cannot outweigh an audience.
    func countOpen(app: AppKey, userID: String, hour: Int) throws {
        let own: SQL = "(SELECT SUM(n) FROM open_hour WHERE app = \(app) AND user_id = \(userID))"
        let increment: SQL = "ON CONFLICT (app, user_id, hour) DO UPDATE SET n = open_hour.n + 1"
        try connection.post([
            """
            INSERT INTO open_hour (app, user_id, hour, n) VALUES (\(app), \(userID), \(hour), 1) \(increment)
            """,
            """
            INSERT INTO open_hour (app, user_id, hour, n) SELECT \(app), \(Self.everybody), \(hour), 1
            WHERE \(own) <= \(Limits.opensPerUserForAllMax) \(increment)
            """,
            """
            UPDATE open_hour SET n = n / 2
            WHERE app = \(app) AND user_id = \(userID) AND \(own) >= \(Limits.opensPerUserMax)
            """,
        ])
    }

    private func openHours(app: AppKey, userID: String) throws -> [Double] {
        var hours = Array(repeating: 0.0, count: 24)
        try connection.query(
            "SELECT hour, n FROM open_hour WHERE app = \(app) AND user_id = \(userID)"
        ) { row in
            let (hour, count): (Int, Int) = (try row.next(), try row.next())
            if hours.indices.contains(hour) { hours[hour] = Double(count) }
        }
        return hours
    }

    /// When the server sends a message to a user if no device claims it; nil for the end of the window.
    func fallback(
        of user: String, in draft: MessageDraft, _ window: DeliveryWindow, now: Timestamp
    ) throws -> Timestamp? {
        guard draft.options.unreachable != .deadline,
            try !isReachable(user, app: draft.app, within: window.until - now, now: now)
        else { return nil }
        if draft.options.unreachable == .now { return now }
        let routes = ResolvedAudience.routes(draft.audience, draft.audienceEnvironment)
        let device = try targets(app: draft.app, userID: user, routes: routes).first?.device
        let zone = try device.flatMap { try timeZone(of: $0, app: draft.app) }
        return try bestHour(of: user, app: draft.app, zone: zone, from: now, until: window.until)
    }

    func timeZone(of device: DeviceKey, app: AppKey) throws -> String? {
        try deviceRow(app: app, key: device).flatMap { try word($0.zone) }
    }

    func localHour(at instant: Timestamp, zone: String?, app: AppKey) throws -> Int {
        try Int(reading(at: instant, zone: zone, app: app).milliseconds.floorDivided(by: 3_600_000) % 24)
    }

    /// What clocks show in a device's time zone, or else in the app's default one, as if it were UTC.
    private func reading(at instant: Timestamp, zone: String?, app: AppKey) throws -> Timestamp {
        context.clock.reading(at: instant, in: [zone, try rules(of: app).defaultTimeZone].compactMap(\.self))
    }

    private func rules(of app: AppKey) throws -> SendRules {
        if let known = memo.rules[app] { return known }
        let rules = try self.app(key: app)?.settings.rules ?? SendRules()
        memo.rules[app] = rules
        return rules
    }

    private func isReachable(
        _ user: String, app: AppKey, within span: Duration, now: Timestamp
    ) throws -> Bool {
        guard try hasInstallations(app) else { return false }
        let installations = try connection.all(InstallationTable.of(user, app: app), InstallationTable.installation)
        guard !installations.isEmpty else { return false }
        let prior = try context.cohorts.rate(of: app, now: now) {
            try arrivalRate(InstallationTable.evidence(app, limit: Limits.cohortDevicesMax))
        }
        let quiet = try rules(of: app).quietHours
        return try installations.contains { installation in
            let start = try reading(at: now, zone: timeZone(of: installation.device, app: app), app: app)
            let chances = Installation.wakeChances(from: start, within: span, quiet: quiet)
            return installation.isReachable(byWakes: chances, prior: prior)
        }
    }

    /// The share of wake-ups that arrive, from a statement that sums the hits and all wake-ups; nil without any.
    func arrivalRate(_ sums: SQL) throws -> Double? {
        let sums = try connection.first(sums) { row -> (hits: Int64?, all: Int64?) in
            (try row.next(), try row.next())
        }
        guard let hits = sums?.hits, let all = sums?.all, all > 0 else { return nil }
        return Double(hits) / Double(all)
    }

    /// The beginning of the local hour in which the user most probably opens: the user's opens, shrunk towards those of
    /// all users.
    private func bestHour(
        of user: String, app: AppKey, zone: String?, from start: Timestamp, until end: Timestamp
    ) throws -> Timestamp? {
        let (own, all) = (
            try openHours(app: app, userID: user), try openHours(app: app, userID: Self.everybody)
        )
        let total = all.reduce(0, +)
        guard total > 0 else { return nil }
        var best: (at: Timestamp, score: Double)?
        var at = start
        // Later days have the same hours.
        let last = min(end, start + .seconds(86_400))
        while at < last {
            let reading = try reading(at: at, zone: zone, app: app)
            let hour = reading.milliseconds.floorDivided(by: 3_600_000)
            let index = Int(hour % 24)
            let score = own[index] + Self.priorOpens * (all[index] + 1) / (total + 24)
            if best.map({ score > $0.score }) ?? true { best = (at, score) }
            at = at + (Timestamp(milliseconds: (hour + 1) * 3_600_000) - reading)
        }
        return best?.at
    }
}

/// `spent_wake`: the last wake-ups of installations that ended within the hour, by address. A device that is
/// unregistered and registered again is the same phone, so its budget continues.
enum SpentWakeTable {
    /// Copies the wake-ups that an installation has spent, before its row is deleted or its device gets another
    /// address.
    static func keep(of device: DeviceKey, app: AppKey, now: Timestamp) -> SQL {
        """
        INSERT INTO spent_wake (app, address_key, woken_at, woken_before)
        SELECT d.app, d.address_key, i.woken_at, i.woken_before
        FROM installation i JOIN device d ON d.app = i.app AND d.seq = i.seq
        WHERE i.app = \(app) AND i.seq = \(device) AND i.woken_at > \(now - life)
        ON CONFLICT (app, address_key) DO UPDATE
        SET woken_at = excluded.woken_at, woken_before = excluded.woken_before
        """
    }

    static func find(_ addressKey: [UInt8], app: AppKey) -> SQL {
        "SELECT woken_at, woken_before FROM spent_wake WHERE app = \(app) AND address_key = \(addressKey)"
    }

    /// Rows that no budget counts.
    static func over(_ now: Timestamp) -> SQL { "woken_at <= \(now - life) ORDER BY woken_at" }

    private static let life = Duration.seconds(Limits.wakeBudgetSeconds + Limits.wakeLatenessSeconds)
}

extension StoreSession {
    func keepSpentWakes(of device: DeviceKey, app: AppKey, now: Timestamp) throws {
        try connection.post(SpentWakeTable.keep(of: device, app: app, now: now))
    }

    func spentWakes(app: AppKey, address: Address) throws -> [Timestamp] {
        let spent = try connection.first(SpentWakeTable.find(DeviceTable.addressKey(of: address), app: app)) {
            row -> [Timestamp?] in [try row.next(), try row.next()]
        }
        return spent?.compactMap { $0 } ?? []
    }
}
