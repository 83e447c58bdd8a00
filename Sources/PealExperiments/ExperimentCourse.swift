internal import PealCore
internal import PealMomentTraining

/// The arms of an experiment as they grow day by day.
struct ExperimentCourse {
    private struct Entry {
        let day: Int64
        let user: Int
        let messages: Int
        let opens: Int
    }

    private struct Total {
        let arm: Arm
        var messages = 0
        var opens = 0
    }

    /// In the order of days.
    private let entries: [Entry]
    private var next = 0
    private var totals: [Total]
    private(set) var contextAware = ArmSums()
    private(set) var traditional = ArmSums()
    /// The days on which windows matured, in ascending order.
    let days: [Int64]

    init(_ users: [ExperimentFacts.User]) {
        totals = users.map { Total(arm: $0.arm) }
        entries = users.enumerated().flatMap { index, user in
            user.days.map { Entry(day: $0.number, user: index, messages: $0.messages, opens: $0.opens) }
        }.sorted { $0.day < $1.day }
        days = entries.reduce(into: []) { days, entry in if days.last != entry.day { days.append(entry.day) } }
    }

    /// Adds what matured up to the end of `day`.
    mutating func advance(through day: Int64) {
        while next < entries.count, entries[next].day <= day {
            add(entries[next])
            next += 1
        }
    }

    private mutating func add(_ entry: Entry) {
        let before = totals[entry.user]
        let (messages, opens) = (before.messages + entry.messages, before.opens + entry.opens)
        totals[entry.user].messages = messages
        totals[entry.user].opens = opens
        func change(_ sums: inout ArmSums) {
            sums.remove(messages: before.messages, opens: before.opens)
            sums.add(messages: messages, opens: opens)
        }
        if before.arm == .contextAware { change(&contextAware) } else { change(&traditional) }
    }
}
