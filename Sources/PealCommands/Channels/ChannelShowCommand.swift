internal import ArgumentParser

/// `peal channel show`.
struct ChannelShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one broadcast channel.")

    @Argument(help: "production or sandbox.")
    var environment: String

    @Argument(help: "Id of the channel.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("channels", environment, id)
        options.show(try await options.client().send(.get, path))
    }
}
