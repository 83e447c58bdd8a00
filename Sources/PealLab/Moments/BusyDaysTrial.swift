import Foundation
import PealMomentTraining
import PealMoments
import PealWorlds

/// A seed of the second or the third world: two weeks of random moments to learn from, and two to compare policies in.
struct BusyDaysTrial {
    let world: BusyDays
    let habits: BusyDaysHabits
    /// The random moments of the first two weeks, and the state of habituation after them.
    let logged: BusyDaysRun

    init(_ settings: BusyDays.Settings) {
        let world = BusyDays(settings)
        (self.world, habits) = (world, BusyDaysHabits(world))
        logged = BusyDaysRun(world, days: 0..<14) { _ in PlannedPolicy.random(world) }
    }

    /// Runs one policy for all people over the last two weeks.
    func run(_ policy: any BusyDaysPolicy) -> BusyDaysRun {
        BusyDaysRun(world, days: BusyDays.testDays, memory: logged.memory) { _ in policy }
    }

    /// The displays of a campaign that serve as labels. A phone has a profile of its owner from the fifth day on.
    private func labels(_ campaign: Int) -> [BusyDaysRun.Display] {
        logged.displays.filter {
            $0.campaign == campaign && $0.slot >= BusyDays.trainingDays.lowerBound * BusyDays.slotsPerDay
        }
    }

    /// The product's policy with models trained on this number of labels for each campaign; nil for all.
    func phone(labels count: Int?, spacing: Int64 = DeliveryRules.spacingDefault) throws -> PhoneBusyDaysPolicy {
        let models = try BusyDays.campaigns.indices.map { try model($0, labels: count) }
        return PhoneBusyDaysPolicy(world, habits, models: models, spacing: spacing)
    }

    /// Without labels it is the built-in model; this installation has no earlier campaigns.
    private func model(_ campaign: Int, labels count: Int?) throws -> MomentModel {
        if count == 0 { return .builtIn(app: "lab") }
        let displays = labels(campaign)
        let measured = measured(displays)
        let wakes = wakes(displays)
        // All messages of the app show what people do.
        let situations =
            Situations(learningFrom: self.wakes(BusyDays.campaigns.indices.flatMap(labels))) ?? .unknown
        let features = situations.completing(measured)
        let standardization = Standardization(of: features)
        let trainer = MomentTrainer(
            audience: Audience(
                standardization: standardization, situations: situations, template: habits.template,
                audienceOpens: 3, arrival: PocketDayTrial.mean(habits.arrivals)),
            prior: .firstCampaign(.builtIn(app: "lab"), standardization: standardization))
        var random = WorldRandom(seed: world.settings.seed, stream: 40 + campaign)
        let rows = random.sample(count ?? displays.count, below: displays.count)
        let picked = CampaignLabels(
            features: features.picking(rows), opened: rows.map { displays[$0].opened ? 1 : 0 })
        return try trainer.model(
            ModelIdentity(app: "lab", campaign: "c\(campaign)", version: 1, trainedAt: 0),
            weights: trainer.weights(picked), wakes: wakes)
    }

    /// The known and the sensed features of displays.
    private func measured(_ displays: [BusyDaysRun.Display]) -> FeatureMatrix {
        var rows = FeatureMatrix(width: FeatureSchema.measuredCount)
        for display in displays {
            let (person, time) = (habits.person(display.person, display.slot), PocketDay.time(display.slot))
            rows.append { row in
                FeatureSchema.appendKnown(at: time, for: person, to: &row)
                FeatureSchema.appendSensed(world.signals(display.person, display.slot), to: &row)
            }
        }
        return rows
    }

    private func wakes(_ displays: [BusyDaysRun.Display]) -> LoggedWakes {
        var sensed = FeatureMatrix(width: FeatureSchema.sensedCount)
        for display in displays {
            sensed.append { FeatureSchema.appendSensed(world.signals(display.person, display.slot), to: &$0) }
        }
        return LoggedWakes(
            sensed: sensed,
            ownHours: displays.map { habits.person($0.person, $0.slot).ownHour(at: PocketDay.time($0.slot)) })
    }

    // Policies without the phone.

    func bestFixedHour() -> PlannedPolicy {
        let shares = BusyDays.campaigns.indices.map { campaign in
            let displays = logged.displays.filter { $0.campaign == campaign }
            let rate = PocketDayTrial.mean(displays.map { $0.opened ? 1 : 0 })
            var (opens, shown) = ([Double](repeating: 2 * rate, count: 24), [Double](repeating: 2, count: 24))
            for display in displays {
                opens[Int(PocketDay.hour(display.slot))] += display.opened ? 1 : 0
                shown[Int(PocketDay.hour(display.slot))] += 1
            }
            return zip(opens, shown).map { $0 / $1 }
        }
        return .best(world) { campaign, _, slot in shares[campaign][Int(PocketDay.hour(slot))] }
    }

    func histogram() -> PlannedPolicy {
        let counts = (0..<world.settings.people).map { world.opens($0, before: 14).map(Double.init) }
        let sums = (0..<24).map { hour in counts.reduce(1) { $0 + $1[hour] } }
        let total = sums.reduce(0, +)
        return .best(world) { _, person, slot in
            let hour = Int(PocketDay.hour(slot))
            return counts[person][hour] + 12 * sums[hour] / total
        }
    }

    /// Learned send-time: a logistic regression on the known features.
    func learnedSendTime() -> PlannedPolicy {
        let fits = BusyDays.campaigns.indices.map { campaign -> (Standardization, [Double]) in
            let displays = labels(campaign)
            var rows = FeatureMatrix(width: FeatureSchema.knownCount)
            for display in displays {
                let person = habits.person(display.person, display.slot)
                rows.append {
                    FeatureSchema.appendKnown(at: PocketDay.time(display.slot), for: person, to: &$0)
                }
            }
            let standardization = Standardization(of: rows)
            let fit = LogisticFit(
                standardization(rows), opened: displays.map { $0.opened ? 1 : 0 },
                prior: .ridge(30, count: FeatureSchema.knownCount))
            return (standardization, fit.weights)
        }
        return .best(world) { [habits] campaign, person, slot in
            let features = FeatureSchema.known(at: PocketDay.time(slot), for: habits.person(person, slot))
            let (standardization, weights) = fits[campaign]
            return (1..<features.count).reduce(weights[0]) { sum, index in
                let value = (features[index] - standardization.means[index - 1]) / standardization.scales[index - 1]
                return sum + weights[index] * value
            }
        }
    }

    // Policies that know the truth.

    /// True mean log-odds of each campaign, person and hour.
    func means() -> [Double] {
        var means = [Double](repeating: 0, count: BusyDays.campaigns.count * world.settings.people * 24)
        for campaign in BusyDays.campaigns.indices {
            for person in 0..<world.settings.people {
                let row = (campaign * world.settings.people + person) * 24
                for slot in 0..<BusyDays.slots {
                    let score = Double(world.scores[campaign][person * BusyDays.slots + slot])
                    means[row + Int(PocketDay.hour(slot))] += score / Double(BusyDays.days * 6)
                }
            }
        }
        return means
    }

    func sendTimeOracle(_ means: [Double]) -> PlannedPolicy {
        .best(world) { [world] campaign, person, slot in
            let row = (campaign * world.settings.people + person) * 24
            let start = world.start(campaign, slot / BusyDays.slotsPerDay, person)
            return means[row + Int(PocketDay.hour(slot))]
                - world.settings.ageing * Double(slot - start) / 6
        }
    }

    /// Stops on the true probability.
    func latentOracle(_ means: [Double]) -> OracleBusyDaysPolicy {
        let people = world.settings.people
        func rest(_ campaign: Int, _ person: Int, _ slot: Int) -> Double {
            Double(world.scores[campaign][person * BusyDays.slots + slot])
                - means[(campaign * people + person) * 24 + Int(PocketDay.hour(slot))]
        }
        return OracleBusyDaysPolicy(
            world: world, means: means,
            view: .init(score: rest, quantiles: BusyDays.campaigns.indices.map { quantiles($0, rest) }))
    }

    /// Stops on the best linear estimate from all signals, added to the true mean of person and hour. It approximates
    /// the limit of a phone; a filter over time might do slightly better.
    func observableOracle(_ means: [Double]) -> OracleBusyDaysPolicy {
        let people = world.settings.people
        var views: [(weights: [Double], standardization: Standardization)] = []
        for campaign in BusyDays.campaigns.indices {
            var random = WorldRandom(seed: world.settings.seed, stream: 60 + campaign)
            var rows = FeatureMatrix(width: 2 + SignalProducts.count)
            var opened: [Double] = []
            for _ in 0..<min(60_000, 100 * people) {
                let (person, slot) = (random.below(people), daytimeSlot(&random))
                let mean = means[(campaign * people + person) * 24 + Int(PocketDay.hour(slot))]
                rows.append { row in
                    row += [1, mean]
                    appendSensed(person, slot, to: &row)
                }
                let score = Double(world.scores[campaign][person * BusyDays.slots + slot])
                // Open rates closer to one half than real ones: the same weights from fewer labels.
                opened.append(random.hits(Logistic.probability(score + 1)) ? 1 : 0)
            }
            let standardization = Standardization(of: rows)
            let fit = LogisticFit(standardization(rows), opened: opened, prior: .ridge(3, count: rows.width))
            views.append((fit.weights, standardization))
        }
        func sensed(_ campaign: Int, _ person: Int, _ slot: Int) -> Double {
            var features: [Double] = []
            appendSensed(person, slot, to: &features)
            let (weights, standardization) = views[campaign]
            return features.indices.reduce(0) { sum, index in
                let scaled = (features[index] - standardization.means[index + 1]) / standardization.scales[index + 1]
                return sum + weights[index + 2] * scaled
            }
        }
        return OracleBusyDaysPolicy(
            world: world, means: means,
            view: .init(score: sensed, quantiles: BusyDays.campaigns.indices.map { quantiles($0, sensed) }))
    }

    /// Chooses each message's best wake in hindsight, without regard to later messages.
    func prophet() -> PlannedPolicy {
        PlannedPolicy(world: world) { [world] campaign, person, slots in
            let reachable = slots.dropFirst().filter {
                $0 == slots[slots.count - 1] || world.arrived[(person * BusyDays.slots + $0) / BusyDays.stride]
            }
            func score(_ slot: Int) -> Double {
                Double(world.scores[campaign][person * BusyDays.slots + slot])
                    - world.settings.ageing * Double(slot - slots[0]) / 6
            }
            return reachable.max { score($0) < score($1) } ?? slots[0]
        }
    }

    private func appendSensed(_ person: Int, _ slot: Int, to row: inout [Double]) {
        SignalProducts.append(world.signals(person, slot), at: PocketDay.time(slot), to: &row)
    }

    private func daytimeSlot(_ random: inout WorldRandom) -> Int {
        random.below(14) * BusyDays.slotsPerDay + 48 + random.below(84)
    }

    /// Eight equally likely values of a score in daytime.
    private func quantiles(_ campaign: Int, _ score: (Int, Int, Int) -> Double) -> [Double] {
        var random = WorldRandom(seed: world.settings.seed, stream: 70 + campaign)
        let values = (0..<4000).map { _ in
            score(campaign, random.below(world.settings.people), daytimeSlot(&random))
        }.sorted()
        return (0..<8).map { PocketDayTrial.mean(Array(values[$0 * 500..<($0 + 1) * 500])) }
    }
}

extension Evaluation {
    /// All policies in the second or the third world.
    init(busyDays settings: BusyDays.Settings, world: String) throws {
        let trial = BusyDaysTrial(settings)
        let immediate = trial.run(PlannedPolicy.immediate(trial.world)).value
        let means = trial.means()
        let policies: [(String, any BusyDaysPolicy)] = [
            ("best_fixed_hour", trial.bestFixedHour()), ("sto_histogram", trial.histogram()),
            ("sto_lr", trial.learnedSendTime()), ("sto_oracle", trial.sendTimeOracle(means)),
            ("model_0", try trial.phone(labels: 0)), ("model_500", try trial.phone(labels: 500)),
            ("model_2000", try trial.phone(labels: 2000)), ("model_all", try trial.phone(labels: nil)),
            ("observable_oracle", trial.observableOracle(means)), ("latent_oracle", trial.latentOracle(means)),
            ("prophet", trial.prophet()),
        ]
        let lifts = policies.map { ($0.0, trial.run($0.1).value / immediate - 1) }
        self.init(
            seed: settings.seed, windowHours: nil, users: settings.people,
            lift: Dictionary(uniqueKeysWithValues: lifts), world: world)
    }
}
