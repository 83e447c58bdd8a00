internal import Foundation

/// What the server learns every night about when an audience opens the app: how the opens of a day spread over its
/// hours, how far people's days are shifted against each other, and how much their tastes differ. A phone reads its
/// owner's habits against it.
public struct HourTemplate: Sendable, Hashable, Codable {
    /// The shifts that are considered, in hours; above zero is a later riser.
    public static let shifts = [-3, -2, -1, 0, 1, 2, 3, 5, 7, 9, 11]

    /// The share of opens in each hour of an unshifted day; 24 numbers that sum to 1.
    public let hours: [Double]
    /// How common each of `shifts` is; they sum to 1.
    public let shiftWeights: [Double]
    /// The spread of people's preferences for each of the three harmonics.
    public let spreads: [Double]

    /// Returns nil unless there are 24 hours, as many weights as shifts and three spreads, all above zero and finite.
    public init?(hours: [Double], shiftWeights: [Double], spreads: [Double]) {
        let numbers = hours + shiftWeights + spreads
        guard hours.count == 24, shiftWeights.count == Self.shifts.count, spreads.count == Harmonics.count,
            numbers.allSatisfy({ $0.isFinite && $0 > 0 })
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

    /// The template as a model file carries it: numbers of few digits.
    func rounded() -> Self { Self(rounding: hours, shiftWeights: shiftWeights, spreads: spreads) }

    /// A template of numbers that are known to be sound.
    init(rounding hours: [Double], shiftWeights: [Double], spreads: [Double]) {
        func short(_ values: [Double]) -> [Double] { values.map { max($0.rounded(significantDigits: 4), 1e-6) } }
        self.hours = short(Self.normalized(hours))
        self.shiftWeights = short(Self.normalized(shiftWeights))
        self.spreads = short(spreads)
    }

    private static func normalized(_ values: [Double]) -> [Double] {
        let sum = values.reduce(0, +)
        // Values that came rounded are taken as they are, so that encoding and decoding change nothing.
        return abs(sum - 1) < 1e-3 ? values : values.map { $0 / sum }
    }
}

/// The smooth functions of the hour that describe a preference: sine and cosine of one, two and three periods a day.
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
