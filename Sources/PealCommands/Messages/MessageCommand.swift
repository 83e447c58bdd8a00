internal import ArgumentParser

/// `peal message`: sends, and what became of what was sent.
struct MessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message", abstract: "Send, validate, follow, pause and cancel messages.",
        subcommands: [
            MessageSendCommand.self, MessageValidateCommand.self, MessageShowCommand.self, MessageListCommand.self,
            MessageCancelCommand.self, MessagePauseCommand.self, MessageResumeCommand.self,
            MessageExplainCommand.self,
        ])
}
