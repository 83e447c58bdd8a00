internal import PealCore

extension StoreSession {
    /// The most rows that an estimate reads; a longer stream is estimated from its density.
    private static let sampleMax = 4096
    private static let sampleMin = 16

    func audienceEstimate(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> [Platform: Int] {
        let resolved = try resolve(app: app, audience, environment: environment, now: now)
        var platforms: [Platform: Int] = [:]
        for route in resolved.routes {
            let count = try estimate(app: app, resolved, route, now: now)
            if count > 0 { platforms[route.platform, default: 0] += count }
        }
        return platforms
    }

    func audienceCount(
        app: AppKey, _ audience: Audience, environment: Environment?, now: Timestamp
    ) throws -> [Platform: Int] {
        let resolved = try resolve(app: app, audience, environment: environment, isExact: true, now: now)
        let lastKey = try lastDeviceKey(app: app)
        var platforms: [Platform: Int] = [:]
        for route in resolved.routes {
            var count = resolved.addresses[route]?.count ?? 0
            if resolved.predicate.isList {
                count += resolved.keys[route]?.count ?? 0
            } else {
                let ranges = KeyRangePlan(lastKey: lastKey, audience: 0, keysMax: resolved.rangeKeysMax)
                count += try countStreams(
                    app: app, resolved, route, in: (0..<ranges.count).lazy.map(ranges.range), now: now)
            }
            if count > 0 { platforms[route.platform, default: 0] += count }
        }
        return platforms
    }

    private func countStreams(
        app: AppKey, _ resolved: ResolvedAudience, _ route: Route, in ranges: some Sequence<ClosedRange<DeviceKey>>,
        now: Timestamp
    ) throws -> Int {
        var predicate = resolved.predicate
        predicate.hasKeys = false
        // There is no message yet: streams depend on app and route only.
        let id = Slice.ID(app: app, message: MessageID(high: 0, low: 0), route: route, rangeStart: 0, part: 0)
        let cutoff = cutoff(at: now, now: now)
        let plan = try predicate.condition.map { try self.plan($0, app: app, route: route, cutoff: cutoff) }
        return try ranges.reduce(0) { count, range in
            var set = try streams(predicate, plan, of: id, range: range, cutoff: cutoff, namesAreNew: true)
            for key in resolved.keys[route] ?? [] where range.contains(key) { set.insert(key) }
            try narrow(&set, predicate, plan, app: app, route: route, range: range, cutoff: cutoff)
            return count + set.count
        }
    }

    /// The approximate number of the route's devices in the audience; 0 only when there are none.
    func estimate(app: AppKey, _ resolved: ResolvedAudience, _ route: Route, now: Timestamp) throws -> Int {
        let addresses = resolved.addresses[route]?.count ?? 0
        if resolved.predicate.isList { return addresses + (resolved.keys[route]?.count ?? 0) }
        return addresses + (try keyEstimate(app: app, resolved, route, now: now))
    }

    /// The part of `estimate` that has keys, for an audience that is not a list.
    func keyEstimate(app: AppKey, _ resolved: ResolvedAudience, _ route: Route, now: Timestamp) throws -> Int {
        let whole = try estimateWithoutCondition(app: app, resolved, route)
        guard whole > 0, let condition = resolved.predicate.condition else { return whole }
        let lastKey = try lastDeviceKey(app: app)
        let sample = Self.conditionSample(condition)
        if lastKey <= sample { return try countStreams(app: app, resolved, route, in: [1...lastKey], now: now) }
        return max(1, try share(app: app, resolved, route, lastKey: lastKey, sample: sample, now: now, of: whole))
    }

    private static let conditionSampleMax: DeviceKey = 1024
    private static let conditionSampleMin: DeviceKey = 64

    /// How many keys are read to estimate how many devices meet a condition: all keys of a small app, otherwise a
    /// quarter of this number at each of four points. The writer waits meanwhile, so a larger condition has a smaller
    /// sample.
    private static func conditionSample(_ condition: Condition) -> DeviceKey {
        let keys = DeviceKey(Limits.conditionTestsWhilePlanningMax / condition.size)
        return max(conditionSampleMin, min(conditionSampleMax, keys))
    }

    /// The estimated part of `whole` that meets the condition, from a sample.
    private func share(
        app: AppKey, _ resolved: ResolvedAudience, _ route: Route, lastKey: DeviceKey, sample: DeviceKey,
        now: Timestamp, of whole: Int
    ) throws -> Int {
        var unconditional = resolved
        unconditional.predicate.condition = nil
        let width = sample / 4
        let ranges = (DeviceKey(0)..<4).map { quarter in
            let first = (lastKey - width) * quarter / 3 + 1
            return first...(first + width - 1)
        }
        let met = try countStreams(app: app, resolved, route, in: ranges, now: now)
        let all = try countStreams(app: app, unconditional, route, in: ranges, now: now)
        return all == 0 ? whole : Int(Double(whole) * Double(met) / Double(all))
    }

    private func estimateWithoutCondition(app: AppKey, _ resolved: ResolvedAudience, _ route: Route) throws -> Int {
        let predicate = resolved.predicate
        let all = try sampled(.all(app: app, route), rowsMax: Self.sampleMax)
        guard all > 0, !predicate.includesAll else { return all }
        let rowsMax = max(Self.sampleMin, Self.sampleMax / max(1, predicate.topics.count))
        var count = resolved.keys[route]?.count ?? 0
        for topic in predicate.topics {
            count += try sampled(.topic(topic, app: app, route), rowsMax: rowsMax)
        }
        return min(count, all)
    }

    /// The length of a stream: counted if the stream is short, otherwise extrapolated from the density of its first
    /// rows.
    private func sampled(_ stream: StreamSample, rowsMax: Int) throws -> Int {
        let read = try connection.first(stream.first(rowsMax)) {
            row -> (count: Int, first: DeviceKey, last: DeviceKey) in
            (try row.next(), try row.next(), try row.next())
        }
        guard let read, read.count == rowsMax, let end: DeviceKey = try connection.value(stream.last) else {
            return read?.count ?? 0
        }
        let density = Double(read.count) / Double(read.last - read.first + 1)
        return max(read.count, Int(density * Double(end - read.first + 1)))
    }
}

/// The two statements that estimate the length of a stream of devices: its first rows, and its last key.
struct StreamSample {
    let first: (_ rowsMax: Int) -> SQL
    let last: SQL

    private init(_ stream: SQL) {
        first = { rowsMax in
            "SELECT COUNT(*), MIN(seq), MAX(seq) FROM (\(stream) ORDER BY seq LIMIT \(rowsMax)) sample"
        }
        last = "\(stream) ORDER BY seq DESC LIMIT 1"
    }

    static func all(app: AppKey, _ route: Route) -> StreamSample {
        StreamSample(
            """
            SELECT seq FROM device
            WHERE app = \(app) AND route = \(route) AND state = \(code: DeviceTable.State.active)
            """)
    }

    static func topic(_ topic: Int64, app: AppKey, _ route: Route) -> StreamSample {
        StreamSample("SELECT seq FROM topic_member WHERE app = \(app) AND route = \(route) AND topic = \(topic)")
    }
}
