package import ArgumentParser
import Foundation
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
