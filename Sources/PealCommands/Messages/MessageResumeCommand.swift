internal import ArgumentParser
internal import PealCore

/// `peal message resume`.
struct MessageResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "resume", abstract: "Let a paused message go on.")

    @Argument(help: "Id of the message.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id, "resume")
        options.show(try await options.client().send(.post, path, body: .empty))
    }
}
