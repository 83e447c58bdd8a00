import Foundation
import PealMomentTraining
import PealMoments
import PealWorlds

/// The product's policy in PocketDay: its features, trainer, model and stopping rule.
struct PhonePolicy {
    /// Deliberate errors of a model, to measure what they cost.
    struct Distortion: Sendable, Hashable {
        /// Factor on all scores.
        var slope = 1.0
        /// Added to all scores.
        var intercept = 0.0
        /// The wake rate that phones assume; nil for the true one.
        var assumedArrival: Double?
    }

    let trial: PocketDayTrial
    var trainer: MomentTrainer
    let labels: CampaignLabels
    let wakes: LoggedWakes
    /// Known and sensed features at every wake of the test, 24 for each.
    private let grid: FeatureMatrix
    private let ownHours: [OwnHour]

    /// - Parameter earlierCampaigns: how many the prior is computed from; with none the built-in model is used.
    init(_ trial: PocketDayTrial, earlierCampaigns: Int = 6) {
        self.trial = trial
        let habits = Habits(trial)
        let campaigns = [trial.labels] + (0..<earlierCampaigns).map { trial.earlierLabels($0) }
        let situations = Situations(learningFrom: habits.wakes(campaigns.joined())) ?? .unknown
        labels = habits.labels(campaigns[0], situations)
        let standardization = Standardization(of: labels.features)
        let earlier = campaigns.dropFirst().map { habits.labels($0, situations) }
        let prior =
            earlier.isEmpty
            ? GaussianPrior.firstCampaign(MomentModel.builtIn(app: "lab"), standardization: standardization)
            : MomentTrainer.prior(from: earlier, standardization: standardization)
        trainer = MomentTrainer(
            audience: Audience(
                standardization: standardization, situations: situations, template: habits.templates[1],
                audienceOpens: habits.audienceOpens[14], arrival: trial.settings.arrival), prior: prior)
        wakes = habits.loggedWakes()
        (grid, ownHours) = habits.testGrid()
    }

    /// The model from some of the labels.
    func model(labels count: Int, draw: Int = 0, distortion: Distortion = Distortion()) throws -> MomentModel {
        var random = WorldRandom(seed: trial.settings.seed, stream: 9000 + 17 * count + draw)
        let rows = random.sample(count, below: labels.opened.count)
        let picked = CampaignLabels(features: labels.features.picking(rows), opened: rows.map { labels.opened[$0] })
        var weights = trainer.weights(picked).map { $0 * distortion.slope }
        weights[0] += distortion.intercept
        return try trainer.model(
            ModelIdentity(app: "lab", campaign: "c", version: 1, trainedAt: 0), weights: weights, wakes: wakes)
    }

    /// The wakes at which phones show, one for each message.
    func choices(_ model: MomentModel, assumedArrival: Double? = nil) -> [Int] {
        let test = trial.test
        return (0..<test.count).map { message in
            let (steps, rule) = plan(model, message, assumedArrival: assumedArrival)
            for wake in 0..<test.wakeCount - 1 where test.arrived[message * test.wakeCount + wake] {
                let probability = Logistic.probability(score(model, message, wake, steps))
                if probability >= rule.continuationValues[wake] { return wake }
            }
            return test.wakeCount - 1
        }
    }

    /// Predicted and true probabilities over the test, for charts.
    func predictions(_ model: MomentModel, message: Int) -> (scores: [Double], rule: StoppingRule) {
        let (steps, rule) = plan(model, message)
        return (steps.indices.map { score(model, message, $0, steps) }, rule)
    }

    /// What is known about the wakes of a message in advance, and the rule that follows from it.
    private func plan(
        _ model: MomentModel, _ message: Int, assumedArrival: Double? = nil
    ) -> (steps: [StoppingRule.Wake], rule: StoppingRule) {
        let wakeCount = trial.test.wakeCount
        let steps = (0..<wakeCount).map { wake in
            let row = message * wakeCount + wake
            return StoppingRule.Wake(
                knownScore: model.knownScore(grid[row].prefix(FeatureSchema.knownCount)), ownHour: ownHours[row])
        }
        let rule = StoppingRule(
            wakes: Array(steps.dropLast()), deadline: steps[wakeCount - 1], table: model.table,
            arrival: assumedArrival ?? model.arrival)
        return (steps, rule)
    }

    /// The score at a wake, with what the phone senses there.
    private func score(_ model: MomentModel, _ message: Int, _ wake: Int, _ steps: [StoppingRule.Wake]) -> Double {
        let row = message * trial.test.wakeCount + wake
        return steps[wake].knownScore
            + model.sensedScore(grid[row].dropFirst(FeatureSchema.knownCount), at: ownHours[row])
    }
}

/// What phones and server know about people's habits on each day of PocketDay.
struct Habits {
    private let trial: PocketDayTrial
    /// Learned in the first week, and in the first two.
    let templates: [HourTemplate]
    /// By day.
    let audienceOpens: [Double]
    private let people: [Person]
    private static let days = 7..<21

    init(_ trial: PocketDayTrial) {
        self.trial = trial
        let count = trial.world.citizens.count
        templates = [7, 14].map { day in
            let audience = (0..<count).map { trial.world.opens($0, before: day) }
            return HourTemplate(learningFrom: audience) ?? HourTemplate.plain
        }
        let counts = (0..<PocketDay.days).map { day in
            (0..<count).map { log(Double(trial.world.opens($0, before: day).reduce(0, +)) + 5) }
        }
        audienceOpens = counts.map(PocketDayTrial.mean)
        var people: [Person] = []
        for day in Self.days {
            let template = templates[day < 14 ? 0 : 1]
            for person in 0..<count {
                people.append(
                    Person(
                        openCounts: trial.world.opens(person, before: day), template: template,
                        audienceOpens: audienceOpens[day]))
            }
        }
        self.people = people
    }

    func person(_ person: Int, _ slot: Int) -> Person {
        people[(slot / PocketDay.slotsPerDay - Self.days.lowerBound) * trial.world.citizens.count + person]
    }

    func labels(_ labels: [PocketDayTrial.Label], _ situations: Situations) -> CampaignLabels {
        var measured = FeatureMatrix(width: FeatureSchema.measuredCount)
        measured.reserve(labels.count)
        for label in labels { measured.append { append(label.person, label.slot, to: &$0) } }
        return CampaignLabels(
            features: situations.completing(measured), opened: labels.map { $0.opened ? 1 : 0 })
    }

    /// The wakes at which messages were shown.
    func wakes(_ labels: some Sequence<PocketDayTrial.Label>) -> LoggedWakes {
        wakes(labels.map { ($0.person, $0.slot) })
    }

    /// The wakes of some of the training messages.
    func loggedWakes() -> LoggedWakes {
        var random = WorldRandom(seed: trial.settings.seed, stream: 78)
        let windows = trial.training
        return wakes(
            random.sample(6000, below: windows.count).flatMap { message in
                (0..<windows.wakeCount).map { (windows.people[message], windows.slot(message, $0)) }
            })
    }

    private func wakes(_ wakes: [(person: Int, slot: Int)]) -> LoggedWakes {
        var sensed = FeatureMatrix(width: FeatureSchema.sensedCount)
        sensed.reserve(wakes.count)
        for wake in wakes { sensed.append { appendSensed(wake.person, wake.slot, to: &$0) } }
        return LoggedWakes(
            sensed: sensed,
            ownHours: wakes.map { person($0.person, $0.slot).ownHour(at: PocketDay.time($0.slot)) })
    }

    func testGrid() -> (FeatureMatrix, [OwnHour]) {
        let test = trial.test
        var grid = FeatureMatrix(width: FeatureSchema.measuredCount)
        grid.reserve(test.count * test.wakeCount)
        var hours: [OwnHour] = []
        for message in 0..<test.count {
            for wake in 0..<test.wakeCount {
                let (person, slot) = (test.people[message], test.slot(message, wake))
                grid.append { append(person, slot, to: &$0) }
                hours.append(self.person(person, slot).ownHour(at: PocketDay.time(slot)))
            }
        }
        return (grid, hours)
    }

    private func append(_ person: Int, _ slot: Int, to features: inout [Double]) {
        appendKnown(person, slot, to: &features)
        appendSensed(person, slot, to: &features)
    }

    func appendKnown(_ person: Int, _ slot: Int, to features: inout [Double]) {
        FeatureSchema.appendKnown(at: PocketDay.time(slot), for: self.person(person, slot), to: &features)
    }

    private func appendSensed(_ person: Int, _ slot: Int, to features: inout [Double]) {
        let signals = trial.world.signals(person, slot, previous: slot - trial.settings.stride)
        FeatureSchema.appendSensed(signals, to: &features)
    }
}
