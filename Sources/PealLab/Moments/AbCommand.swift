internal import ArgumentParser
import Foundation
import PealMomentTraining
import PealWorlds

/// `peal-lab ab`: checks the statistics of experiments against a simulated truth.
struct AbCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ab", abstract: "Measure false alarms, power and variance of the experiment statistics.")

    @Option(help: "Seed of all random choices.")
    var seed = 1

    @Option(help: "Runs of each experiment.")
    var runs = 200

    @Option(help: "Users in each experiment.")
    var users = 4000

    @Option(help: "Number of days; the results are evaluated every day.")
    var days = 28

    @Option(help: "People in the experiments of the second and the third world; 0 leaves them out.")
    var people = 700

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard runs > 0, users >= 100, days > 1, people == 0 || people >= 20 else {
            throw ValidationError(
                "--runs, --users and --days must be at least 1, 100 and 2; --people must be 0 or at least 20")
        }
    }

    func run() throws {
        let figures = try ExperimentFigures(
            seed: seed, runs: runs, users: users, days: days, people: people)
        print(json ? try Evaluation.encoded(figures) : figures.table)
    }
}

/// What `peal-lab ab` prints.
struct ExperimentFigures: Codable {
    struct Row: Codable {
        let lift: Double
        /// Shares of runs in which zero was excluded at any look.
        let naive: Double
        let alwaysValid: Double
        let withoutPriors: Double
        let medianDay: Int?

        enum CodingKeys: String, CodingKey {
            case lift, naive
            case alwaysValid = "always_valid"
            case withoutPriors = "without_priors"
            case medianDay = "median_day"
        }
    }

    struct RatioRow: Codable {
        let chance: Double
        let caught: Double
        let medianUsers: Int?

        enum CodingKeys: String, CodingKey {
            case chance, caught
            case medianUsers = "median_users"
        }
    }

    let runs: Int
    let users: Int
    let looks: Int
    let rows: [Row]
    let cupedVariance: Double
    let sampleRatio: [RatioRow]
    let worlds: [WorldExperiment]

    enum CodingKeys: String, CodingKey {
        case runs, users, looks, rows, worlds
        case cupedVariance = "cuped_variance"
        case sampleRatio = "sample_ratio"
    }

    init(seed: Int, runs: Int, users: Int, days: Int, people: Int) throws {
        (self.runs, self.users, looks) = (runs, users, days)
        var random = WorldRandom(seed: seed, stream: 90)
        var ratios: [Double] = []
        rows = [0, 0.15, 0.3].map { lift in
            let trial = ExperimentTrial(users: users, lift: lift, days: days)
            let outcomes = (0..<runs).map { _ in trial.run(&random) }
            ratios += outcomes.map(\.varianceRatio)
            func share(_ is: KeyPath<ExperimentTrial.Outcome, Bool>) -> Double {
                Double(outcomes.count { $0[keyPath: `is`] }) / Double(runs)
            }
            return Row(
                lift: lift, naive: share(\.naive), alwaysValid: share(\.alwaysValid),
                withoutPriors: share(\.withoutPriors), medianDay: Self.median(outcomes.compactMap(\.day)))
        }
        cupedVariance = PocketDayTrial.mean(ratios)
        sampleRatio = [0.5, 0.52, 0.55].map { chance in
            let alarms = (0..<runs).map { _ in ExperimentTrial.alarm(chance, users: 20_000, &random) }
            return RatioRow(
                chance: chance, caught: Double(alarms.count { $0 != nil }) / Double(runs),
                medianUsers: Self.median(alarms.compactMap { $0 }))
        }
        worlds =
            people == 0
            ? []
            : [
                try WorldExperiment("second", .second(seed: seed, people: people)),
                try WorldExperiment("third", .third(seed: seed, people: people)),
            ]
    }

    private static func median(_ values: [Int]) -> Int? {
        values.isEmpty ? nil : values.sorted()[values.count / 2]
    }

    var table: String {
        var lines = ["Zero excluded at any of \(looks) daily looks, \(users) users, \(runs) runs"]
        for row in rows {
            let names = [
                ("plain test", row.naive), ("always valid", row.withoutPriors), ("and CUPED", row.alwaysValid),
            ]
            let shares = names.map { "\($0.0) \(Evaluation.percent($0.1))" }.joined(separator: ", ")
            let day = row.medianDay.map { ", median day \($0)" } ?? ""
            lines.append("lift \(Evaluation.percent(row.lift)): \(shares)\(day)")
        }
        lines.append("CUPED leaves \(Evaluation.percent(cupedVariance)) of the variance")
        for row in sampleRatio {
            let users = row.medianUsers.map { ", median after \($0)" } ?? ""
            lines.append(
                "\(Evaluation.percent(row.chance)) of users in one arm: alarm in \(Evaluation.percent(row.caught)) "
                    + "by 20000 users\(users)")
        }
        for world in worlds {
            let bounds = [world.low, world.high].map(Evaluation.percent).joined(separator: " to ")
            lines.append(
                "\(world.world) world: true lift \(Evaluation.percent(world.trueLift)), measured "
                    + "\(Evaluation.percent(world.estimatedLift)) (\(bounds)), decision \(world.decision.rawValue)"
                    + (world.day.map { " on day \($0)" } ?? ""))
        }
        return lines.joined(separator: "\n")
    }
}
