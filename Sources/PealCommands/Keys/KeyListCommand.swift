internal import ArgumentParser

/// `peal key list`.
struct KeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List keys, without secrets.")

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("keys")
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: ["id", "dialect", "scopes", "platform", "environment", "created_at", "expires_at"])
    }
}
