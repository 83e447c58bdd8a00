internal import Foundation

/// How often a phone's scheduled wakes arrive: a beta distribution with exponential forgetting. It starts with the
/// audience's rate, weighted as a few observations.
public struct WakeRate: Sendable, Hashable, Codable {
    /// The half-life of an observation.
    public static let halfLife: Int64 = 3 * 86_400_000
    /// The weight of the audience's rate, in wakes.
    public static let priorWakes = 4.0

    private var arrived: Double
    private var missed: Double
    private let prior: Double
    private var asOf: Int64

    /// - Parameters:
    ///   - prior: the rate of the audience, from the model.
    ///   - now: milliseconds since 1970.
    public init(prior: Double, now: Int64) {
        self.prior = min(max(prior, 0.01), 0.99)
        (arrived, missed, asOf) = (0, 0, now)
    }

    /// Records a scheduled wake.
    public mutating func record(hasArrived: Bool, now: Int64) {
        let age = max(now - asOf, 0)
        let kept = pow(0.5, Double(age) / Double(Self.halfLife))
        arrived = arrived * kept + (hasArrived ? 1 : 0)
        missed = missed * kept + (hasArrived ? 0 : 1)
        asOf = max(now, asOf)
    }

    /// The probability that the next scheduled wake arrives.
    public var chance: Double {
        (arrived + Self.priorWakes * prior) / (arrived + missed + Self.priorWakes)
    }
}
