internal import PealCore

/// `experiment_sum` and `experiment_count`: what messages contribute to their experiments, once it is final.
enum ExperimentSumTable {
    static let columns: Columns = """
        users, messages, opens, squared_messages, products, squared_opens, expected, expected_messages,
            expected_opens, squared_expected, cases
        """

    /// An arm's sums at the end of a day.
    static func past(_ arm: Arm, day: Int64, _ row: inout RowReader) throws -> ExperimentFacts.Past {
        let sums = try sums(&row)
        let cases: [UInt8]? = try row.next()
        return ExperimentFacts.Past(
            day: day, arm: arm, sums: sums, cases: try cases.map(MessageCasesCoding.decode) ?? .init())
    }

    private static func sums(_ row: inout RowReader) throws -> ExperimentSums {
        var sums = ExperimentSums()
        sums.users = try row.next()
        sums.messages = try row.next()
        sums.opens = try row.next()
        sums.squaredMessages = try row.next()
        sums.products = try row.next()
        sums.squaredOpens = try row.next()
        sums.expected = try row.next()
        sums.expectedMessages = try row.next()
        sums.expectedOpens = try row.next()
        sums.squaredExpected = try row.next()
        return sums
    }

    static func put(
        _ past: ExperimentFacts.Past, _ key: Key, _ run: ExperimentTable.RunRow, now: Timestamp
    ) -> SQL {
        let sums = past.sums
        let changing: [ColumnValue] = [
            ("users", sums.users), ("messages", sums.messages), ("opens", sums.opens),
            ("squared_messages", sums.squaredMessages), ("products", sums.products),
            ("squared_opens", sums.squaredOpens), ("expected", sums.expected),
            ("expected_messages", sums.expectedMessages), ("expected_opens", sums.expectedOpens),
            ("squared_expected", sums.squaredExpected), ("cases", MessageCasesCoding.encode(past.cases)),
            ("pruned_at", now),
        ]
        return """
            INSERT INTO experiment_sum \(row: [
                "app": key.app, "campaign_id": key.campaign, "salt": key.salt, "arm": past.arm,
                "day": past.day, "started_at": run.startedAt, "share": run.share, "per_user": run.isPerUser,
            ], changing)
            ON CONFLICT (app, campaign_id, salt, arm, day) DO UPDATE SET \(set: changing)
            """
    }

    static func all(_ key: Key) -> SQL {
        "SELECT day, arm, \(columns) FROM experiment_sum WHERE \(key.condition) ORDER BY day, arm"
    }

    /// The sums of an arm at the end of the last day that has some.
    static func newest(_ arm: Arm, _ key: Key) -> SQL {
        """
        SELECT day, \(columns) FROM experiment_sum WHERE \(key.condition) AND arm = \(arm)
        ORDER BY day DESC LIMIT 1
        """
    }

    /// The campaign's last experiment with sums, as a row of `experiment`.
    static func last(_ campaign: String, app: AppKey) -> SQL {
        """
        SELECT salt, share, per_user, started_at, NULL FROM experiment_sum
        WHERE app = \(app) AND campaign_id = \(campaign) ORDER BY started_at DESC LIMIT 1
        """
    }

    static func count(_ name: String, _ arm: Arm, _ count: Int, _ key: Key, now: Timestamp) -> SQL {
        """
        INSERT INTO experiment_count \(row: [
            "app": key.app, "campaign_id": key.campaign, "salt": key.salt, "arm": arm, "name": name,
            "n": count, "pruned_at": now,
        ])
        ON CONFLICT (app, campaign_id, salt, arm, name)
            DO UPDATE SET n = experiment_count.n + excluded.n, pruned_at = excluded.pruned_at
        """
    }

    static func counts(_ key: Key) -> SQL {
        "SELECT arm, name, n FROM experiment_count WHERE \(key.condition)"
    }

    static func deleteSums(_ key: Key) -> SQL { "DELETE FROM experiment_sum WHERE \(key.condition)" }
    static func deleteCounts(_ key: Key) -> SQL { "DELETE FROM experiment_count WHERE \(key.condition)" }

    /// One experiment of a campaign.
    struct Key {
        let app: AppKey
        let campaign: String
        let salt: String

        fileprivate var condition: SQL {
            "app = \(app) AND campaign_id = \(campaign) AND salt = \(salt)"
        }
    }

    /// The name of a way or a class of delays in `experiment_count`.
    static func name(_ way: ExperimentFacts.Way) -> String { "way.\(way.rawValue)" }
    static func name(delay index: Int) -> String { "delay.\(index)" }
}

/// The sums of guardrails: a version, and six numbers for each of the three.
enum MessageCasesCoding {
    private static let version: UInt8 = 1

    static func encode(_ cases: MessageCases) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(version)
        for sums in [cases.failed, cases.dismissed, cases.withoutSession] {
            for number in [
                sums.users, sums.cases, sums.occasions, sums.squaredCases, sums.products, sums.squaredOccasions,
            ] { writer.varint(UInt64(bitPattern: number)) }
        }
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws -> MessageCases {
        var reader = ByteReader(bytes)
        guard try reader.byte() == version else { throw PealError.damaged("the sums of guardrails") }
        var cases = MessageCases()
        for sums in [\MessageCases.failed, \.dismissed, \.withoutSession] {
            for number in [
                \CaseSums.users, \.cases, \.occasions, \.squaredCases, \.products, \.squaredOccasions,
            ] { cases[keyPath: sums][keyPath: number] = Int64(bitPattern: try reader.varint()) }
        }
        return cases
    }
}

extension StoreSession {
    typealias ExperimentKey = ExperimentSumTable.Key

    /// In ascending order of day.
    func pastSums(_ key: ExperimentKey) throws -> [ExperimentFacts.Past] {
        try connection.all(ExperimentSumTable.all(key)) { row in
            let (day, arm): (Int64, Arm) = (try row.next(), try row.next())
            return try ExperimentSumTable.past(arm, day: day, &row)
        }
    }

    /// Adds how messages that are in the sums reached users, and the delays of their opens.
    func addPastCounts(_ key: ExperimentKey, to facts: inout ExperimentFacts) throws {
        var counts: [Arm: [String: Int]] = [:]
        try connection.query(ExperimentSumTable.counts(key)) { row in
            let (arm, name): (Arm, String) = (try row.next(), try row.next())
            counts[arm, default: [:]][name] = try row.next()
        }
        for (arm, counts) in counts {
            for way in ExperimentFacts.Way.allCases {
                guard let count = counts[ExperimentSumTable.name(way)] else { continue }
                facts.deliveries.append(.init(arm: arm, way: way, messages: count))
            }
            for index in 0...ExperimentFacts.delayLimits.count {
                guard let count = counts[ExperimentSumTable.name(delay: index)] else { continue }
                facts.delays.append(.init(arm: arm, index: index, opens: count))
            }
        }
    }

    /// Adds messages to their experiments as soon as their outcomes are final, so that reading an experiment does not
    /// count all of its messages again.
    func sumOutcomes(_ now: Timestamp, _ limit: Int, after skipped: PruneCursor?) throws -> Int {
        var room = limit
        let due = try connection.all(ExperimentTable.final(by: now, limit: limit, after: skipped)) { row in
            (key: try PruneCursor(&row), campaign: try row.next(String.self))
        }
        for (key, campaign) in due where room > 0 {
            room -= 1 + (try naming(key.message) { id in try keepOutcomes(of: id, campaign, app: key.app, now: now) })
        }
        return limit - room
    }

    /// Adds a message to the totals of its users, and to the sums of its experiment, unless it was added before.
    /// - Returns: how many rows it changed, approximately.
    func keepOutcomes(of id: MessageID, _ campaign: String, app: AppKey, now: Timestamp) throws -> Int {
        guard try connection.execute(ExperimentTable.mark(id, app: app)) == 1,
            let experiment = try experimentRow(campaign, app: app),
            try isOfRun(id, since: experiment.changedAt, app: app)
        else { return 0 }
        let key = ExperimentKey(app: app, campaign: campaign, salt: experiment.salt)
        try connection.post(
            counts(of: id, app: app).map {
                ExperimentSumTable.count($0.name, $0.arm, $0.count, key, now: now)
            })
        let outcomes = try connection.all(ExperimentTable.outcomes(of: id, app: app, by: now)) { row in
            UserOutcome(
                user: try row.next(), arm: try row.next(), day: try row.next(), opens: try row.next(),
                former: try ExperimentTable.sum(&row), cases: try ExperimentTable.cases(&row),
                formerCases: try ExperimentTable.cases(&row))
        }
        try connection.execute(
            outcomes.map { ExperimentTable.count(opens: $0.opens, $0.cases, of: $0.user, campaign, app: app) })
        guard let day = outcomes.map(\.day).max() else { return 0 }
        for arm in Arm.allCases {
            let own = outcomes.filter { $0.arm == arm }
            if !own.isEmpty {
                try add(own, arm, day: day, key, experiment, now: now)
            }
        }
        return outcomes.count
    }

    /// What the message adds to the counters of its experiment.
    private func counts(of id: MessageID, app: AppKey) throws -> [(name: String, arm: Arm, count: Int)] {
        var counts: [(name: String, arm: Arm, count: Int)] = []
        for found in try deliveries(.message(id), app: app) {
            counts.append((ExperimentSumTable.name(found.way), found.arm, found.messages))
        }
        for found in try delays(.message(id), app: app) {
            counts.append((ExperimentSumTable.name(delay: found.index), found.arm, found.opens))
        }
        return counts
    }

    /// Messages of earlier runs do not count in the current one.
    private func isOfRun(_ id: MessageID, since start: Timestamp?, app: AppKey) throws -> Bool {
        guard let start else { return true }
        let createdAt: Timestamp? = try connection.value(
            "SELECT created_at FROM message WHERE \(MessageTable.matching(app, id))")
        return createdAt.map { $0 >= start } ?? false
    }

    /// A user's outcome of a message of an experiment, and the user's earlier sums.
    private struct UserOutcome {
        let user: String
        let arm: Arm
        let day: Int64
        let opens: Int64
        let former: ExperimentSums.User
        let cases: MessageCases.User
        let formerCases: MessageCases.User
    }

    /// Messages are added approximately in the order of their days; an earlier one counts with the last day.
    private func add(
        _ outcomes: [UserOutcome], _ arm: Arm, day: Int64, _ key: ExperimentKey, _ run: ExperimentTable.RunRow,
        now: Timestamp
    ) throws {
        let newest = try connection.first(ExperimentSumTable.newest(arm, key)) { row in
            let day: Int64 = try row.next()
            return try ExperimentSumTable.past(arm, day: day, &row)
        }
        var sums = newest?.sums ?? ExperimentSums()
        var cases = newest?.cases ?? MessageCases()
        for outcome in outcomes {
            cases.add(outcome.cases, to: outcome.formerCases)
            var user = outcome.former
            sums.remove(user)
            user.messages += 1
            user.opens += outcome.opens
            sums.add(user)
        }
        let past = ExperimentFacts.Past(day: max(day, newest?.day ?? day), arm: arm, sums: sums, cases: cases)
        try connection.execute(ExperimentSumTable.put(past, key, run, now: now))
    }
}
