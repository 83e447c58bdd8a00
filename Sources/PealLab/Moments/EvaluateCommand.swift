package import ArgumentParser
import PealWorlds

/// `peal-lab evaluate`: the lift of each policy in a synthetic world.
package struct EvaluateCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "evaluate", abstract: "Compare policies for the moment of a message in a synthetic world.")

    /// The worlds, which docs/moments.md describes.
    package enum World: String, ExpressibleByArgument, CaseIterable, Sendable {
        case first, second, third
    }

    @Option(help: "first: PocketDay. The others have two messages a day, with windows of 6 and of 12 hours.")
    var world = World.first

    @Option(help: "Seed of everything that happens in the world. (default: 1)")
    var seed: Int?

    @Option(help: "Several seeds, such as 1-10 or 7,101,202: prints means and the worst.")
    var seeds: SeedList?

    @Option(help: "First world: length of the delivery window in hours, 1 to 12. (default: 6)")
    var windowHours: Int?

    @Option(help: "People in the world.")
    var users = 1500

    @Option(help: "First world: feature schema, 3 or 1; schema 1 is the yardstick. (default: 3)")
    var schema: Int?

    @Option(
        help: """
            First world: earlier campaigns that have taught the prior; 0 for an installation's first campaign. \
            (default: 6)
            """)
    var earlierCampaigns: Int?

    @Option(help: "First world: factor on all scores of the model. (default: 1)")
    var slope: Double?

    @Option(help: "First world: offset added to all scores of the model. (default: 0)")
    var intercept: Double?

    @Option(
        help: "First world: what phones believe about the chance that a wake arrives, 0 to 1. (default: the truth)")
    var assumedArrival: Double?

    @Flag(help: "Print JSON.")
    var json = false

    package init() {}

    package func validate() throws {
        guard seed == nil || seeds == nil else { throw ValidationError("give either --seed or --seeds") }
        guard users >= 20 else { throw ValidationError("--users must be at least 20") }
        if let refusal = choices.refusal(in: world) { throw ValidationError(refusal) }
    }

    private var choices: FirstWorldChoices {
        FirstWorldChoices(
            windowHours: windowHours, schema: schema, earlierCampaigns: earlierCampaigns, slope: slope,
            intercept: intercept, assumedArrival: assumedArrival)
    }

    package func run() throws {
        let seeds = self.seeds?.numbers ?? [seed ?? 1]
        var evaluations: [Evaluation] = []
        for seed in seeds {
            let evaluation = try evaluate(seed)
            evaluations.append(evaluation)
            if json, self.seeds == nil { return print(try evaluation.json()) }
            if !json, seeds.count > 1 { print(evaluation.line) }
        }
        if json {
            print(try EvaluationSummary(evaluations).json())
        } else {
            print(seeds.count == 1 ? evaluations[0].table : EvaluationSummary(evaluations).table)
        }
    }

    private func evaluate(_ seed: Int) throws -> Evaluation {
        switch world {
        case .first:
            var settings = PocketDayTrial.Settings()
            (settings.seed, settings.people, settings.windowHours) = (seed, users, windowHours ?? 6)
            return try Evaluation(pocketDay: settings, choices.options)
        case .second: return try Evaluation(busyDays: .second(seed: seed, people: users), world: world.rawValue)
        case .third: return try Evaluation(busyDays: .third(seed: seed, people: users), world: world.rawValue)
        }
    }
}

/// The numbers of `--seeds`, each once: a range such as 1-10, or a list of numbers and ranges.
struct SeedList: ExpressibleByArgument, Sendable {
    private static let rangeMax = 1000

    let numbers: [Int]

    /// nil for anything else.
    init?(argument: String) {
        var numbers: [Int] = []
        for part in argument.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard ends.count <= 2, let first = ends[0], let last = ends[ends.count - 1], first <= last,
                last - first < Self.rangeMax
            else { return nil }
            for number in first...last where !numbers.contains(number) { numbers.append(number) }
        }
        self.numbers = numbers
    }
}

/// The options that only the first world has; nil for those that were not given.
struct FirstWorldChoices {
    var windowHours: Int?
    var schema: Int?
    var earlierCampaigns: Int?
    var slope: Double?
    var intercept: Double?
    var assumedArrival: Double?

    /// Greater factors and offsets make every score infinite.
    private static let distortionMax = 100.0

    var options: EvaluationOptions {
        var options = EvaluationOptions()
        options.schema = schema ?? options.schema
        options.earlierCampaigns = earlierCampaigns ?? options.earlierCampaigns
        options.distortion = PhonePolicy.Distortion(
            slope: slope ?? 1, intercept: intercept ?? 0, assumedArrival: assumedArrival)
        return options
    }

    /// Why the options cannot be used; nil if they can.
    func refusal(in world: EvaluateCommand.World) -> String? {
        let given: [(name: String, isGiven: Bool)] = [
            ("--window-hours", windowHours != nil), ("--schema", schema != nil),
            ("--earlier-campaigns", earlierCampaigns != nil), ("--slope", slope != nil),
            ("--intercept", intercept != nil), ("--assumed-arrival", assumedArrival != nil),
        ]
        if world != .first, let other = given.first(where: { $0.isGiven }) {
            return "\(other.name) is an option of the first world."
        }
        if !(1...12).contains(windowHours ?? 6) { return "--window-hours must be 1 to 12." }
        if ![1, 3].contains(schema ?? 3) { return "--schema must be 3 or 1." }
        if !(0...20).contains(earlierCampaigns ?? 6) { return "--earlier-campaigns must be 0 to 20." }
        for (name, value) in [("--slope", slope), ("--intercept", intercept)] {
            // Not a number is in no range.
            guard !(-Self.distortionMax...Self.distortionMax).contains(value ?? 0) else { continue }
            return "\(name) must be a number from -100 to 100."
        }
        if !(0...1).contains(assumedArrival ?? 1) { return "--assumed-arrival must be a number from 0 to 1." }
        return nil
    }
}
