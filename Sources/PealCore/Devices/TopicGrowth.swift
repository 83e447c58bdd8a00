/// How a topic grew: its current subscribers by the day on which they joined.
package struct TopicGrowth: Sendable, Hashable {
    /// Ascending, one for each day, the last one today.
    package let days: [Day]

    package struct Day: Sendable, Hashable {
        /// The beginning of the day, UTC.
        package let at: Timestamp
        /// Current subscribers that joined on it.
        package let joined: Int
        /// Current subscribers that had joined by its end.
        package let devices: Int
    }

    package static let dayMilliseconds: Int64 = 86_400_000

    /// - Parameters:
    ///   - joined: by days since 1970.
    ///   - total: all current subscribers.
    package init(joined: [Int64: Int], total: Int, days count: Int, now: Timestamp) {
        let today = now.milliseconds / Self.dayMilliseconds
        var devices = total
        var days: [Day] = []
        for number in (0..<Int64(max(1, count))).map({ today - $0 }) {
            let own = joined[number] ?? 0
            days.append(
                Day(at: Timestamp(milliseconds: number * Self.dayMilliseconds), joined: own, devices: devices))
            devices -= own
        }
        self.days = days.reversed()
    }
}
