internal import ArgumentParser
internal import PealServer

/// `peal serve`: runs the server until it is told to stop.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the server until SIGTERM or SIGINT.")

    @Flag(help: "Print every configuration key with its type, default and present value, and exit.")
    var printConfig = false

    @OptionGroup var options: ServerOptions

    func run() async throws {
        let configuration = try await options.load()
        if printConfig {
            Surroundings.current.print(configuration.printed())
        } else {
            try await CommandFailure.naming { try await runServer(configuration) }
        }
    }
}
