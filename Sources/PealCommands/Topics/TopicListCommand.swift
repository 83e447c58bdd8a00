internal import ArgumentParser

/// `peal topic list`.
struct TopicListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List topics and how many devices each has.")

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("topics")
        options.show(
            try await options.client().list(path, limit: list.limit), columns: ["name", "devices", "expires_at"])
    }
}
