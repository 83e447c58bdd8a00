internal import PealCore

/// `statistics`: the counts of each minute, over all messages of an app except tests. The Pruner sums old minutes into
/// hours, and old hours into days, so that every count is in exactly one row.
enum StatisticsTable {
    typealias Step = Statistics.Step

    private static let counts: [(name: String, path: any WritableKeyPath<Statistics, Int> & Sendable)] = [
        ("accepted", \.accepted), ("rejected", \.rejected), ("retired", \.retired), ("expired", \.expired),
        ("suppressed", \.suppressed), ("received", \.received), ("opened", \.opened),
        ("content_opened", \.contentOpened),
    ]
    private static let columns = SQL(text: counts.map(\.name).joined(separator: ", "), values: [])

    static func add(_ item: Statistics, _ step: Step, app: AppKey) -> SQL {
        """
        INSERT INTO statistics \(row: [
            "app": app, "span": step.seconds, "at": step.start(of: item.at),
        ], counts.map { ($0.name, item[keyPath: $0.path]) })
        ON CONFLICT (app, span, at) DO UPDATE SET \(adding)
        """
    }

    private static let adding = SQL(
        text: counts.map { name, _ in "\(name) = statistics.\(name) + excluded.\(name)" }.joined(separator: ", "),
        values: [])

    static func find(app: AppKey, _ step: Step, from: Timestamp, to: Timestamp) -> SQL {
        """
        SELECT at, \(columns) FROM statistics
        WHERE app = \(app) AND span = \(step.seconds) AND at >= \(step.start(of: from)) AND at < \(to)
        """
    }

    static func statistics(_ row: inout RowReader) throws -> Statistics {
        var item = Statistics(at: try row.next())
        for count in counts { item[keyPath: count.path] = try row.next() }
        return item
    }

    static func old(_ step: Step, before end: Timestamp, limit: Int) -> SQL {
        """
        SELECT app, at, \(columns) FROM statistics WHERE span = \(step.seconds) AND at < \(end)
        ORDER BY at LIMIT \(limit)
        """
    }

    static func delete(_ at: Timestamp, _ step: Step, app: AppKey) -> SQL {
        "DELETE FROM statistics WHERE app = \(app) AND span = \(step.seconds) AND at = \(at)"
    }
}

/// The key of a row: an app and a minute.
private struct StatisticsMinute: Hashable, Sendable {
    let app: AppKey
    let at: Timestamp
}

private typealias StatisticsSums = [StatisticsMinute: Statistics]

extension StoreSession {
    func statistics(app: AppKey, from: Timestamp, to: Timestamp) throws -> [Statistics] {
        try Statistics.Step.allCases.flatMap { step in
            try connection.all(
                StatisticsTable.find(app: app, step, from: from, to: to), StatisticsTable.statistics)
        }
    }

    /// Adds the counts of one group of changes, with one statement for each app and minute.
    func addStatistics(_ counted: [(app: AppKey, item: Statistics)]) throws {
        var sums = connection.commitWork?.value("statistics") ?? StatisticsSums()
        for (app, item) in counted where !item.isZero {
            let at = Statistics.Step.minute.start(of: item.at)
            sums[StatisticsMinute(app: app, at: at), default: Statistics(at: at)].add(item)
        }
        guard let work = connection.commitWork else { return try add(sums) }
        work.set("statistics", sums) { try add($0) }
    }

    private func add(_ sums: StatisticsSums) throws {
        // In the order of the key, so that two processes never wait for each other.
        let rows = sums.sorted { ($0.key.app, $0.key.at) < ($1.key.app, $1.key.at) }
        try connection.post(rows.map { StatisticsTable.add($0.value, .minute, app: $0.key.app) })
    }

    /// Sums up old rows, and deletes very old ones.
    func pruneStatistics(_ now: Timestamp, _ limit: Int) throws -> Int {
        let minutes = now - .seconds(Limits.statisticsMinutesLifeSeconds)
        let hours = now - .seconds(Limits.statisticsHoursLifeSeconds)
        var count = try fold(.minute, into: .hour, before: minutes, limit: limit)
        count += try fold(.hour, into: .day, before: hours, limit: limit - count)
        let days = now - .seconds(Limits.statisticsDaysLifeSeconds)
        return try count + fold(.day, into: nil, before: days, limit: limit - count)
    }

    private func fold(
        _ step: Statistics.Step, into longer: Statistics.Step?, before end: Timestamp, limit: Int
    ) throws -> Int {
        guard limit > 0 else { return 0 }
        let old = try connection.all(StatisticsTable.old(step, before: end, limit: limit)) { row in
            (app: try row.next(AppKey.self), item: try StatisticsTable.statistics(&row))
        }
        for (app, item) in old {
            if let longer { try connection.post(StatisticsTable.add(item, longer, app: app)) }
            try connection.post(StatisticsTable.delete(item.at, step, app: app))
        }
        return old.count
    }
}
