package import ArgumentParser
import Foundation
import PealCore

/// `peal-lab`: tests and measurements that are not part of the server.
package struct LabCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "peal-lab", abstract: "Test and measure Peal.",
        subcommands: [
            FuzzCommand.self, TortureCommand.self, EvaluateCommand.self, AbCommand.self, MomentReportCommand.self,
            CampaignTrialCommand.self, CostCommand.self, BenchCommand.self, LifecyclesCommand.self,
        ])

    package init() {}
}

/// `peal-lab bench`: the programs with which `make bench` compares Peal, and parts of Peal measured alone.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Parts of the benchmarks in Benchmarks/.",
        subcommands: [SenderBench.self, RouteBench.self, LoadBench.self])

    /// The JSON in a file.
    static func document(_ file: String) throws -> JSON {
        try JSONParser.parse(Array(try Data(contentsOf: URL(fileURLWithPath: file))))
    }

    /// Prints one line of JSON.
    static func report(_ figures: JSON) {
        StandardStream.print(figures.text)
    }
}
