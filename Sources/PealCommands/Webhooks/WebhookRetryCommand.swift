internal import ArgumentParser

/// `peal webhook retry`.
struct WebhookRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Have a failed delivery tried for another day, a pending one at once.")

    @Argument(help: "Name of the webhook.")
    var name: String

    @Argument(help: "Id of the delivery.")
    var id: String

    @Option(help: "Make this POST repeatable: the same key retries once.")
    var idempotencyKey: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name, "deliveries", id, "retry")
        options.show(
            try await options.client().send(.post, path, body: .empty, idempotencyKey: idempotencyKey))
    }
}
