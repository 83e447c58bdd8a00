internal import ArgumentParser
internal import PealServer

/// The options of commands that are the server. Keys of the configuration are not listed here a second time: whatever
/// is not known to the command line goes to the configuration, which refuses what it does not know either.
struct ServerOptions: ParsableArguments {
    @Option(help: "YAML file with configuration (PEAL_CONFIG).")
    var config: String?

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "Configuration as options, as --http-port 8081; peal serve --print-config lists every key.",
            valueName: "option"))
    var settings: [String] = []

    /// - Throws: `CommandFailure.usage` with the configuration's own line.
    func load() async throws -> ServerConfiguration {
        let arguments = (config.map { ["--config", $0] } ?? []) + settings
        return try await CommandFailure.naming {
            try await ServerConfiguration.load(arguments: arguments, environment: Surroundings.current.environment)
        }
    }
}

extension CommandFailure {
    /// Runs a piece of the server and turns what it throws into one line for people.
    static func naming<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let failure as ConfigurationFailure {
            throw CommandFailure.usage("peal: \(failure)")
        } catch {
            throw CommandFailure.failed("peal: \(error)")
        }
    }
}
