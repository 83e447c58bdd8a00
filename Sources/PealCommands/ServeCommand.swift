internal import ArgumentParser
internal import PealCore
internal import PealServer

/// `peal serve`: runs the server.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the server until SIGTERM or SIGINT.")

    @Flag(help: "Print every configuration key with its type, default and value, and exit.")
    var printConfig = false

    @Flag(help: "Accept messages but send nothing, for example after a restore. Restart without it to resume sending.")
    var paused = false

    @OptionGroup var options: ServerOptions

    func run() async throws {
        let configuration = try await options.load()
        if printConfig {
            Surroundings.current.print(configuration.printed())
        } else {
            try await CommandFailure.naming {
                try await runServer(
                    configuration, isPaused: paused, reload: { [options] in try await options.configuration() })
            }
        }
    }
}

/// The options of the server commands. Configuration keys are not declared here again: unknown options are passed to
/// the configuration, which rejects those that are not keys.
struct ServerOptions: ParsableArguments {
    @Option(help: "YAML file with the configuration. Default: PEAL_CONFIG.", completion: .file())
    var config: String?

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "Configuration keys as options, such as --http-port 8081; peal serve --print-config lists all.",
            valueName: "option"))
    var settings: [String] = []

    /// Runs a step that works on the files and the database of this machine, and prints what it returns.
    func print(_ step: (ServerConfiguration) async throws -> String) async throws {
        let configuration = try await load()
        Surroundings.current.print(try await CommandFailure.naming { try await step(configuration) })
    }

    /// - Throws: `CommandFailure.usage` for an invalid configuration.
    func load() async throws -> ServerConfiguration {
        try await CommandFailure.naming { try await configuration() }
    }

    /// - Throws: `ConfigurationFailure` for an invalid configuration.
    func configuration() async throws -> ServerConfiguration {
        let arguments = (config.map { ["--config", $0] } ?? []) + settings
        return try await ServerConfiguration.load(
            arguments: arguments, environment: Surroundings.current.environment)
    }
}

extension CommandFailure {
    /// Runs a part of the server, and turns its errors into one line.
    static func naming<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let failure as ConfigurationFailure {
            throw failure.mayPass ? CommandFailure.failed("peal: \(failure)") : .usage("peal: \(failure)")
        } catch {
            throw CommandFailure.failed("peal: \(error)")
        }
    }
}

/// `peal migrate`: migrates the database and exits.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Migrate the database to this version's schema.")

    @Flag(help: "Only show what would be done.")
    var dryRun = false

    @OptionGroup var options: ServerOptions

    func run() async throws {
        try await options.print { try await migrateStore($0, isDry: dryRun) }
    }
}

/// `peal version`.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    @Flag(help: "Print JSON.")
    var json = false

    func run() {
        let document: JSON = ["version": .string(PealVersion.current)]
        Surroundings.current.print(json ? document.text : "peal \(PealVersion.current)")
    }
}
