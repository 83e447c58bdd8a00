internal import ArgumentParser

/// `peal webhook`: where an app is told of what happened.
struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Put, list and delete an app's webhooks, and see what was delivered.",
        subcommands: [
            WebhookPutCommand.self, WebhookListCommand.self, WebhookShowCommand.self, WebhookDeleteCommand.self,
            WebhookDeliveriesCommand.self, WebhookRetryCommand.self,
        ])
}
