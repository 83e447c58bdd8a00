internal import PealCore

/// `frequency`: which messages devices got recently, in apps with a frequency cap. One row per device and message.
enum FrequencyTable {
    /// The newest rows that count, newest first.
    static let latest = Statement<(app: AppKey, key: DeviceKey, since: Timestamp, until: Timestamp, limit: Int64)>(
        """
        SELECT seq, at FROM frequency WHERE app = $1 AND seq = $2 AND at > $3 AND at <= $4 ORDER BY at DESC LIMIT $5
        """
    ) { [.int($0.app), .int($0.key), .time($0.since), .time($0.until), .int($0.limit)] }

    static let ofMessage = Statement<(app: AppKey, key: DeviceKey, message: MessageID)>(
        "SELECT seq FROM frequency WHERE app = $1 AND seq = $2 AND message = $3"
    ) { [.int($0.app), .int($0.key), .id($0.message)] }

    static func insert(_ key: DeviceKey, app: AppKey, message: MessageID, now: Timestamp) -> SQL {
        """
        INSERT INTO frequency (app, seq, at, message) VALUES (\(app), \(key), \(now), \(message))
        ON CONFLICT DO NOTHING
        """
    }

    static func delete(_ key: DeviceKey, app: AppKey, message: MessageID) -> SQL {
        "DELETE FROM frequency WHERE app = \(app) AND seq = \(key) AND message = \(message)"
    }

    /// Rows that no cap counts.
    static func over(_ now: Timestamp) -> SQL {
        "at <= \(now - .seconds(Limits.frequencyHoursMax * 3600)) ORDER BY at"
    }
}

extension StoreSession {
    /// A message that was counted before, in an earlier attempt or before a crash, is allowed.
    func reserve(
        _ keys: [DeviceKey], app: AppKey, message: MessageID, cap: FrequencyCap, now: Timestamp
    ) throws -> [DeviceKey: Timestamp] {
        let fresh = try uncounted(keys, app: app, message: message)
        let waits = try waits(fresh, app: app, cap: cap, now: now)
        try connection.execute(
            fresh.filter { waits[$0] == nil }.map {
                FrequencyTable.insert($0, app: app, message: message, now: now)
            })
        return waits
    }

    func waits(
        _ keys: [DeviceKey], app: AppKey, message: MessageID, cap: FrequencyCap, now: Timestamp
    ) throws -> [DeviceKey: Timestamp] {
        try waits(try uncounted(keys, app: app, message: message), app: app, cap: cap, now: now)
    }

    /// - Parameter keys: devices for which the message does not count yet.
    private func waits(
        _ keys: [DeviceKey], app: AppKey, cap: FrequencyCap, now: Timestamp
    ) throws -> [DeviceKey: Timestamp] {
        var (counts, oldest): ([DeviceKey: Int64], [DeviceKey: Timestamp]) = ([:], [:])
        // Rows that are far ahead are from before the clock was set back: they would count until it has caught up.
        let (since, until) = (now - cap.period, now + cap.period)
        try connection.scan(FrequencyTable.latest, keys.map { (app, $0, since, until, cap.messages) }) { row in
            counts[row.int(0), default: 0] += 1
            oldest[row.int(0)] = Timestamp(milliseconds: row.int(1))
        }
        var waits: [DeviceKey: Timestamp] = [:]
        for key in keys where counts[key, default: 0] >= cap.messages {
            waits[key] = oldest[key].map { $0 + cap.period }
        }
        return waits
    }

    func uncount(_ keys: [DeviceKey], app: AppKey, message: MessageID) throws {
        try connection.execute(keys.map { FrequencyTable.delete($0, app: app, message: message) })
    }

    /// Counts the message for each of the devices, once, whatever the cap allows.
    func count(_ keys: [DeviceKey], app: AppKey, message: MessageID, now: Timestamp) throws {
        try connection.post(
            try uncounted(keys, app: app, message: message).map {
                FrequencyTable.insert($0, app: app, message: message, now: now)
            })
    }

    private func uncounted(_ keys: [DeviceKey], app: AppKey, message: MessageID) throws -> [DeviceKey] {
        var counted: Set<DeviceKey> = []
        try connection.scan(FrequencyTable.ofMessage, keys.map { (app, $0, message) }) { counted.insert($0.int(0)) }
        return keys.filter { !counted.contains($0) }
    }

    /// Whether the message counts for a frequency cap of its app.
    func countsForCap(_ message: MessageID, app: AppKey) throws -> Bool {
        guard try hasCap(app) else { return false }
        let key = MessageChanges.MessageKey(app: app, message: message)
        if let known = memo.counted[key] { return known }
        let counts = try !alertTerms(app: app, message: message).isTransactional
        memo.counted[key] = counts
        return counts
    }

    private func hasCap(_ app: AppKey) throws -> Bool {
        if let known = memo.caps[app] { return known }
        let has = try self.app(key: app)?.settings.rules.frequencyCap != nil
        memo.caps[app] = has
        return has
    }
}
