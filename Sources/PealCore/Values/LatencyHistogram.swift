/// Counts durations in buckets, for a Prometheus histogram.
package struct LatencyHistogram: Sendable, Hashable {
    /// The upper bounds of the buckets in seconds; the last bucket has none.
    package static let bounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]

    /// How many durations are in each bucket, not cumulative.
    package private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    /// The sum of all durations in seconds.
    package private(set) var sum = 0.0

    package init() {}

    package var count: Int { counts.reduce(0, +) }

    /// Counts `times` equal durations.
    package mutating func add(_ duration: Duration, times: Int = 1) {
        let (seconds, attoseconds) = duration.components
        let value = Double(seconds) + Double(attoseconds) / 1e18
        counts[Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count] += times
        sum += value * Double(times)
    }
}
