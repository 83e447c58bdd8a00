internal import ArgumentParser
internal import PealCore

/// `peal message list`.
struct MessageListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List messages, newest first.")

    @Option(help: ArgumentHelp("Only those \(Message.State.allCases.map(\.name).joined(separator: ", "))."))
    var state: String?

    @Option(help: "Only those of this campaign.")
    var campaign: String?

    @Option(help: "Only those that came through this API.")
    var dialect: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages").adding("state", state).adding("campaign_id", campaign)
            .adding("dialect", dialect)
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: ["id", "state", "dialect", "campaign_id", "created_at", "start_at", "expires_at"])
    }
}
