internal import ArgumentParser

/// `peal topic delete`.
struct TopicDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a topic with its subscriptions.")

    @Argument(help: "Name of the topic.")
    var name: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("topics", name)
        options.showDone(try await options.client().send(.delete, path), "Topic \(name) is deleted.")
    }
}
