internal import Foundation

/// How a message's moment is chosen.
public enum ExplorationMode: String, Sendable, Hashable, Codable {
    /// By the stopping rule.
    case greedy
    /// At random around the stopping rule: the better the moment, the more likely.
    case soft
    /// At the first wake after an instant drawn uniformly from the window.
    case uniform
}

/// The randomness in a message's delivery. It is derived from the message's id, so that server and phone agree on it
/// and a sequence of events can be replayed.
public struct ExplorationDraw: Sendable, Hashable {
    /// How closely a soft message follows the stopping rule.
    public static let sharpness = 8.0
    /// A soft message is shown, and withheld, with at least this probability at every wake.
    public static let leastChance = 0.01

    private let seed: UInt64

    /// - Parameter salt: one for each run of an experiment.
    public init(messageID: String, salt: String) {
        // FNV-1a over both names with U+001F between them.
        seed = "\(salt)\u{1F}\(messageID)".utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
    }

    /// The instant after which a uniform message is shown.
    /// - Returns: milliseconds since 1970, between start and end.
    public func target(start: Int64, end: Int64) -> Int64 {
        start + Int64(unit(1) * Double(max(end - start, 0)))
    }

    /// Whether the message is drawn at a wake with that probability.
    /// - Parameter wake: counts the message's wakes from 0.
    public func hits(_ chance: Double, atWake wake: Int) -> Bool { unit(2 + UInt64(max(wake, 0))) < chance }

    /// The probability that a soft message is shown at a wake that it reaches.
    public static func softChance(probability: Double, threshold: Double) -> Double {
        guard threshold > 0, threshold < 1, probability > 0, probability < 1 else {
            return probability >= threshold ? 1 - leastChance : leastChance
        }
        let margin = Logistic.logit(probability) - Logistic.logit(threshold)
        return leastChance + (1 - 2 * leastChance) * Logistic.probability(sharpness * margin)
    }

    /// The probability, before its target is drawn, that a uniform message is shown at a wake that it reaches.
    /// - Parameter previous: the previous wake, or the start of the window.
    public static func uniformChance(previous: Int64, now: Int64, end: Int64) -> Double {
        end > previous ? min(max(Double(now - previous) / Double(end - previous), 0), 1) : 1
    }

    /// The propensities of being shown at each wake and, last, at the deadline, from the probabilities at the wakes.
    public static func propensities(_ chances: [Double]) -> [Double] {
        var reached = 1.0
        var result: [Double] = []
        for chance in chances {
            result.append(reached * chance)
            reached *= 1 - chance
        }
        return result + [reached]
    }

    /// The `index`th number of the message's own sequence, in 0 ..< 1: SplitMix64.
    func unit(_ index: UInt64) -> Double {
        var mixed = seed &+ (index &+ 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ (mixed >> 31)) >> 11) / 9_007_199_254_740_992
    }
}
