internal import ArgumentParser

/// `peal webhook delete`.
struct WebhookDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a webhook with what waits for it.")

    @Argument(help: "Name of the webhook.")
    var name: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name)
        options.showDone(try await options.client().send(.delete, path), "Webhook \(name) is deleted.")
    }
}
