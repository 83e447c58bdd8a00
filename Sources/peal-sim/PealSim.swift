import ArgumentParser
import PealPhones
import PealSimulator

/// The program: the push-network simulator, and phones that use it.
@main
struct PealSim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peal-sim", abstract: "Simulate push networks and phones.",
        subcommands: [SimulatorCommand.self, PhonesCommand.self], defaultSubcommand: SimulatorCommand.self)
}
