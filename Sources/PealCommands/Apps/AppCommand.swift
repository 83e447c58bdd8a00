internal import ArgumentParser

/// `peal app`: the applications of a server.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Make, change, show and delete apps.",
        subcommands: [
            AppCreateCommand.self, AppListCommand.self, AppShowCommand.self, AppUpdateCommand.self,
            AppDeleteCommand.self,
        ])

    static let columns = ["id", "name", "bundle_id", "created_at"]
}
