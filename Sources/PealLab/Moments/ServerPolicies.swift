import Foundation
import PealMomentTraining
import PealMoments
import PealWorlds

/// Policies that need no phone: they choose one instant of the window in advance.
struct ServerPolicies {
    let trial: PocketDayTrial

    private var test: TrialWindows { trial.test }

    /// The wake at which the score is highest.
    private func best(_ score: (_ message: Int, _ slot: Int) -> Double) -> [Int] {
        (0..<test.count).map { message in
            let scores = (0..<test.wakeCount).map { score(message, test.slot(message, $0)) }
            return scores.indices.max { scores[$0] < scores[$1] } ?? 0
        }
    }

    private func hour(_ slot: Int) -> Int { Int(PocketDay.hour(slot)) }

    /// The hour at which most of the labels were opened, the same for all.
    func bestFixedHour() -> [Int] {
        let rate = PocketDayTrial.mean(trial.labels.map { $0.opened ? 1 : 0 })
        var (opens, shown) = ([Double](repeating: 2 * rate, count: 24), [Double](repeating: 2, count: 24))
        for label in trial.labels {
            opens[hour(label.slot)] += label.opened ? 1 : 0
            shown[hour(label.slot)] += 1
        }
        return best { _, slot in opens[hour(slot)] / shown[hour(slot)] }
    }

    /// Each person's hour with the most app opens, shrunk towards the audience's.
    func histogram() -> [Int] {
        let affinity = FirstSchema(trial, day: 14)
        return best { message, slot in
            affinity.logShare(hour(slot)) + affinity.affinity(test.people[message], hour(slot))
        }
    }

    /// Learned send-time: a logistic regression on the known features, including the hour profile, with all labels.
    func learned(_ habits: Habits) -> [Int] {
        var rows = FeatureMatrix(width: FeatureSchema.knownCount)
        for label in trial.labels { rows.append { habits.appendKnown(label.person, label.slot, to: &$0) } }
        let standardization = Standardization(of: rows)
        let fit = LogisticFit(
            standardization(rows), opened: trial.labels.map { $0.opened ? 1 : 0 },
            prior: .ridge(3, count: FeatureSchema.knownCount))
        var grid = FeatureMatrix(width: FeatureSchema.knownCount)
        for message in 0..<test.count {
            for wake in 0..<test.wakeCount {
                grid.append { habits.appendKnown(test.people[message], test.slot(message, wake), to: &$0) }
            }
        }
        let scores = fit.scores(standardization(grid))
        return (0..<test.count).map { message in
            let row = message * test.wakeCount
            return (0..<test.wakeCount).max { scores[row + $0] < scores[row + $1] } ?? 0
        }
    }

    /// The limit of every method without the phone: the true mean of each person and hour.
    func oracle() -> [Int] {
        let people = trial.world.citizens.count
        var means = [Double](repeating: 0, count: people * 24)
        for person in 0..<people {
            for slot in 0..<PocketDay.slots {
                means[person * 24 + hour(slot)] += trial.campaign.probability(trial.world, person, slot)
            }
        }
        return best { message, slot in means[test.people[message] * 24 + hour(slot)] }
    }
}

/// The features of the first schema, kept as a baseline: affinities to 24 separate hours instead of a smooth profile,
/// and everything on the wall clock.
struct FirstSchema {
    static let knownCount = 9
    /// Opens of the audience that initialize each person's affinities.
    private static let shrinkage = 12.0

    private let shares: [Double]
    private let affinities: [Double]
    private let openness: [Double]

    /// What is known on the morning of a day.
    init(_ trial: PocketDayTrial, day: Int) {
        let people = trial.world.citizens.count
        let counts = (0..<people).map { trial.world.opens($0, before: day).map(Double.init) }
        var sums = [Double](repeating: 1, count: 24)
        for person in counts { for hour in 0..<24 { sums[hour] += person[hour] } }
        let total = sums.reduce(0, +)
        let shares = sums.map { $0 / total }
        self.shares = shares
        affinities = counts.flatMap { person -> [Double] in
            let opens = person.reduce(0, +)
            return (0..<24).map { hour in
                let share = (person[hour] + Self.shrinkage * shares[hour]) / (opens + Self.shrinkage)
                return log(share / shares[hour])
            }
        }
        let opens = counts.map { $0.reduce(0, +) + 5 }
        let mean = PocketDayTrial.mean(opens)
        openness = opens.map { log($0 / mean) }
    }

    func logShare(_ hour: Int) -> Double { log(shares[hour]) }

    func affinity(_ person: Int, _ hour: Int) -> Double { affinities[person * 24 + hour] }

    func appendKnown(_ person: Int, _ slot: Int, to features: inout [Double]) {
        let angle = 2 * Double.pi * PocketDay.hour(slot) / 24
        let weekend = PocketDay.isWeekend(slot) ? 1.0 : 0.0
        features += [
            1, sin(angle), cos(angle), sin(2 * angle), cos(2 * angle), weekend, weekend * cos(angle),
            affinity(person, Int(PocketDay.hour(slot))), openness[person],
        ]
    }
}
