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

    @Option(help: "Seed of everything that happens in the world.")
    var seed = 1

    @Option(help: "Several seeds, such as 1-10 or 7,101,202: prints means and the worst.")
    var seeds: String?

    @Option(help: "Length of the delivery window in hours, 1 to 12; the first world's only.")
    var windowHours = 6

    @Option(help: "People in the world.")
    var users = 1500

    @Option(help: "Feature schema, 2 or 1; the first is the yardstick.")
    var schema = 2

    @Option(help: "Earlier campaigns that have taught the prior; 0 for an installation's first campaign.")
    var earlierCampaigns = 6

    @Option(help: "Factor on all scores of the model.")
    var slope = 1.0

    @Option(help: "Offset added to all scores of the model.")
    var intercept = 0.0

    @Option(help: "What phones believe about the chance that a wake arrives; the truth when absent.")
    var assumedArrival: Double?

    @Flag(help: "Print JSON.")
    var json = false

    package init() {}

    package func validate() throws {
        guard (1...12).contains(windowHours) else { throw ValidationError("--window-hours is 1 to 12.") }
        guard users >= 20 else { throw ValidationError("--users is at least 20.") }
        guard schema == 2 || schema == 1 else { throw ValidationError("--schema is 2 or 1.") }
        guard (0...20).contains(earlierCampaigns) else { throw ValidationError("--earlier-campaigns is 0 to 20.") }
        _ = try seedNumbers()
    }

    package func run() throws {
        let seeds = try seedNumbers()
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
            var options = EvaluationOptions()
            (options.schema, options.earlierCampaigns) = (schema, earlierCampaigns)
            options.distortion = PhonePolicy.Distortion(
                slope: slope, intercept: intercept, assumedArrival: assumedArrival)
            var settings = PocketDayTrial.Settings()
            (settings.seed, settings.people, settings.windowHours) = (seed, users, windowHours)
            return try Evaluation(pocketDay: settings, options)
        case .second:
            return try Evaluation(busyDays: .second(seed: seed, people: users), windowHours: windowHours)
        case .third:
            return try Evaluation(busyDays: .third(seed: seed, people: users), windowHours: windowHours)
        }
    }

    private func seedNumbers() throws -> [Int] {
        guard let seeds else { return [seed] }
        return try seeds.split(separator: ",").flatMap { part in
            let ends = part.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, ends.count <= 2, first <= last, last - first < 1000
            else { throw ValidationError("--seeds is a range such as 1-10, or a list such as 7,101.") }
            return Array(first...last)
        }
    }
}

/// Means over seeds, and the worst of them.
struct EvaluationSummary: Codable {
    let seeds: [Int]
    let windowHours: Int
    let users: Int
    let lift: [String: Double]
    /// Over the seeds in which the observable oracle has a positive lift; nil if there are none.
    let efficiency: [String: Double?]
    let worst: [String: Double?]
    /// Standard errors of the means of E.
    let errors: [String: Double]

    enum CodingKeys: String, CodingKey {
        case seeds, users, lift, worst
        case windowHours = "window_hours"
        case efficiency = "E"
        case errors = "E_standard_error"
    }

    init(_ evaluations: [Evaluation]) {
        seeds = evaluations.map(\.seed)
        windowHours = evaluations.first?.windowHours ?? 0
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
        return "seed \(seed), \(windowHours) h, E: " + numbers.joined(separator: ", ")
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
