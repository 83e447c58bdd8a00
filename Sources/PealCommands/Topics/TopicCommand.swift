internal import ArgumentParser

/// `peal topic`: the labels that devices subscribe to.
struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic", abstract: "List, show, make and delete topics.",
        subcommands: [TopicListCommand.self, TopicShowCommand.self, TopicPutCommand.self, TopicDeleteCommand.self])
}
