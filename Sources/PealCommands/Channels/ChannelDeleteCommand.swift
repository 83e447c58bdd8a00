internal import ArgumentParser

/// `peal channel delete`.
struct ChannelDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a broadcast channel.")

    @Argument(help: "production or sandbox.")
    var environment: String

    @Argument(help: "Id of the channel.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("channels", environment, id)
        options.showDone(try await options.client().send(.delete, path), "Channel \(id) is deleted.")
    }
}
