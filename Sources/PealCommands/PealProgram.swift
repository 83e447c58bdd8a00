internal import ArgumentParser

/// The whole command line: takes arguments, gives the exit code. What a command reads and prints goes through
/// `Surroundings`, so that tests can stand around it.
package enum PealProgram {
    /// Runs one command to its end.
    /// - Parameter arguments: without the program's name.
    /// - Returns: 0 done, 1 refused or failed, 2 wrong usage, 3 server unreachable.
    package static func run(_ arguments: [String], in surroundings: Surroundings = .process) async -> Int32 {
        await Surroundings.$current.withValue(surroundings) {
            do {
                var command = try PealCommand.parseAsRoot(arguments)
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

    /// Says what went wrong, on standard error, and chooses the exit code; a request for help is no error.
    private static func report(_ error: any Error) -> Int32 {
        let surroundings = Surroundings.current
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
            The client's commands talk to a running server: --server or PEAL_SERVER_URL, with --api-key, PEAL_API_KEY \
            or PEAL_ADMIN_TOKEN.
            Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 server unreachable.
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "Server",
                subcommands: [
                    ServeCommand.self, MigrateCommand.self, DoctorCommand.self, VersionCommand.self,
                ]),
            CommandGroup(
                name: "Client",
                subcommands: [
                    AppCommand.self, CredentialCommand.self, KeyCommand.self, DeviceCommand.self, TopicCommand.self,
                    ChannelCommand.self, MessageCommand.self, WebhookCommand.self, ImportCommand.self,
                    ExportCommand.self,
                ]),
        ])
}

/// Why a command did not do what it was told; its description is what the person reads.
enum CommandFailure: Error, CustomStringConvertible, Equatable {
    /// The server said no.
    case refused(String)
    /// The command cannot be carried out as it was written.
    case usage(String)
    /// No answer came from the server.
    case unreachable(String)
    /// A server command ended badly.
    case failed(String)

    var exitCode: Int32 {
        switch self {
        case .refused, .failed: 1
        case .usage: 2
        case .unreachable: 3
        }
    }

    var description: String {
        switch self {
        case .refused(let text), .usage(let text), .unreachable(let text), .failed(let text): text
        }
    }
}
