internal import ArgumentParser
internal import PealCore

/// `peal topic`: the labels that devices subscribe to.
struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic", abstract: "List, show, make and delete topics.",
        subcommands: [TopicListCommand.self, TopicShowCommand.self, TopicPutCommand.self, TopicDeleteCommand.self])
}

/// `peal topic list`.
struct TopicListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List topics and how many devices each has.")

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("topics")
        options.show(
            try await options.client().list(path, limit: list.limit), columns: ["name", "devices", "expires_at"])
    }
}

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
