internal import PealCore

/// Evaluates a condition over a range of keys. It holds one row at a time, and one bitmap for each level of nesting. If
/// rows or the same set of keys are tested in several places, it holds one bitmap for each set instead.
struct ConditionScan {
    let session: StoreSession
    let app: AppKey
    let route: Route
    let range: ClosedRange<DeviceKey>
    let cutoff: Cutoff

    /// If at least one key in three is wanted, reading the whole range costs less than looking up each one.
    private static let densityInverse: Int64 = 3
    /// How many keys are looked up at a time.
    private static let keysPerLookUp = 4096

    /// - Parameter wanted: the devices to search; nil for all active devices of the route.
    func matching(_ plan: ConditionPlan, in wanted: KeySet?) throws -> KeySet {
        guard plan.rowTestCount > 1 || plan.repeatsSets else { return try parts(of: plan, in: wanted) }
        guard range.upperBound - range.lowerBound < Limits.rangeKeys else { return try inPieces(plan, in: wanted) }
        var sets: [ConditionPlan: KeySet] = [:]
        let wanted = try wanted ?? required(by: plan, &sets)
        let decision = try decision(plan, &sets)
        let bounds = decision.bounds(in: wanted)
        var open = bounds.possible
        open.subtract(bounds.certain)
        var found = try rows(in: open, withDetail: decision.needsDetail) { decision.holds($0, $1) }
        found.formUnion(bounds.certain)
        return found
    }

    /// The sets of a condition are held together, so a wide range is divided.
    private func inPieces(_ plan: ConditionPlan, in wanted: KeySet?) throws -> KeySet {
        var found = KeySet(range: range)
        for first in stride(from: range.lowerBound, through: range.upperBound, by: Int(Limits.rangeKeys)) {
            let piece = first...min(range.upperBound, first + Limits.rangeKeys - 1)
            let keys = wanted.map { $0.keys(after: first - 1, limit: piece.count).filter(piece.contains) }
            if keys?.isEmpty == true { continue }
            let scan = ConditionScan(session: session, app: app, route: route, range: piece, cutoff: cutoff)
            let more = try scan.matching(plan, in: keys.map { KeySet(range: piece, $0) })
            for key in more.keys(after: first - 1, limit: piece.count) { found.insert(key) }
        }
        return found
    }

    /// The devices of a set that the condition requires; without one, all.
    private func required(by plan: ConditionPlan, _ sets: inout [ConditionPlan: KeySet]) throws -> KeySet {
        guard case .and(let parts) = plan, let part = parts.first(where: \.isSet) else { return try everybody() }
        return try set(part, &sets)
    }

    private func set(_ plan: ConditionPlan, _ sets: inout [ConditionPlan: KeySet]) throws -> KeySet {
        let set = try sets[plan] ?? parts(of: plan, in: nil)
        sets[plan] = set
        return set
    }

    /// Reads the sets of keys in a plan, each once.
    private func decision(_ plan: ConditionPlan, _ sets: inout [ConditionPlan: KeySet]) throws -> ConditionDecision {
        switch plan {
        case .and(let parts): return .and(try parts.map { try decision($0, &sets) })
        case .or(let parts): return .or(try parts.map { try decision($0, &sets) })
        case .not(let part): return .not(try decision(part, &sets))
        case .rows(let test): return .rows(test)
        case .topic, .user, .device: return .set(try set(plan, &sets))
        }
    }

    /// Evaluates the parts one after the other, each only for the devices that the earlier ones leave open.
    private func parts(of plan: ConditionPlan, in wanted: KeySet?) throws -> KeySet {
        switch plan {
        case .and(let parts):
            return try parts.reduce(wanted) { set, part in
                if let set, set.count == 0 { return set }
                return try self.parts(of: part, in: set)
            } ?? everybody()
        case .or(let parts):
            var found = KeySet(range: range)
            var rest = wanted
            for part in parts {
                let more = try self.parts(of: part, in: rest)
                found.formUnion(more)
                rest?.subtract(more)
            }
            return found
        case .not(let part):
            var set = try wanted ?? everybody()
            set.subtract(try parts(of: part, in: set))
            return set
        case .topic(let number, let isExcluded):
            return narrowed(try subscribers(to: number, isExcluded: isExcluded), to: wanted)
        case .user(let id):
            return narrowed(try named(DeviceTable.byUser, (app, id)), to: wanted)
        case .device(let id):
            return narrowed(try named(DeviceTable.byID, (app, id)), to: wanted)
        case .rows(.always(let value)):
            guard value else { return KeySet(range: range) }
            return try wanted ?? everybody()
        case .rows(let test): return try rows(in: wanted, withDetail: test.needsDetail) { test.passes($1) }
        }
    }

    /// - Parameter isExcluded: the members are to be left out, so those that joined after the cutoff count too.
    private func subscribers(to topic: Int64, isExcluded: Bool) throws -> KeySet {
        var set = KeySet(range: range)
        if isExcluded {
            let members = CollectionOfOne((app: app, topic: topic, route: route, range: range))
            try scan(SubscriptionTable.members, members, into: &set)
        } else {
            let stream = CollectionOfOne((app: app, topic: topic, route: route, range: range, cutoff: cutoff))
            try scan(SubscriptionTable.stream, stream, into: &set)
        }
        return set
    }

    private func everybody() throws -> KeySet {
        try find(DeviceTable.stream(app: app, route, range, cutoff: cutoff))
    }

    /// The devices that a look-up names and that joined the route before the cutoff.
    private func named<Input>(_ statement: Statement<Input>, _ input: Input) throws -> KeySet {
        var keys: [DeviceKey] = []
        try session.connection.scan(statement, CollectionOfOne(input)) { row in
            if row.int(1) == route.rawValue { keys.append(row.int(0)) }
        }
        var set = KeySet(range: range)
        try session.connection.scan(DeviceTable.properties, keys.map { (app: app, key: $0) }) { row in
            if isMember(row) { set.insert(row.int(0)) }
        }
        return set
    }

    private func find(_ sql: SQL) throws -> KeySet {
        var set = KeySet(range: range)
        try session.connection.scan(sql) { set.insert($0.int(0)) }
        return set
    }

    private func scan<Input>(
        _ statement: Statement<Input>, _ inputs: CollectionOfOne<Input>, into set: inout KeySet
    ) throws {
        try session.connection.scan(statement, inputs) { set.insert($0.int(0)) }
    }

    private func narrowed(_ set: KeySet, to wanted: KeySet?) -> KeySet {
        guard let wanted else { return set }
        var set = set
        set.formIntersection(wanted)
        return set
    }

    /// - Parameter passes: receives each device that is wanted.
    private func rows(
        in wanted: KeySet?, withDetail: Bool, passing passes: (DeviceKey, RowTest.Row) -> Bool
    ) throws -> KeySet {
        var found = KeySet(range: range)
        let count = wanted?.count
        if let wanted, let count, Int64(count) * Self.densityInverse < range.upperBound - range.lowerBound + 1 {
            var cursor = range.lowerBound - 1
            while case let keys = wanted.keys(after: cursor, limit: Self.keysPerLookUp), let last = keys.last {
                let statement = withDetail ? DeviceTable.propertiesWithDetail : DeviceTable.properties
                try session.connection.scan(statement, keys.map { (app: app, key: $0) }) { row in
                    if passes(row.int(0), try Self.properties(row, withDetail)) { found.insert(row.int(0)) }
                }
                cursor = last
            }
        } else {
            try session.connection.scan(DeviceTable.properties(app: app, range, withDetail: withDetail)) { row in
                guard wanted?.contains(row.int(0)) ?? isMember(row) else { return }
                if passes(row.int(0), try Self.properties(row, withDetail)) { found.insert(row.int(0)) }
            }
        }
        return found
    }

    private func isMember(_ row: any SQLRow) -> Bool {
        row.int(5) == DeviceTable.State.active.rawValue && row.int(6) == route.rawValue
            && cutoff.admits(Timestamp(milliseconds: row.int(4)))
    }

    private static func properties(_ row: any SQLRow, _ withDetail: Bool) throws -> RowTest.Row {
        RowTest.Row(
            locale: row.int(1), zone: row.int(2), registeredAt: Timestamp(milliseconds: row.int(3)),
            since: Timestamp(milliseconds: row.int(4)),
            detail: withDetail ? try DetailCoding.decode(row.withBytes(7) { Array($0) }) : DeviceDetail())
    }
}

/// The statements that read what conditions need of devices.
extension DeviceTable {
    private static let propertyColumns = "seq, locale, zone, registered_at, since, state, route"
    private static let columnsWithDetail =
        propertyColumns.split(separator: ", ").map { "d.\($0)" }.joined(separator: ", ") + ", x.detail"
    private static let joined = "device d LEFT JOIN device_detail x ON x.app = d.app AND x.seq = d.seq"

    /// All devices in a range of keys; the reader checks state and route (see `range`).
    static func properties(app: AppKey, _ range: ClosedRange<DeviceKey>, withDetail: Bool) -> SQL {
        withDetail
            ? """
            SELECT \(name: columnsWithDetail) FROM \(name: joined)
            WHERE d.app = \(app) AND d.seq BETWEEN \(range.lowerBound) AND \(range.upperBound) ORDER BY d.seq
            """
            : """
            SELECT \(name: propertyColumns) FROM device
            WHERE app = \(app) AND seq BETWEEN \(range.lowerBound) AND \(range.upperBound) ORDER BY seq
            """
    }

    static let properties = Statement<(app: AppKey, key: DeviceKey)>(
        "SELECT \(propertyColumns) FROM device WHERE app = $1 AND seq = $2"
    ) { [.int($0.app), .int($0.key)] }

    static let propertiesWithDetail = Statement<(app: AppKey, key: DeviceKey)>(
        "SELECT \(columnsWithDetail) FROM \(joined) WHERE d.app = $1 AND d.seq = $2"
    ) { [.int($0.app), .int($0.key)] }
}

extension StoreSession {
    /// Looks up what a condition names. The plan is for all ranges of the route.
    func plan(_ condition: Condition, app: AppKey, route: Route, cutoff: Cutoff) throws -> ConditionPlan {
        try ConditionPlanner(session: self, app: app, route: route, cutoff: cutoff.at).plan(condition)
    }

    /// The keys of `range` for which the condition holds now; `wanted` narrows them.
    func matching(
        _ plan: ConditionPlan, app: AppKey, route: Route, range: ClosedRange<DeviceKey>, cutoff: Cutoff,
        in wanted: KeySet?
    ) throws -> KeySet {
        try ConditionScan(session: self, app: app, route: route, range: range, cutoff: cutoff)
            .matching(plan, in: wanted)
    }
}
