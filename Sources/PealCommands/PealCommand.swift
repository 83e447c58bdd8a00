internal import ArgumentParser

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
