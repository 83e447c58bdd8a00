internal import ArgumentParser

/// `peal credential list`.
struct CredentialListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List credentials and their health; never their secrets.")

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("credentials")
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: [
                "provider", "environment", "kind", "key_id", "bundle_id", "project_id", "health.state",
                "health.reason", "expires_at", "warning", "fingerprint",
            ])
    }
}
