internal import ArgumentParser

/// `peal webhook show`.
struct WebhookShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show a webhook.")

    @Argument(help: "Name of the webhook.")
    var name: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name)
        options.show(try await options.client().send(.get, path))
    }
}
