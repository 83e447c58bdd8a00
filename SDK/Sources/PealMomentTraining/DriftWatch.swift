internal import Foundation

/// Watches the residuals of a campaign's model, opened minus expected, for a change of their mean: the Page-Hinkley
/// test (Page 1954), in both directions. Each direction has a sum that grows with every deviation beyond the tolerance
/// and never falls below zero:
///
///     rising  ← max(0, rising  + (opened − expected) − tolerance · expected)
///     falling ← max(0, falling − (opened − expected) − tolerance · expected)
///
/// The tolerance is a share of the expected opens, so that false alarms are about equally rare at every rate: the
/// variance of the residuals grows with the rate too.
public struct DriftWatch: Sendable, Hashable {
    /// Changes of the rate of opens below this share of it are tolerated.
    public static let tolerance = 0.1
    /// The sum that raises an alarm, in opens.
    public static let limit = 25.0

    private var rising = 0.0
    private var falling = 0.0

    /// Before the first message.
    public init() {}

    /// Adds one matured message.
    public mutating func record(expected: Double, opened: Bool) {
        let residual = (opened ? 1 : 0) - expected
        let tolerated = Self.tolerance * expected
        rising = max(0, rising + residual - tolerated)
        falling = max(0, falling - residual - tolerated)
    }

    /// Whether there are clearly more, or fewer, opens than the model expects.
    public var hasDrifted: Bool { max(rising, falling) > Self.limit }
}

/// How much the distribution of a feature has shifted.
public enum PopulationStability {
    /// Above this value, a feature counts as shifted.
    public static let limit = 0.25

    /// The population stability index of two samples: Σ (q − p) · ln(q / p) over intervals, where p and q are their
    /// shares of the first and the second sample. The intervals lie between the deciles of the first sample.
    /// - Returns: 0 if one of the samples is empty.
    public static func index(reference: [Double], current: [Double]) -> Double {
        let sorted = reference.filter(\.isFinite).sorted()
        let fresh = current.filter(\.isFinite)
        guard let first = sorted.first, !fresh.isEmpty else { return 0 }
        var edges: [Double] = []
        for tenth in 1..<10 {
            let edge = sorted[tenth * sorted.count / 10]
            if edge > edges.last ?? first { edges.append(edge) }
        }
        // A signal that is seldom set, or always, has no decile above its lowest value.
        if edges.isEmpty {
            edges = [first]
            if let next = (sorted + fresh).filter({ $0 > first }).min() { edges.append(next) }
        }
        func shares(_ values: [Double]) -> [Double] {
            // Half a value more in each interval, so that none is empty.
            var counts = [Double](repeating: 0.5, count: edges.count + 1)
            for value in values { counts[edges.count { $0 <= value }] += 1 }
            let sum = counts.reduce(0, +)
            return counts.map { $0 / sum }
        }
        return zip(shares(sorted), shares(fresh)).reduce(0) { $0 + ($1.1 - $1.0) * log($1.1 / $1.0) }
    }
}
