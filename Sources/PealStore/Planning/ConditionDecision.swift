internal import PealCore

/// A condition over a range of keys whose sets have been read, so that only rows are left to test. All sets have the
/// same range.
indirect enum ConditionDecision {
    case and([ConditionDecision])
    case or([ConditionDecision])
    case not(ConditionDecision)
    case set(KeySet)
    case rows(RowTest)

    /// The devices for which the condition holds whatever their rows contain, and those for which it may hold.
    struct Bounds {
        var certain: KeySet
        var possible: KeySet
    }

    func bounds(in wanted: KeySet) -> Bounds {
        let nobody = KeySet(range: wanted.range)
        switch self {
        case .and(let parts):
            return parts.reduce(into: Bounds(certain: wanted, possible: wanted)) { bounds, part in
                let own = part.bounds(in: wanted)
                bounds.certain.formIntersection(own.certain)
                bounds.possible.formIntersection(own.possible)
            }
        case .or(let parts):
            return parts.reduce(into: Bounds(certain: nobody, possible: nobody)) { bounds, part in
                let own = part.bounds(in: wanted)
                bounds.certain.formUnion(own.certain)
                bounds.possible.formUnion(own.possible)
            }
        case .not(let part):
            let own = part.bounds(in: wanted)
            var bounds = Bounds(certain: wanted, possible: wanted)
            bounds.certain.subtract(own.possible)
            bounds.possible.subtract(own.certain)
            return bounds
        case .set(let keys):
            var set = keys
            set.formIntersection(wanted)
            return Bounds(certain: set, possible: set)
        case .rows(.always(let value)):
            let set = value ? wanted : nobody
            return Bounds(certain: set, possible: set)
        case .rows: return Bounds(certain: nobody, possible: wanted)
        }
    }

    func holds(_ key: DeviceKey, _ row: RowTest.Row) -> Bool {
        switch self {
        case .and(let parts): parts.allSatisfy { $0.holds(key, row) }
        case .or(let parts): parts.contains { $0.holds(key, row) }
        case .not(let part): !part.holds(key, row)
        case .set(let keys): keys.contains(key)
        case .rows(let test): test.passes(row)
        }
    }

    var needsDetail: Bool {
        switch self {
        case .and(let parts), .or(let parts): parts.contains(where: \.needsDetail)
        case .not(let part): part.needsDetail
        case .set: false
        case .rows(let test): test.needsDetail
        }
    }
}
