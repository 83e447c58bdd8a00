package import ArgumentParser

/// `peal-lab`: proofs and measurements that are no part of the server.
package struct LabCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "peal-lab", abstract: "The laboratory: what proves and measures Peal.",
        subcommands: [
            FuzzCommand.self, EvaluateCommand.self, AbCommand.self, MomentReportCommand.self, CostCommand.self,
        ])

    package init() {}
}
