internal import Foundation

/// Watches the residuals of a campaign's model, opened minus expected, for a change of their mean: the Page-Hinkley
/// test, in both directions.
public struct DriftWatch: Sendable, Hashable, Codable {
    /// Changes of the mean below this are tolerated.
    public let tolerance: Double
    /// The accumulated deviation that raises an alarm.
    public let limit: Double
    private var rising = 0.0
    private var falling = 0.0

    /// - Parameters:
    ///   - tolerance: in opens per message.
    ///   - limit: in opens.
    public init(tolerance: Double = 0.005, limit: Double = 25) {
        self.tolerance = tolerance
        self.limit = limit
    }

    /// Adds one matured message.
    public mutating func record(expected: Double, opened: Bool) {
        let residual = (opened ? 1 : 0) - expected
        rising = max(0, rising + residual - tolerance)
        falling = max(0, falling - residual - tolerance)
    }

    /// Whether there are clearly more, or fewer, opens than the model expects.
    public var hasDrifted: Bool { max(rising, falling) > limit }
}

/// How much the distribution of a feature has shifted.
public enum PopulationStability {
    /// Above this value, a feature counts as shifted.
    public static let limit = 0.25

    /// The population stability index of two samples over the deciles of the first; nil for a sample without spread.
    public static func index(reference: [Double], current: [Double]) -> Double {
        let sorted = reference.filter(\.isFinite).sorted()
        let fresh = current.filter(\.isFinite)
        guard let first = sorted.first, let last = sorted.last, first < last, !fresh.isEmpty else { return 0 }
        var edges: [Double] = []
        for tenth in 1..<10 {
            let edge = sorted[tenth * sorted.count / 10]
            if edge > edges.last ?? first { edges.append(edge) }
        }
        func shares(_ values: [Double]) -> [Double] {
            var counts = [Double](repeating: 0.5, count: edges.count + 1)
            for value in values { counts[edges.count { $0 <= value }] += 1 }
            let sum = counts.reduce(0, +)
            return counts.map { $0 / sum }
        }
        return zip(shares(sorted), shares(fresh)).reduce(0) { $0 + ($1.1 - $1.0) * log($1.1 / $1.0) }
    }
}
