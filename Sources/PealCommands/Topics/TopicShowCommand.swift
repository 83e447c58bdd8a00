internal import ArgumentParser

/// `peal topic show`.
struct TopicShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one topic.")

    @Argument(help: "Name of the topic.")
    var name: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("topics", name)
        options.show(try await options.client().send(.get, path))
    }
}
