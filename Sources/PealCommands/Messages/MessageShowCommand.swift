internal import ArgumentParser

/// `peal message show`.
struct MessageShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a message: its state and what became of it, counted.")

    @Argument(help: "Id of the message.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id)
        options.show(try await options.client().send(.get, path))
    }
}
