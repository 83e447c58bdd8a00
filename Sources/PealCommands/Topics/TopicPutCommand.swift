internal import ArgumentParser
internal import PealCore

/// `peal topic put`.
struct TopicPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Make a topic or change when it expires.")

    @Argument(help: "Name of the topic.")
    var name: String

    @Option(help: "RFC 3339 time from which it is neither listed nor targetable.")
    var expiresAt: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("topics", name)
        let document = try body.body([("expires_at", .text(expiresAt))])
        options.show(try await options.client().send(.put, path, body: document))
    }
}
