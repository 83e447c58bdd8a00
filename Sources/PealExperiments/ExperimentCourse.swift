internal import PealCore

/// The arms of an experiment as they grow day by day. Other messages count from the last day that has sums, because
/// these contain all summed messages of a user. A user is one user in both.
struct ExperimentCourse {
    private struct Entry {
        let day: Int64
        let user: Int
        let messages: Int64
        let opens: Int64
    }

    private struct Total {
        let arm: Arm
        var sum: ExperimentSums.User
    }

    /// In the order of days.
    private let entries: [Entry]
    private var nextEntry = 0
    private let past: [ExperimentFacts.Past]
    private var nextPast = 0
    private let lastPast: Int64
    /// For each user: the messages in `past`, and the others that were added.
    private var totals: [Total]
    private var contextAware = ExperimentSums()
    private var traditional = ExperimentSums()
    /// The days on which something changes, in ascending order.
    let days: [Int64]

    init(_ facts: ExperimentFacts) {
        past = facts.past
        lastPast = facts.past.last?.day ?? .min
        totals = facts.users.map { Total(arm: $0.arm, sum: $0.past) }
        entries = facts.users.enumerated().flatMap { index, user in
            user.days.map {
                Entry(day: $0.number, user: index, messages: Int64($0.messages), opens: Int64($0.opens))
            }
        }.sorted { $0.day < $1.day }
        var days: [Int64] = []
        for day in past.map(\.day) + entries.lazy.map({ [lastPast] in max($0.day, lastPast) }) where days.last != day {
            days.append(day)
        }
        self.days = days
    }

    func sums(_ arm: Arm) -> ExperimentSums { arm == .contextAware ? contextAware : traditional }

    /// Adds what matured up to the end of `day`.
    mutating func advance(through day: Int64) {
        while nextPast < past.count, past[nextPast].day <= day {
            let item = past[nextPast]
            if item.arm == .contextAware { contextAware = item.sums } else { traditional = item.sums }
            nextPast += 1
        }
        guard day >= lastPast else { return }
        while nextEntry < entries.count, entries[nextEntry].day <= day {
            add(entries[nextEntry])
            nextEntry += 1
        }
    }

    private mutating func add(_ entry: Entry) {
        let before = totals[entry.user]
        totals[entry.user].sum.messages += entry.messages
        totals[entry.user].sum.opens += entry.opens
        let after = totals[entry.user].sum
        func change(_ sums: inout ExperimentSums) {
            sums.remove(before.sum)
            sums.add(after)
        }
        if before.arm == .contextAware { change(&contextAware) } else { change(&traditional) }
    }
}
