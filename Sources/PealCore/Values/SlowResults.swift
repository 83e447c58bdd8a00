/// Results that are slow to compute, kept for as long as they are worth it: a result is fresh until its age is
/// `ageFactor` times the time that it took, but for at least ten seconds and at most ten minutes. The owner guards them
/// with a lock and computes what is missing.
package struct SlowResults<Name: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A result of the last ten minutes.
    package struct Recent: Sendable {
        package let value: Value
        /// The time that it took.
        package let cost: Duration
        /// Otherwise it should be computed again; until then it may still be shown.
        package let isFresh: Bool
    }

    private struct Kept: Sendable {
        let value: Value
        let cost: Duration
        let madeAt: Duration
    }

    /// A page that is loaded again after a second must find the result.
    private static var ageMin: Duration { .seconds(10) }
    private static var ageMax: Duration { .seconds(600) }

    private let ageFactor: Int
    private let countMax: Int
    private var kept: [Name: Kept] = [:]

    /// - Parameter countMax: with more results, the oldest is dropped.
    package init(ageFactor: Int, countMax: Int) {
        self.ageFactor = ageFactor
        self.countMax = countMax
    }

    /// The result, unless it is older than ten minutes.
    /// - Parameter now: the uptime.
    package func recent(_ name: Name, at now: Duration) -> Recent? {
        guard let kept = kept[name], now - kept.madeAt < Self.ageMax else { return nil }
        let isFresh = now - kept.madeAt < max(kept.cost * ageFactor, Self.ageMin)
        return Recent(value: kept.value, cost: kept.cost, isFresh: isFresh)
    }

    /// Keeps a result.
    /// - Parameters:
    ///   - begun: the uptime when its computation began.
    ///   - end: the uptime when it ended.
    package mutating func keep(_ value: Value, for name: Name, from begun: Duration, to end: Duration) {
        kept[name] = Kept(value: value, cost: end - begun, madeAt: end)
        guard kept.count > countMax else { return }
        if let oldest = kept.min(by: { $0.value.madeAt < $1.value.madeAt }) { kept[oldest.key] = nil }
    }

    package mutating func remove(_ name: Name) { kept[name] = nil }
}
