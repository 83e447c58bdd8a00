internal import ArgumentParser
import Foundation
import PealWorlds

/// `peal-lab campaign`: predicts what an experiment with simulated phones finds.
struct CampaignTrialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "campaign", abstract: "Predict the lift of a campaign of `peal-sim phones`.",
        discussion: """
            The same world, messages and chances, with the server's wake-up budget, exploration and training and the \
            phones' decisions, but without a network. Everybody gets chosen moments, so there is no noise from who is \
            in which arm.
            """)

    @Option(help: "Seed of everything that happens in the world.")
    var seed = 1

    @Option(help: "People in the world.")
    var users = 1000

    @Option(help: "Simulated days, 1 to 14.")
    var days = 7

    @Option(help: "Length of the delivery windows in hours, 1 to 12.")
    var windowHours = 6

    @Option(help: "Simulated minutes between two steps: 10, 20, 30 or 60.")
    var stepMinutes = 10

    @Option(help: "The share of messages that are cancelled in their window.")
    var cancelled = 0.03

    @Option(help: "The chance that a wake-up reaches its phone.")
    var arrival = 0.8

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (1...100_000).contains(users) else { throw ValidationError("--users must be 1 to 100000") }
        guard (1...14).contains(days) else { throw ValidationError("--days must be 1 to 14") }
        guard (1...12).contains(windowHours) else { throw ValidationError("--window-hours must be 1 to 12") }
        guard [10, 20, 30, 60].contains(stepMinutes) else {
            throw ValidationError("--step-minutes must be 10, 20, 30 or 60")
        }
        guard (0...1).contains(cancelled), (0...1).contains(arrival) else {
            throw ValidationError("--cancelled and --arrival must be 0 to 1")
        }
    }

    func run() throws {
        var settings = CampaignTrial.Settings()
        (settings.seed, settings.people, settings.arrival) = (seed, users, arrival)
        (settings.plan.days, settings.plan.windowHours) = (days, windowHours)
        (settings.plan.cancelled, settings.plan.stride) = (cancelled, stepMinutes / 10)
        var trial = CampaignTrial(settings)
        let outcome = try trial.run()
        print(json ? try outcome.json() : outcome.table)
    }
}

extension CampaignTrial.Outcome {
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    var table: String {
        func percent(_ share: Double) -> String { String(format: "%.2f %%", 100 * share) }
        return """
            \(users) people, \(days) days, seed \(seed), windows of \(windowHours) h
              messages \(messages): \(shownByPhone) shown by the phone, \(cancelled) cancelled, \
            \(calibrating) sent while the campaign calibrated
              wake-ups \(wakes), labels \(labels), models \(models)
              lift \(String(format: "%+.1f %%", 100 * lift)): opens \(percent(immediateRate)) at once, \
            \(percent(chosenRate)) at chosen moments
            """
    }
}
