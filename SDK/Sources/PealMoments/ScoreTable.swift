/// How the sensed part of the score is distributed over the hours of a person's own clock: eight values, and for each
/// hour how likely they are. The stopping rule looks ahead with it.
public struct ScoreTable: Sendable, Hashable, Codable {
    /// Number of values in a table of a model file.
    public static let binCount = 8

    /// The mean score of each bin, ascending.
    public let bins: [Double]
    /// For each of 24 hours, the chance of each bin: 24 × the number of bins, in one row.
    public let chances: [Double]

    /// Returns nil unless bins and chances fit each other, are finite, and every hour has a chance above zero. The
    /// chances of an hour are scaled to sum to 1.
    public init?(bins: [Double], chances: [Double]) {
        guard !bins.isEmpty, chances.count == 24 * bins.count, bins.allSatisfy(\.isFinite),
            chances.allSatisfy({ $0.isFinite && $0 >= 0 })
        else { return nil }
        var scaled = chances
        for hour in 0..<24 {
            let row = hour * bins.count..<(hour + 1) * bins.count
            let sum = chances[row].reduce(0, +)
            guard sum > 0 else { return nil }
            for index in row { scaled[index] = chances[index] / sum }
        }
        self.bins = bins
        self.chances = scaled
    }

    /// Equally likely values, at every hour alike.
    public init(equallyLikely bins: [Double]) {
        self.bins = bins.isEmpty ? [0] : bins
        chances = [Double](repeating: 1 / Double(self.bins.count), count: 24 * self.bins.count)
    }

    enum CodingKeys: String, CodingKey {
        case bins
        case chances = "table"
    }

    /// Reads and checks a table whose chances are counted in thousandths.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let bins = try container.decode([Double].self, forKey: .bins)
        let chances = try container.decode([Int].self, forKey: .chances).map(Double.init)
        guard bins.count == Self.binCount, let table = Self(bins: bins, chances: chances) else {
            throw ModelRefusal.malformed("score table")
        }
        self = table
    }

    /// Writes chances as thousandths.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(bins.map { $0.rounded(significantDigits: 4) }, forKey: .bins)
        try container.encode(chances.map { Int(($0 * 1000).rounded()) }, forKey: .chances)
    }

    /// The table as a model file carries it: few digits, and chances in thousandths that sum to 1 for every hour.
    func rounded() -> Self {
        var thousandths = chances.map { ($0 * 1000).rounded() }
        for hour in 0..<24 {
            let row = hour * bins.count..<(hour + 1) * bins.count
            guard let largest = row.max(by: { thousandths[$0] < thousandths[$1] }) else { continue }
            thousandths[largest] += 1000 - thousandths[row].reduce(0, +)
        }
        return Self(bins: bins.map { $0.rounded(significantDigits: 4) }, chances: thousandths) ?? self
    }

    /// The mean of `value` over the scores at an hour, 0 to 23.
    @inline(__always)
    func mean(atHour hour: Int, _ value: (Double) -> Double) -> Double {
        var sum = 0.0
        let row = min(max(hour, 0), 23) * bins.count
        for bin in bins.indices { sum += chances[row + bin] * value(bins[bin]) }
        return sum
    }
}
