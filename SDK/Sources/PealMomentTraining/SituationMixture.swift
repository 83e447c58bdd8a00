internal import Foundation
internal import PealMoments

/// The signals of wakes, as situations use them.
struct WakeSample {
    static let flagCount = Situations.flags.count
    /// The flags of each wake: 1 if set, 0 if not, NaN if unknown.
    let flags: [Double]
    let brightness: [Double]
    let hours: [Int]

    init(_ wakes: LoggedWakes, _ rows: [Int]) {
        flags = rows.flatMap { row in
            let sensed = wakes.sensed[row]
            return Situations.flags.map { sensed[sensed.startIndex + $0] }
        }
        brightness = rows.map { row in
            let sensed = wakes.sensed[row]
            return sensed[sensed.startIndex + Situations.brightness]
        }
        hours = rows.map { wakes.ownHours[$0].row }
    }

    var count: Int { hours.count }
}

/// Sums over wakes, weighted by the probability of a situation: what its numbers are estimated from.
private struct SituationSums {
    private static let count = Situations.count
    var wakes = [Double](repeating: 0, count: OwnHour.count * count)
    var set = [Double](repeating: 0, count: WakeSample.flagCount * count)
    var read = [Double](repeating: 0, count: WakeSample.flagCount * count)
    var lit = [Double](repeating: 0, count: count)
    var light = [Double](repeating: 0, count: count)
    var squares = [Double](repeating: 0, count: count)

    mutating func add(_ sample: WakeSample, _ wake: Int, _ shares: [Double]) {
        let count = Self.count
        let brightness = sample.brightness[wake]
        for index in 0..<count {
            wakes[sample.hours[wake] * count + index] += shares[index]
            guard brightness.isFinite else { continue }
            lit[index] += shares[index]
            light[index] += shares[index] * brightness
            squares[index] += shares[index] * brightness * brightness
        }
        for flag in 0..<WakeSample.flagCount {
            let value = sample.flags[wake * WakeSample.flagCount + flag]
            guard value.isFinite else { continue }
            for index in 0..<count {
                read[flag * count + index] += shares[index]
                set[flag * count + index] += shares[index] * value
            }
        }
    }
}

/// The numbers of situations while they are being learned: a mixture model that is fitted by expectation maximization
/// (Dempster, Laird and Rubin 1977). Within situation s, the flags f of a wake are independent of each other, and its
/// brightness b is normal:
///
///     p(wake | hour) = Σ_s share(s | hour) · Π_f chance(f | s) · N(b; mean_s, deviation_s)
///
/// A round computes the probability of each situation for each wake with the current numbers (Bayes' rule), and then
/// new numbers from the wakes, each weighted by that probability. The start matters, because rounds only climb to the
/// nearest maximum: `Situations.init(learningFrom:)` tries several.
struct SituationMixture {
    private static let count = Situations.count
    /// Wakes of average people that are added to each situation, so that no probability is estimated from nothing.
    private static let averageWakes = 2.0
    /// The same numbers as in `Situations`.
    private var shares = [Double](repeating: 1 / Double(count), count: OwnHour.count * count)
    private var chances = [Double](repeating: 0.5, count: WakeSample.flagCount * count)
    private var means = [Double](repeating: 0.5, count: count)
    private var deviations = [Double](repeating: 0.25, count: count)
    /// The log-likelihood of the wakes before the last improvement.
    private(set) var likelihood = -Double.infinity

    /// Every situation begins as the wakes that resemble a random one: eight rounds of k-means over 2,000 wakes.
    init(_ sample: WakeSample, start: UInt64) {
        var dice = RepeatableDice(state: start)
        let wakes = dice.sample(2000, below: sample.count)
        var centers = (0..<Self.count).map { _ in Self.point(sample, wakes[dice.below(wakes.count)]) }
        for _ in 0..<8 {
            var sums = SituationSums()
            for wake in wakes { sums.add(sample, wake, Self.nearest(centers, Self.point(sample, wake))) }
            estimate(sums)
            for index in centers.indices { centers[index] = center(index) }
        }
        // Hours are learned only once the situations are formed.
        shares = [Double](repeating: 1 / Double(Self.count), count: shares.count)
        chances = chances.map { min(max($0, 0.05), 0.95) }
        deviations = deviations.map { _ in 0.2 }
    }

    /// Learned situations, the most frequent one first.
    var situations: Situations {
        let count = Self.count
        let sizes = (0..<count).map { index in
            stride(from: index, to: shares.count, by: count).reduce(0) { $0 + shares[$1] }
        }
        let order = (0..<count).sorted { sizes[$0] > sizes[$1] }
        func ordered(_ values: [Double]) -> [Double] {
            values.indices.map { values[$0 - $0 % count + order[$0 % count]] }
        }
        return Situations(
            shares: ordered(shares), chances: ordered(chances), means: ordered(means), deviations: ordered(deviations))
    }

    /// One round of expectation maximization.
    mutating func improve(on sample: WakeSample) {
        let count = Self.count
        let (set, unset) = (chances.map { log($0) }, chances.map { log(1 - $0) })
        let normalizers = deviations.map { log($0) }
        var sums = SituationSums()
        var scores = [Double](repeating: 0, count: count)
        likelihood = 0
        for wake in 0..<sample.count {
            let brightness = sample.brightness[wake]
            for index in 0..<count {
                let distance = brightness.isFinite ? (brightness - means[index]) / deviations[index] : 0
                scores[index] = -0.5 * distance * distance - (brightness.isFinite ? normalizers[index] : 0)
            }
            for flag in 0..<WakeSample.flagCount {
                let value = sample.flags[wake * WakeSample.flagCount + flag]
                guard value.isFinite else { continue }
                let row = flag * count
                for index in 0..<count { scores[index] += value > 0.5 ? set[row + index] : unset[row + index] }
            }
            let highest = scores.max() ?? 0
            for index in 0..<count {
                scores[index] = shares[sample.hours[wake] * count + index] * (exp(scores[index] - highest) + 1e-9)
            }
            let sum = scores.reduce(0, +)
            likelihood += highest + log(sum)
            for index in 0..<count { scores[index] /= sum }
            sums.add(sample, wake, scores)
        }
        estimate(sums)
    }

    private mutating func estimate(_ sums: SituationSums) {
        let count = Self.count
        for flag in 0..<WakeSample.flagCount {
            let row = flag * count..<(flag + 1) * count
            let mean = (sums.set[row].reduce(0, +) + 0.5) / (sums.read[row].reduce(0, +) + 1)
            for index in row {
                let chance = (sums.set[index] + Self.averageWakes * mean) / (sums.read[index] + Self.averageWakes)
                chances[index] = min(max(chance, 0.005), 0.995)
            }
        }
        for index in 0..<count where sums.lit[index] > 1 {
            means[index] = sums.light[index] / sums.lit[index]
            let variance = sums.squares[index] / sums.lit[index] - means[index] * means[index]
            deviations[index] = max(variance, 0).squareRoot() + 0.03
        }
        estimateShares(sums.wakes)
    }

    /// The shares of an hour, smoothed with neighbouring hours, with the same hour of other days, and with all hours.
    private mutating func estimateShares(_ wakes: [Double]) {
        let count = Self.count
        let sizes = (0..<count).map { index in
            stride(from: index, to: wakes.count, by: count).reduce(1) { $0 + wakes[$1] }
        }
        let sum = sizes.reduce(0, +)
        for hour in 0..<OwnHour.count {
            let (day, time) = (hour / 24, hour % 24)
            let near = [
                (hour, 1.0), (day * 24 + (time + 1) % 24, 0.5), (day * 24 + (time + 23) % 24, 0.5),
                ((1 - day) * 24 + time, 0.3),
            ]
            var smooth = sizes.map { 20 * $0 / sum }
            for (other, weight) in near {
                for index in 0..<count { smooth[index] += weight * wakes[other * count + index] }
            }
            let total = smooth.reduce(0, +)
            for index in 0..<count { shares[hour * count + index] = smooth[index] / total }
        }
    }

    // MARK: The beginning

    /// Flags and twice the brightness, which then counts as much as a flag.
    private static func point(_ sample: WakeSample, _ wake: Int) -> [Double] {
        let start = wake * WakeSample.flagCount
        let values = sample.flags[start..<start + WakeSample.flagCount] + [2 * sample.brightness[wake]]
        return values.map { $0.isFinite ? $0 : 0.5 }
    }

    private func center(_ index: Int) -> [Double] {
        (0..<WakeSample.flagCount).map { chances[$0 * Self.count + index] } + [2 * means[index]]
    }

    /// A probability of 1 for the situation whose center is nearest.
    private static func nearest(_ centers: [[Double]], _ point: [Double]) -> [Double] {
        let distances = centers.map { zip($0, point).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) } }
        let nearest = distances.indices.min { distances[$0] < distances[$1] } ?? 0
        return distances.indices.map { $0 == nearest ? 1 : 0 }
    }
}
