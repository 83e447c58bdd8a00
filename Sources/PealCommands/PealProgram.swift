internal import ArgumentParser
internal import PealCore
internal import PealServer

/// The command line: takes arguments and returns an exit code. Commands read and print through `Surroundings`, which
/// tests replace.
package enum PealProgram {
    /// Runs the command of this process.
    /// - Parameter arguments: with the program's name. On Linux, Swift reads them from /proc.
    /// - Returns: the exit code.
    package static func main(_ arguments: [String], in surroundings: Surroundings = .process) async -> Int32 {
        guard !arguments.isEmpty else {
            surroundings.warn("the arguments of this process cannot be read: /proc is not mounted")
            return 1
        }
        return await run(Array(arguments.dropFirst()), in: surroundings)
    }

    /// Runs one command.
    /// - Parameter arguments: without the program's name.
    /// - Returns: 0 success, 1 refused or failed, 2 invalid usage, 3 server unreachable.
    package static func run(_ arguments: [String], in surroundings: Surroundings = .process) async -> Int32 {
        var surroundings = surroundings
        let parsed: Result<any ParsableCommand, any Error>
        do throws(CommandFailure) {
            try CommandSuggestions.check(arguments)
            parsed = Result { try PealCommand.parseAsRoot(arguments) }
            let options = (try? parsed.get()).flatMap(ClientOptions.used)
            surroundings.environment = try Profiles.environment(for: options, in: surroundings)
        } catch {
            surroundings.warn(error.description)
            return error.exitCode
        }
        return await Surroundings.$current.withValue(surroundings) {
            do {
                var command = try parsed.get()
                if var asynchronous = command as? any AsyncParsableCommand {
                    try await asynchronous.run()
                } else {
                    try command.run()
                }
                return 0
            } catch {
                return report(error)
            }
        }
    }

    /// Prints an error to standard error and returns the exit code. A request for help is not an error.
    private static func report(_ error: any Error) -> Int32 {
        let surroundings = Surroundings.current
        if case CommandFailure.dryRun(let request)? = error as? CommandFailure {
            surroundings.print(request.text)
            return 0
        }
        if let failure = error as? CommandFailure {
            surroundings.warn(failure.description)
            return failure.exitCode
        }
        let text = PealCommand.fullMessage(for: error)
        guard PealCommand.exitCode(for: error) != .success else {
            surroundings.print(text)
            return 0
        }
        surroundings.warn(text)
        return CommandFailure.usage("").exitCode
    }
}

/// `peal`: the server, and the commands that talk to a running one.
struct PealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peal",
        abstract: "A self-hosted push notification server.",
        discussion: """
            Client commands talk to a running server. Name it with --server or PEAL_SERVER_URL, and authenticate with \
            --api-key-file, PEAL_API_KEY or PEAL_ADMIN_TOKEN.
            Exit codes: 0 success, 1 refused or failed, 2 invalid usage, 3 server unreachable.
            """,
        version: "peal \(PealVersion.current)",
        groupedSubcommands: [
            CommandGroup(
                name: "Server",
                subcommands: [
                    ServeCommand.self, MigrateCommand.self, StoreCommand.self, DoctorCommand.self, BackupCommand.self,
                    RestoreCommand.self, VersionCommand.self,
                ]),
            CommandGroup(
                name: "Client",
                subcommands: [
                    AppCommand.self, CredentialCommand.self, KeyCommand.self, DeviceCommand.self, TopicCommand.self,
                    UserCommand.self, SegmentCommand.self, AudienceCommand.self, ChannelCommand.self,
                    MessageCommand.self, ScheduleCommand.self, CampaignCommand.self, WebhookCommand.self,
                    ImportCommand.self,
                    ExportCommand.self, AuditCommand.self, AdminCommand.self, StatusCommand.self,
                ]),
        ])
}

/// Why a command failed. Its description is printed.
enum CommandFailure: Error, CustomStringConvertible, Equatable {
    /// The server refused the request.
    case refused(String)
    /// The command line is invalid.
    case usage(String)
    /// The server did not answer.
    case unreachable(String)
    /// A server command failed.
    case failed(String)
    /// The request that a dry run does not send. It is printed, and the command succeeds.
    case dryRun(JSON)

    static let incompleteList = CommandFailure.failed(
        "items or their details are missing, because the server's database is damaged; its log names the rows")

    var exitCode: Int32 {
        switch self {
        case .dryRun: 0
        case .refused, .failed: 1
        case .usage: 2
        case .unreachable: 3
        }
    }

    var description: String {
        switch self {
        case .refused(let text), .usage(let text), .unreachable(let text), .failed(let text): text
        case .dryRun(let request): request.text
        }
    }
}

/// Suggests the command that a mistyped one was probably meant to be.
enum CommandSuggestions {
    /// - Throws: `usage` when a word in the position of a command is not a command.
    static func check(_ arguments: [String]) throws(CommandFailure) {
        var command: any ParsableCommand.Type = PealCommand.self
        var path = "peal"
        for argument in arguments {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !argument.hasPrefix("-") else { return }
            if argument == "help" {
                // Only `peal help …` names a command after it.
                guard path == "peal" else { return }
                continue
            }
            if let next = find(argument, among: commands) {
                command = next
                path += " \(argument)"
                continue
            }
            guard command.configuration.defaultSubcommand == nil else { return }
            var (known, all): ([String], [String]) = ([], [])
            for command in commands {
                known += names(of: command)
                if let name = command.configuration.commandName { all.append(name) }
            }
            var advice = "commands are " + all.joined(separator: ", ")
            if let near = Spelling.nearest(to: argument, known) { advice = "did you mean \(near)?" }
            throw .usage("\(path) has no command \(argument); \(advice)")
        }
    }

    private static func find(
        _ name: String, among commands: [any ParsableCommand.Type]
    ) -> (any ParsableCommand.Type)? {
        for command in commands where names(of: command).contains(name) { return command }
        return nil
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        let configuration = command.configuration
        return (configuration.commandName.map { [$0] } ?? []) + configuration.aliases
    }
}
