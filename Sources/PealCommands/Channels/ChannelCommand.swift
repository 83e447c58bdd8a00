internal import ArgumentParser

/// `peal channel`: broadcast channels for Live Activities.
struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Make, list, show and delete APNs broadcast channels.",
        subcommands: [
            ChannelCreateCommand.self, ChannelListCommand.self, ChannelShowCommand.self, ChannelDeleteCommand.self,
        ])
}
