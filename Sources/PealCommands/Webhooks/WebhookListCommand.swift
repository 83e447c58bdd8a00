internal import ArgumentParser

/// `peal webhook list`.
struct WebhookListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List webhooks; never their secrets.")

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks")
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: ["name", "kind", "state", "url", "authentication.type"])
    }
}
