internal import Foundation

/// An hour of a user's own day.
public struct OwnHour: Sendable, Hashable {
    /// 0 to 23.
    public let hour: Int
    /// Whether it is Saturday or Sunday, when people do other things at the same hour.
    public let isWeekend: Bool

    /// An hour; the nearest of a day's 24.
    public init(hour: Int, isWeekend: Bool) {
        self.hour = min(max(hour, 0), 23)
        self.isWeekend = isWeekend
    }

    /// Hours of a weekday, then those of a weekend day.
    package static let count = 48
    package var row: Int { hour + (isWeekend ? 24 : 0) }
}

/// The distribution of the sensed part of the score over the hours of a user's own clock: eight values, and their
/// probabilities for each hour of weekdays and weekends. The stopping rule uses it to look ahead.
public struct ScoreTable: Sendable, Hashable, Codable {
    /// The number of values in a model file's table.
    public static let binCount = 8

    /// The mean score of each bin, ascending.
    public let bins: [Double]
    /// The probability of each bin for each hour of weekdays, then of weekends: 48 × the number of bins, in one row.
    public let chances: [Double]

    /// Returns nil unless bins and probabilities match in number, are finite, and every hour has a probability above
    /// zero. The probabilities of an hour are scaled to sum to 1.
    public init?(bins: [Double], chances: [Double]) {
        guard !bins.isEmpty, chances.count == OwnHour.count * bins.count, bins.allSatisfy(\.isFinite),
            chances.allSatisfy({ $0.isFinite && $0 >= 0 })
        else { return nil }
        var scaled = chances
        for hour in 0..<OwnHour.count {
            let row = hour * bins.count..<(hour + 1) * bins.count
            let sum = chances[row].reduce(0, +)
            guard sum > 0 else { return nil }
            for index in row { scaled[index] = chances[index] / sum }
        }
        self.bins = bins
        self.chances = scaled
    }

    /// Equally likely values at every hour.
    public init(equallyLikely bins: [Double]) {
        self.bins = bins.isEmpty ? [0] : bins
        chances = [Double](repeating: 1 / Double(self.bins.count), count: OwnHour.count * self.bins.count)
    }

    enum CodingKeys: String, CodingKey {
        case bins
        case chances = "table"
    }

    /// Reads and checks a table with probabilities in hundredths, one byte for each.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let bins = try container.decode([Double].self, forKey: .bins)
        let chances = try container.decode(Data.self, forKey: .chances).map(Double.init)
        guard bins.count == Self.binCount, let table = Self(bins: bins, chances: chances) else {
            throw ModelRefusal.malformed("score table")
        }
        self = table
    }

    /// Writes probabilities in hundredths, one byte for each.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(bins.map { $0.rounded(significantDigits: 4) }, forKey: .bins)
        try container.encode(Data(chances.map { UInt8(($0 * 100).rounded()) }), forKey: .chances)
    }

    /// The table as stored in a model file: few digits, and probabilities in hundredths that sum to 1 for every hour.
    func rounded() -> Self {
        var hundredths = chances.map { ($0 * 100).rounded() }
        for hour in 0..<OwnHour.count {
            let row = hour * bins.count..<(hour + 1) * bins.count
            guard let largest = row.max(by: { hundredths[$0] < hundredths[$1] }) else { continue }
            hundredths[largest] += 100 - hundredths[row].reduce(0, +)
        }
        return Self(bins: bins.map { $0.rounded(significantDigits: 4) }, chances: hundredths) ?? self
    }

    /// The mean of `value` over the scores at an hour.
    @inline(__always)
    func mean(at hour: OwnHour, _ value: (Double) -> Double) -> Double {
        var sum = 0.0
        let row = hour.row * bins.count
        for bin in bins.indices { sum += chances[row + bin] * value(bins[bin]) }
        return sum
    }
}
