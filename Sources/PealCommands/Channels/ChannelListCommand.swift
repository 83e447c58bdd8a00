internal import ArgumentParser

/// `peal channel list`.
struct ChannelListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List an app's broadcast channels.")

    @Argument(help: "production or sandbox.")
    var environment: String

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("channels", environment)
        options.show(try await options.client().list(path, limit: list.limit), columns: ["id", "environment"])
    }
}
