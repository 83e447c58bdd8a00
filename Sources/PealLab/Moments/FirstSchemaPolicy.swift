import Foundation
import PealMomentTraining
import PealMoments
import PealWorlds

/// A baseline for the product's schema: the first schema with its prior, and the product's trainer and stopping rule.
struct FirstSchemaPolicy: TrialPolicy {
    private static let width = FirstSchema.knownCount + SignalProducts.count
    private let trial: PocketDayTrial
    private let standardization: Standardization
    private let labels: FeatureMatrix
    private let prior: GaussianPrior
    private let wakes: FeatureMatrix
    private let wakeHours: [OwnHour]
    private let grid: FeatureMatrix

    init(_ trial: PocketDayTrial, earlierCampaigns: Int) {
        self.trial = trial
        let schemas = [FirstSchema(trial, day: 7), FirstSchema(trial, day: 14)]
        func append(_ who: Int, _ slot: Int, to matrix: inout FeatureMatrix) {
            matrix.append { features in
                schemas[slot < 14 * PocketDay.slotsPerDay ? 0 : 1].appendKnown(who, slot, to: &features)
                let signals = trial.world.signals(who, slot, previous: slot - trial.settings.stride)
                SignalProducts.append(signals, at: PocketDay.time(slot), to: &features)
            }
        }
        func rows(_ labels: [PocketDayTrial.Label]) -> FeatureMatrix {
            var matrix = FeatureMatrix(width: Self.width)
            for label in labels { append(label.person, label.slot, to: &matrix) }
            return matrix
        }
        let raw = rows(trial.labels)
        let standardization = Standardization(of: raw)
        labels = standardization(raw)
        let estimates = (0..<earlierCampaigns).map { number in
            let earlier = trial.earlierLabels(number)
            return CampaignEstimate(standardization(rows(earlier)), opened: earlier.map { $0.opened ? 1 : 0 })
        }
        prior = estimates.isEmpty ? .ridge(30, count: Self.width) : Self.firstPrior(estimates)
        self.standardization = standardization
        var random = WorldRandom(seed: trial.settings.seed, stream: 78)
        var (wakes, hours) = (FeatureMatrix(width: Self.width), [OwnHour]())
        for message in random.sample(6000, below: trial.training.count) {
            for wake in 0..<trial.training.wakeCount {
                let slot = trial.training.slot(message, wake)
                append(trial.training.people[message], slot, to: &wakes)
                hours.append(Self.hour(slot))
            }
        }
        (self.wakes, wakeHours) = (standardization(wakes), hours)
        var grid = FeatureMatrix(width: Self.width)
        for message in 0..<trial.test.count {
            for wake in 0..<trial.test.wakeCount {
                append(trial.test.people[message], trial.test.slot(message, wake), to: &grid)
            }
        }
        self.grid = standardization(grid)
    }

    func choices(labels count: Int, draw: Int, _ distortion: PhonePolicy.Distortion) throws -> [Int] {
        var random = WorldRandom(seed: trial.settings.seed, stream: 9000 + 17 * count + draw)
        let picked = random.sample(count, below: trial.labels.count)
        var weights = prior.means
        if count > 0 {
            let opened = picked.map { trial.labels[$0].opened ? 1.0 : 0 }
            weights = LogisticFit(labels.picking(picked), opened: opened, prior: prior).weights
        }
        weights = weights.map { $0 * distortion.slope * MomentTrainer.caution }
        weights[0] += distortion.intercept
        let (known, sensed) = (weights.prefix(FirstSchema.knownCount), weights.dropFirst(FirstSchema.knownCount))
        func sum(_ weights: ArraySlice<Double>, _ features: ArraySlice<Double>) -> Double {
            zip(weights, features).reduce(0) { $0 + $1.0 * $1.1 }
        }
        let scores = (0..<wakes.count).map { sum(sensed, wakes[$0].dropFirst(FirstSchema.knownCount)) }
        guard let table = ScoreTable(scores: scores, ownHours: wakeHours, binCount: 12) else { return [] }
        let test = trial.test
        return (0..<test.count).map { message in
            let first = message * test.wakeCount
            let steps = (0..<test.wakeCount).map { wake in
                StoppingRule.Wake(
                    knownScore: sum(known, grid[first + wake].prefix(FirstSchema.knownCount)),
                    ownHour: Self.hour(test.slot(message, wake)))
            }
            let rule = StoppingRule(
                wakes: Array(steps.dropLast()), deadline: steps[test.wakeCount - 1], table: table,
                arrival: distortion.assumedArrival ?? trial.settings.arrival)
            for wake in 0..<test.wakeCount - 1 where test.arrived[first + wake] {
                let score =
                    steps[wake].knownScore
                    + sum(sensed, grid[first + wake].dropFirst(FirstSchema.knownCount))
                if Logistic.probability(score) >= rule.continuationValues[wake] { return wake }
            }
            return test.wakeCount - 1
        }
    }

    /// On the wall clock, weekdays and weekends alike.
    private static func hour(_ slot: Int) -> OwnHour { OwnHour(hour: Int(PocketDay.hour(slot)), isWeekend: false) }

    /// The plain mean of earlier campaigns, with their variance.
    private static func firstPrior(_ estimates: [CampaignEstimate]) -> GaussianPrior {
        let effects = GaussianPrior(campaigns: estimates, hourFeatures: [], sensedFeatures: 0..<0)
        let means = (0..<Self.width).map { weight in
            PocketDayTrial.mean(estimates.map { $0.weights[weight] })
        }
        return GaussianPrior(means: means, precisions: effects.precisions)
    }
}

/// The sensed features of the first two schemas: signals, and products of two signals or of a signal and the hour. Only
/// the baselines still use them.
enum SignalProducts {
    static let count = 24

    /// Appends the features at a time on the wall clock.
    static func append(_ signals: Signals, at time: LocalTime, to features: inout [Double]) {
        func number(_ flag: Bool?) -> Double { flag.map { $0 ? 1 : 0 } ?? .nan }
        FeatureSchema.appendSensed(signals, to: &features)
        let (unlocked, before) = (number(signals.isUnlocked), number(signals.wasUnlocked))
        let (vehicle, headphones) = (number(signals.isInVehicle), number(signals.hasHeadphones))
        let (charging, wifi) = (number(signals.isCharging), number(signals.isOnWiFi))
        let angle = 2 * Double.pi * time.hour / 24
        features += [
            unlocked * charging, unlocked * wifi, unlocked * vehicle, headphones * vehicle,
            headphones * number(signals.isWalking), charging * number(signals.isFaceDown), unlocked * before,
            unlocked * cos(angle), charging * cos(angle), wifi * cos(angle), wifi * sin(angle),
            number(signals.isSilent) * cos(angle),
        ]
    }
}
