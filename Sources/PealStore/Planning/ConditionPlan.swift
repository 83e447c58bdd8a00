internal import PealCore

/// A condition as it is evaluated on one route: subscriptions and named devices as sets of keys, everything else row by
/// row. Conditions on rows that belong together are one test.
indirect enum ConditionPlan: Sendable, Hashable {
    case and([ConditionPlan])
    case or([ConditionPlan])
    case not(ConditionPlan)
    /// `isExcluded`: it is inside an odd number of negations, so devices that leave or join the topic count at once.
    case topic(Int64, isExcluded: Bool)
    case user(String)
    case device(DeviceID)
    case rows(RowTest)

    /// Whether it is a set of keys.
    var isSet: Bool {
        switch self {
        case .topic, .user, .device: true
        case .and, .or, .not, .rows: false
        }
    }

    /// How many separate tests of rows it has.
    var rowTestCount: Int {
        switch self {
        case .and(let parts), .or(let parts): parts.reduce(0) { $0 + $1.rowTestCount }
        case .not(let part): part.rowTestCount
        case .topic, .user, .device: 0
        case .rows: 1
        }
    }

    /// Whether it names a set of keys in several places.
    var repeatsSets: Bool {
        var seen: Set<ConditionPlan> = []
        return !hasOnlyNewSets(&seen)
    }

    private func hasOnlyNewSets(_ seen: inout Set<ConditionPlan>) -> Bool {
        switch self {
        case .and(let parts), .or(let parts): parts.allSatisfy { $0.hasOnlyNewSets(&seen) }
        case .not(let part): part.hasOnlyNewSets(&seen)
        case .topic, .user, .device: seen.insert(self).inserted
        case .rows: true
        }
    }
}

extension Condition {
    /// Whether devices' rows may be read for it, not only sets of keys.
    var readsRows: Bool {
        switch self {
        case .and, .or, .not: parts.contains { $0.condition.readsRows }
        case .topic, .user, .device, .platform: false
        case .segment, .locale, .timeZone, .attribute, .appVersion, .seen, .registered: true
        }
    }
}

/// A test of one device's row.
indirect enum RowTest: Sendable, Hashable {
    case always(Bool)
    case and([RowTest])
    case or([RowTest])
    case not(RowTest)
    /// The numbers of words.
    case locale(Set<Int64>)
    case timeZone(Int64)
    case seen(since: Timestamp)
    case registered(after: Timestamp)
    case attribute(String, [PreparedTest])
    case appVersion([PreparedTest])

    /// The columns of a device that the test reads.
    struct Row {
        var locale: Int64
        var zone: Int64
        var registeredAt: Timestamp
        var since: Timestamp
        var detail: DeviceDetail
    }

    var needsDetail: Bool {
        switch self {
        case .attribute, .appVersion: true
        case .and(let parts), .or(let parts): parts.contains(where: \.needsDetail)
        case .not(let part): part.needsDetail
        case .always, .locale, .timeZone, .seen, .registered: false
        }
    }

    func passes(_ row: Row) -> Bool {
        switch self {
        case .always(let value): value
        case .and(let parts): parts.allSatisfy { $0.passes(row) }
        case .or(let parts): parts.contains { $0.passes(row) }
        case .not(let part): !part.passes(row)
        case .locale(let numbers): numbers.contains(row.locale)
        case .timeZone(let number): row.zone == number
        case .seen(let start): row.registeredAt >= start
        case .registered(let instant): row.since > instant
        case .attribute(let name, let tests):
            tests.allSatisfy { $0.passes(attribute: row.detail.attributes[name]) }
        case .appVersion(let tests): tests.allSatisfy { $0.passes(version: row.detail.appVersion) }
        }
    }
}

/// Looks up the names in a condition, once for all ranges of a route.
struct ConditionPlanner {
    let session: StoreSession
    let app: AppKey
    let route: Route
    /// Ages are relative to this instant, so that they mean the same for the whole message.
    let cutoff: Timestamp

    func plan(_ condition: Condition, isExcluded: Bool = false) throws -> ConditionPlan {
        switch condition {
        case .and(let parts):
            return Self.joined(try parts.map { try plan($0, isExcluded: isExcluded) }, unit: true)
        case .or(let parts):
            return Self.joined(try parts.map { try plan($0, isExcluded: isExcluded) }, unit: false)
        case .not(let part):
            let part = try plan(part, isExcluded: !isExcluded)
            if case .rows(.always(let value)) = part { return .rows(.always(!value)) }
            if case .rows(let test) = part { return .rows(.not(test)) }
            return .not(part)
        case .topic(let name):
            guard let number = try session.livingTopicNumber(app: app, name: name, now: cutoff) else {
                return .rows(.always(false))
            }
            return .topic(number, isExcluded: isExcluded)
        case .user(let id): return .user(id)
        case .device(let id): return .device(id)
        case .segment(let name): throw PealError.invalid(Condition.fieldName, "there is no segment \(name)")
        case .platform(let platform): return .rows(.always(platform == route.platform))
        case .locale(let range): return .rows(.locale(try session.localeNumbers(in: range)))
        case .timeZone(let name):
            return .rows(try session.knownNumber(of: name, .timeZone).map { .timeZone($0) } ?? .always(false))
        case .attribute(let name, let tests): return .rows(.attribute(name, tests.map(PreparedTest.init(ofAttribute:))))
        case .appVersion(let tests): return .rows(.appVersion(tests.map(PreparedTest.init(ofVersion:))))
        case .seen(let days): return .rows(.seen(since: cutoff - Condition.age(days: days)))
        case .registered(let instant): return .rows(.registered(after: instant))
        }
    }

    /// Joins parts with AND (`unit` true) or OR (false): constants are evaluated, and tests of rows come last and
    /// together.
    private static func joined(_ parts: [ConditionPlan], unit: Bool) -> ConditionPlan {
        if parts.contains(.rows(.always(!unit))) { return .rows(.always(!unit)) }
        var tests: [RowTest] = []
        var others: [ConditionPlan] = []
        for part in parts {
            switch part {
            case .rows(.always): continue
            case .rows(let test): tests.append(test)
            case .and, .or, .not, .topic, .user, .device: others.append(part)
            }
        }
        if !tests.isEmpty { others.append(.rows(tests.count == 1 ? tests[0] : unit ? .and(tests) : .or(tests))) }
        switch others.count {
        case 0: return .rows(.always(unit))
        case 1: return others[0]
        default: return unit ? .and(others) : .or(others)
        }
    }
}
