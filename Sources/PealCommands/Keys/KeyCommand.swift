internal import ArgumentParser

/// `peal key`: the keys with which callers open an app.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make, list and revoke an app's keys.",
        subcommands: [KeyCreateCommand.self, KeyListCommand.self, KeyDeleteCommand.self])
}
