internal import ArgumentParser
internal import PealCore
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

/// `peal migrate`: brings the database to the schema of this program and ends.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Bring the database to this program's schema.")

    @OptionGroup var options: ServerOptions

    func run() async throws {
        let configuration = try await options.load()
        Surroundings.current.print(try await CommandFailure.naming { try await migrateStore(configuration) })
    }
}

/// `peal version`: which program this is.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    @Flag(help: "Print one JSON document.")
    var json = false

    func run() {
        let document: JSON = ["version": .string(PealVersion.current)]
        Surroundings.current.print(json ? document.text : "peal \(PealVersion.current)")
    }
}
