internal import ArgumentParser
internal import PealCore

/// `peal message pause`.
struct MessagePauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "pause", abstract: "Hold a message where it stands.")

    @Argument(help: "Id of the message.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id, "pause")
        options.show(try await options.client().send(.post, path, body: .empty))
    }
}
