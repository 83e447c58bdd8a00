import Foundation
import PealCore
import PealMomentTraining
import PealMoments
import PealWorlds

/// Users with individual open rates in an experiment whose true effect is known.
struct ExperimentTrial {
    let users: Int
    let lift: Double
    let days: Int
    /// Messages of each user before the experiment.
    private static let earlierMessages = 20

    /// The results of one run over its days.
    struct Outcome {
        /// Whether a plain test at the 5 % level, the always-valid interval, and the same without priors excluded
        /// zero at any look.
        var naive = false
        var alwaysValid = false
        var withoutPriors = false
        /// The first day on which the interval excluded zero.
        var day: Int?
        /// How much the priors reduce the variance, at the last look.
        var varianceRatio = 1.0
    }

    func run(_ random: inout WorldRandom) -> Outcome {
        let experiment = ExperimentAssignment(app: "lab", salt: "\(random.next())", campaign: "c")
        var outcome = Outcome()
        let rates = (0..<users).map { _ in Logistic.probability(random.normal(-3.05, 0.8)) }
        let priors = rates.map { rate in
            let opens = (0..<Self.earlierMessages).count { _ in random.hits(rate) }
            return Self.prior(messages: Self.earlierMessages, opens: opens)
        }
        let arms = (0..<users).map { experiment.arm(of: "u\($0)", share: 0.5) }
        let firstDays = (0..<users).map { _ in random.below(7) }
        var (messages, opens) = ([Int](repeating: 0, count: users), [Int](repeating: 0, count: users))
        for day in 0..<days {
            for user in 0..<users where firstDays[user] <= day && random.hits(0.6) {
                messages[user] += 1
                let rate = arms[user] == .contextAware ? min(rates[user] * (1 + lift), 1) : rates[user]
                if random.hits(rate) { opens[user] += 1 }
            }
            let totals = (0..<users).map {
                ExperimentUser(arm: arms[$0], messages: messages[$0], opens: opens[$0], prior: priors[$0])
            }
            guard day > 0, let comparison = ArmComparison(totals) else { continue }
            look(comparison, totals, day, &outcome)
        }
        return outcome
    }

    /// The prior, as the server computes it.
    fileprivate static func prior(messages: Int, opens: Int) -> Int {
        Int(ExperimentSums.prior(messages: Int64(messages), opens: Int64(opens)))
    }

    private func look(
        _ comparison: ArmComparison, _ totals: [ExperimentUser], _ day: Int, _ outcome: inout Outcome
    ) {
        if let plain = ArmComparison(totals, usesPriors: false) {
            let error = plain.variance.squareRoot()
            outcome.naive = outcome.naive || abs(plain.difference) > 1.96 * error
            outcome.withoutPriors = outcome.withoutPriors || !plain.interval().contains(0)
        }
        if !comparison.interval().contains(0) {
            outcome.alwaysValid = true
            outcome.day = outcome.day ?? day + 1
        }
        outcome.varianceRatio = comparison.varianceRatio
    }

    /// The number of users at which the alarm fires if users are assigned to the context-aware arm with this
    /// probability.
    static func alarm(_ chance: Double, users: Int, _ random: inout WorldRandom) -> Int? {
        var alarm = SampleRatioAlarm(share: 0.5)
        var one = 0
        for count in stride(from: 100, through: users, by: 100) {
            for _ in 0..<100 where random.hits(chance) { one += 1 }
            alarm.record(contextAware: one, traditional: count - one)
            if alarm.isRaised { return count }
        }
        return nil
    }
}

/// An experiment in the second or third world: half of the users get chosen moments, and only opens are observed.
struct WorldExperiment: Codable {
    let world: String
    let seed: Int
    /// The true difference between the arms, with every user in both.
    let trueLift: Double
    let estimatedLift: Double
    let low: Double
    let high: Double
    let decision: ExperimentDecision
    /// The day of the decision; nil if there was none.
    let day: Int?

    enum CodingKeys: String, CodingKey {
        case world, seed, low, high, decision, day
        case trueLift = "true_lift"
        case estimatedLift = "estimated_lift"
    }

    init(_ name: String, _ settings: BusyDays.Settings) throws {
        let trial = BusyDaysTrial(settings)
        let phone = try trial.phone(labels: nil)
        let immediate = PlannedPolicy.immediate(trial.world)
        trueLift = trial.run(phone).value / trial.run(immediate).value - 1
        let experiment = ExperimentAssignment(app: "lab", salt: "s\(settings.seed)", campaign: "both")
        let arms = (0..<settings.people).map { experiment.arm(of: "u\($0)", share: 0.5) }
        let run = BusyDaysRun(trial.world, days: BusyDays.testDays, memory: trial.logged.memory) { person in
            let policy: any BusyDaysPolicy = arms[person] == .contextAware ? phone : immediate
            return policy
        }
        let priors = Self.priors(trial)
        var decided: (ExperimentDecision, Int)?
        var last: ArmComparison?
        for day in BusyDays.testDays {
            let matured = run.displays.filter { $0.slot < (day + 1) * BusyDays.slotsPerDay }
            var (messages, opens) = (
                [Int](repeating: 0, count: settings.people), [Int](repeating: 0, count: settings.people)
            )
            for display in matured {
                messages[display.person] += 1
                opens[display.person] += display.opened ? 1 : 0
            }
            last = ArmComparison(
                (0..<settings.people).map {
                    ExperimentUser(
                        arm: arms[$0], messages: messages[$0], opens: opens[$0], prior: priors[$0])
                })
            guard let comparison = last, decided == nil else { continue }
            let decision = ExperimentDecision(comparison, isRatioSound: true)
            if decision != .undecided { decided = (decision, day - BusyDays.testDays.lowerBound + 1) }
        }
        (world, seed) = (name, settings.seed)
        estimatedLift = last?.lift ?? 0
        let interval = last?.liftInterval()
        (low, high) = (interval?.lowerBound ?? 0, interval?.upperBound ?? 0)
        (decision, day) = (decided?.0 ?? .undecided, decided?.1)
    }

    private static func priors(_ trial: BusyDaysTrial) -> [Int] {
        var counts = [(shown: Int, opens: Int)](repeating: (0, 0), count: trial.world.settings.people)
        for display in trial.logged.displays {
            counts[display.person].shown += 1
            counts[display.person].opens += display.opened ? 1 : 0
        }
        return counts.map { ExperimentTrial.prior(messages: $0.shown, opens: $0.opens) }
    }
}
