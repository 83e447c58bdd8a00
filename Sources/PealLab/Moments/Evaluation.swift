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

extension Evaluation {
    func json() throws -> String { try Self.encoded(self) }

    var line: String {
        let numbers = Self.labelCounts.map { "\($0) \(Self.percent(efficiency[$0] ?? nil))" }
        let window = windowHours.map { "\($0) h, " } ?? ""
        return "seed \(seed), \(window)E: " + numbers.joined(separator: ", ")
    }

    var table: String {
        let rows = Self.labelCounts.map { Self.padded($0, 8) + Self.percent(efficiency[$0] ?? nil) }
        return Self.liftTable(lift) + "\n\nE, the share of the observable oracle's lift, by labels\n"
            + rows.joined(separator: "\n") + "\n\n" + Self.ratios(lift)
    }

    static func liftTable(_ lift: [String: Double]) -> String {
        "Lift of opens over immediate delivery\n"
            + policies.map { padded($0, 20) + percent(lift[$0]) }.joined(separator: "\n")
    }

    /// Opens of the full model as multiples of the simplest alternatives.
    static func ratios(_ lift: [String: Double]) -> String {
        let model = 1 + (lift["model_all"] ?? .nan)
        let sendTime = model / (1 + (lift["sto_lr"] ?? .nan))
        return String(format: "Opens: %.2f × learned send-time, %.2f × immediate", sendTime, model)
    }

    static func percent(_ share: Double?) -> String { share.map { String(format: "%6.1f %%", 100 * $0) } ?? "     –" }

    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 1))
    }

    static func encoded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

/// Means over seeds, and the worst of them.
struct EvaluationSummary: Codable {
    let seeds: [Int]
    /// See `Evaluation`.
    let windowHours: Int?
    let world: String?
    let users: Int
    let lift: [String: Double]
    /// Over the seeds in which the observable oracle has a positive lift; nil if there are none.
    let efficiency: [String: Double?]
    let worst: [String: Double?]
    /// Standard errors of the means of E.
    let errors: [String: Double]

    enum CodingKeys: String, CodingKey {
        case seeds, users, lift, worst, world
        case windowHours = "window_hours"
        case efficiency = "E"
        case errors = "E_standard_error"
    }

    init(_ evaluations: [Evaluation]) {
        seeds = evaluations.map(\.seed)
        windowHours = evaluations.first?.windowHours
        world = evaluations.first?.world
        users = evaluations.first?.users ?? 0
        func values(_ label: String) -> [Double] { evaluations.compactMap { $0.efficiency[label] ?? nil } }
        func over<Value>(_ names: [String], _ value: (String) -> Value) -> [String: Value] {
            Dictionary(uniqueKeysWithValues: names.map { ($0, value($0)) })
        }
        lift = over(Evaluation.policies) { policy in
            PocketDayTrial.mean(evaluations.compactMap { $0.lift[policy] })
        }
        efficiency = over(Evaluation.labelCounts) { values($0).isEmpty ? nil : PocketDayTrial.mean(values($0)) }
        worst = over(Evaluation.labelCounts) { values($0).min() }
        errors = over(Evaluation.labelCounts) { label in
            let sample = values(label)
            let mean = PocketDayTrial.mean(sample)
            let squares = sample.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
            let count = Double(sample.count)
            return count > 1 ? (squares / (count - 1) / count).squareRoot() : 0
        }
    }

    var table: String {
        let rows = Evaluation.labelCounts.map { label in
            let numbers = [efficiency[label] ?? nil, errors[label], worst[label] ?? nil].map(Evaluation.percent)
            return "\(Evaluation.padded(label, 8)) mean \(numbers[0]) ± \(numbers[1]), worst \(numbers[2])"
        }
        return Evaluation.liftTable(lift) + "\n\nE over \(seeds.count) seeds, by labels\n"
            + rows.joined(separator: "\n")
            + "\n\n" + Evaluation.ratios(lift)
    }

    func json() throws -> String { try Evaluation.encoded(self) }
}
