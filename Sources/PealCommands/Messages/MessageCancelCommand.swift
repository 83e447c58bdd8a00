internal import ArgumentParser
internal import PealCore

/// `peal message cancel`.
struct MessageCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel a message: nothing more is sent.")

    @Argument(help: "Id of the message.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id, "cancel")
        options.show(try await options.client().send(.post, path, body: .empty))
    }
}
