internal import Foundation

/// When an audience opens the app, as the server learns every night: how the opens of a day are distributed over its
/// hours, how much users' days are shifted against each other, and how much their preferences differ. A phone compares
/// its user's habits with it.
public struct HourTemplate: Sendable, Hashable, Codable {
    /// The shifts considered, in hours; positive for users who get up later.
    public static let shifts = [-3, -2, -1, 0, 1, 2, 3, 5, 7, 9, 11]

    /// The share of opens in each hour of an unshifted day; 24 numbers that sum to 1.
    public let hours: [Double]
    /// The share of users with each of `shifts`; they sum to 1.
    public let shiftWeights: [Double]
    /// The standard deviation of users' preferences for each of the three harmonics.
    public let spreads: [Double]

    /// Beyond these limits, a sum could become infinite, and a preference could grow without limit.
    private static let shareMax = 1e6
    private static let spreadMax = 10.0

    /// Returns nil unless there are 24 hours, one weight per shift and three spreads, all above zero and plausible.
    public init?(hours: [Double], shiftWeights: [Double], spreads: [Double]) {
        guard hours.count == 24, shiftWeights.count == Self.shifts.count, spreads.count == Harmonics.count,
            (hours + shiftWeights).allSatisfy({ $0 > 0 && $0 <= Self.shareMax }),
            spreads.allSatisfy({ $0 > 0 && $0 <= Self.spreadMax })
        else { return nil }
        self.hours = Self.normalized(hours)
        self.shiftWeights = Self.normalized(shiftWeights)
        self.spreads = spreads
    }

    enum CodingKeys: String, CodingKey {
        case hours = "template"
        case shiftWeights = "shift"
        case spreads = "tau"
    }

    /// Reads and checks a template.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let hours = try container.decode([Double].self, forKey: .hours)
        let weights = try container.decode([Double].self, forKey: .shiftWeights)
        let spreads = try container.decode([Double].self, forKey: .spreads)
        guard let template = Self(hours: hours, shiftWeights: weights, spreads: spreads) else {
            throw ModelRefusal.malformed("hour template")
        }
        self = template
    }

    /// The template as stored in a model file: rounded to few digits.
    func rounded() -> Self { Self(rounding: hours, shiftWeights: shiftWeights, spreads: spreads) }

    /// A template of numbers that have already been checked.
    init(rounding hours: [Double], shiftWeights: [Double], spreads: [Double]) {
        func short(_ values: [Double]) -> [Double] { values.map { max($0.rounded(significantDigits: 4), 1e-6) } }
        self.hours = short(Self.normalized(hours))
        self.shiftWeights = short(Self.normalized(shiftWeights))
        self.spreads = short(spreads)
    }

    private static func normalized(_ values: [Double]) -> [Double] {
        let sum = values.reduce(0, +)
        // Rounded values are kept as they are, so that encoding and decoding change nothing.
        return abs(sum - 1) < 1e-3 ? values : values.map { $0 / sum }
    }
}

/// The smooth functions of the hour that describe a preference: sine and cosine with one, two and three periods a day.
package enum Harmonics {
    package static let count = 3
    package static let weightCount = 6

    /// The values at `hour`, in the order sin, cos, sin 2, cos 2, sin 3, cos 3.
    package static func values(at hour: Double) -> [Double] {
        (1...count).flatMap { period -> [Double] in
            let angle = 2 * Double.pi * Double(period) * hour / 24
            return [sin(angle), cos(angle)]
        }
    }

    /// The values in the middle of each hour, 24 × 6 in one row.
    package static let table: [Double] = (0..<24).flatMap { values(at: Double($0) + 0.5) }
}
