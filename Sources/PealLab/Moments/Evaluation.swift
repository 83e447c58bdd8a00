import Foundation
import PealMomentTraining
import PealMoments
import PealWorlds

/// The results of all policies in one world: the output of `peal-lab evaluate`.
struct Evaluation: Sendable, Codable {
    let seed: Int
    /// nil in the worlds that have windows of two lengths.
    let windowHours: Int?
    /// nil for PocketDay.
    let world: String?
    let users: Int
    /// By policy: the relative increase of opens over immediate display.
    let lift: [String: Double]
    /// By number of labels: the share of the observable oracle's lift; nil if the oracle has none.
    let efficiency: [String: Double?]

    enum CodingKeys: String, CodingKey {
        case seed, users, lift, world
        case windowHours = "window_hours"
        case efficiency = "E"
    }

    /// The order of policies in tables.
    static let policies = [
        "best_fixed_hour", "sto_histogram", "sto_lr", "sto_oracle", "model_0", "model_500", "model_2000", "model_all",
        "observable_oracle", "latent_oracle", "prophet",
    ]
    static let labelCounts = ["0", "500", "2000", "all"]

    /// - Parameter lift: of every policy.
    init(seed: Int, windowHours: Int?, users: Int, lift: [String: Double], world: String? = nil) {
        (self.seed, self.windowHours, self.users, self.lift) = (seed, windowHours, users, lift)
        self.world = world
        let limit = lift["observable_oracle"] ?? .nan
        efficiency = Dictionary(
            uniqueKeysWithValues: Self.labelCounts.map { count in
                (count, limit > 0 ? (lift["model_\(count)"] ?? .nan) / limit : nil)
            })
    }
}

/// Which models are evaluated in PocketDay.
struct EvaluationOptions: Sendable, Hashable {
    var schema = FeatureSchema.version
    var earlierCampaigns = 6
    var distortion = PhonePolicy.Distortion()
    /// Samples of 500 and of 2,000 labels, whose mean is reported.
    var draws = 3
}

extension Evaluation {
    /// All policies in PocketDay.
    init(pocketDay settings: PocketDayTrial.Settings, _ options: EvaluationOptions = EvaluationOptions()) throws {
        let trial = PocketDayTrial(settings)
        let server = ServerPolicies(trial: trial)
        let oracles = PocketDayOracles(trial)
        var choices = [
            "best_fixed_hour": server.bestFixedHour(), "sto_histogram": server.histogram(),
            "sto_lr": server.learned(Habits(trial)),
            "sto_oracle": server.oracle(), "observable_oracle": oracles.observable(),
            "latent_oracle": oracles.latent(), "prophet": oracles.prophet(),
        ].mapValues { trial.lift(trial.values($0)) }
        let models = try Self.modelLifts(trial, options)
        choices.merge(models) { $1 }
        self.init(
            seed: settings.seed, windowHours: settings.windowHours, users: settings.people, lift: choices)
    }

    private static func modelLifts(_ trial: PocketDayTrial, _ options: EvaluationOptions) throws -> [String: Double] {
        let all = trial.labels.count
        let policy: any TrialPolicy =
            options.schema == 1
            ? FirstSchemaPolicy(trial, earlierCampaigns: options.earlierCampaigns)
            : PhonePolicy(trial, earlierCampaigns: options.earlierCampaigns)
        func lift(_ labels: Int, draws: Int) throws -> Double {
            let lifts = try (0..<draws).map { draw in
                let choices = try policy.choices(labels: labels, draw: draw, options.distortion)
                return trial.lift(trial.values(choices))
            }
            return PocketDayTrial.mean(lifts)
        }
        return [
            "model_0": try lift(0, draws: 1), "model_500": try lift(500, draws: options.draws),
            "model_2000": try lift(2000, draws: options.draws), "model_all": try lift(all, draws: 1),
        ]
    }
}

/// A policy on phones that learns from labels: the product's, and the first schema's for comparison.
protocol TrialPolicy {
    /// The wake at which each message is shown, with a model trained on this number of labels.
    func choices(labels: Int, draw: Int, _ distortion: PhonePolicy.Distortion) throws -> [Int]
}

extension PhonePolicy: TrialPolicy {
    func choices(labels: Int, draw: Int, _ distortion: Distortion) throws -> [Int] {
        choices(
            try model(labels: labels, draw: draw, distortion: distortion), assumedArrival: distortion.assumedArrival)
    }
}
