internal import Foundation

/// What people typically do when a phone wakes, such as sleep, work or travel, as far as signals show it: eight groups
/// of wakes that the server found by likeness alone. A phone recognizes the situation of a wake by Bayes' rule from how
/// frequent each situation is at this hour and how likely it makes each signal.
public struct Situations: Sendable, Hashable {
    /// The number of situations.
    public static let count = 8
    /// The size of `bytes`.
    public static let byteCount = count * (OwnHour.count + flags.count + 2)

    /// The signals that are true or false, as indices of sensed features.
    package static let flags = [0, 2, 3, 4, 5, 6, 7, 10, 11]
    /// The index of the screen's brightness, which varies normally within a situation.
    package static let brightness = 8

    /// The numbers as a model file carries them, by situation within each: shares of 48 hours as multiples of the
    /// hour's largest, log-odds of the flags, mean brightness and its standard deviation.
    public let bytes: [UInt8]
    /// The probability of each situation at each hour: 48 × 8 in one row.
    private let shares: [Double]
    /// The log-odds of each flag, and the log-likelihood of no flag being set: 8 for each.
    private let odds: [Double]
    private let base: [Double]
    private let means: [Double]
    private let deviations: [Double]

    /// One situation under eight names: signals say nothing about it.
    public static let unknown = Self(
        shares: [Double](repeating: 1, count: OwnHour.count * count),
        chances: [Double](repeating: 0.5, count: flags.count * count), means: [Double](repeating: 0.5, count: count),
        deviations: [Double](repeating: 0.25, count: count))

    /// Situations as learned, rounded to what a model file carries.
    /// - Parameters:
    ///   - shares: 8 for each hour of weekdays and weekends.
    ///   - chances: the probability that a flag is set; 8 for each flag.
    ///   - means: of brightness in each situation.
    ///   - deviations: its standard deviations.
    package init(shares: [Double], chances: [Double], means: [Double], deviations: [Double]) {
        var bytes: [UInt8] = []
        for row in stride(from: 0, to: shares.count, by: Self.count) {
            let largest = max(shares[row..<row + Self.count].max() ?? 1, 1e-9)
            bytes += shares[row..<row + Self.count].map { Self.byte($0 / largest * 255) }
        }
        bytes += chances.map { Self.byte(Logistic.logit(min(max($0, 0.005), 0.995)) * Self.oddsScale + 128) }
        bytes += (means + deviations).map { Self.byte($0 * 255) }
        self.init(checked: bytes)
    }

    /// Reads what `bytes` returned; nil unless there are as many bytes as a model file carries, all above zero.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, bytes.allSatisfy({ $0 > 0 }) else { return nil }
        self.init(checked: bytes)
    }

    private init(checked bytes: [UInt8]) {
        let count = Self.count
        self.bytes = bytes
        let numbers = bytes.map(Double.init)
        let flagStart = OwnHour.count * count
        let brightnessStart = flagStart + Self.flags.count * count
        shares = (0..<flagStart).map { index in
            let row = index - index % count
            return numbers[index] / numbers[row..<row + count].reduce(0, +)
        }
        odds = numbers[flagStart..<brightnessStart].map { ($0 - 128) / Self.oddsScale }
        means = numbers[brightnessStart..<brightnessStart + count].map { $0 / 255 }
        deviations = numbers[(brightnessStart + count)...].map { $0 / 255 }
        base = odds.map { log(1 - Logistic.probability($0)) }
    }

    /// The probability of each situation, given what was sensed at a wake. A signal that could not be read says
    /// nothing.
    /// - Parameter sensed: the sensed features.
    public func probabilities(_ sensed: ArraySlice<Double>, at hour: OwnHour) -> [Double] {
        let (count, first) = (Self.count, sensed.startIndex)
        var scores = [Double](repeating: 0, count: count)
        for (flag, feature) in Self.flags.enumerated() {
            let value = sensed[first + feature]
            guard value.isFinite else { continue }
            let row = flag * count
            for index in 0..<count { scores[index] += base[row + index] + (value > 0.5 ? odds[row + index] : 0) }
        }
        let light = sensed[first + Self.brightness]
        if light.isFinite {
            for index in 0..<count {
                let distance = (light - means[index]) / deviations[index]
                scores[index] -= 0.5 * distance * distance + log(deviations[index])
            }
        }
        let highest = scores.max() ?? 0
        // The constant keeps one odd signal from excluding a situation.
        for index in 0..<count {
            scores[index] = shares[hour.row * count + index] * (exp(scores[index] - highest) + 1e-9)
        }
        let sum = scores.reduce(0, +)
        return scores.map { $0 / sum }
    }

    private static let oddsScale = 24.0

    /// Zero is no byte of a situation, so that no logarithm and no quotient is infinite.
    private static func byte(_ value: Double) -> UInt8 { UInt8(min(max(value, 1), 255).rounded()) }
}
