internal import ArgumentParser

/// `peal webhook deliveries`.
struct WebhookDeliveriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries", abstract: "List the requests to a webhook, the newest first.")

    @Argument(help: "Name of the webhook.")
    var name: String

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name, "deliveries")
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: [
                "id", "type", "state", "items", "attempts", "last_status", "last_error", "next_attempt_at",
                "ended_at",
            ])
    }
}
