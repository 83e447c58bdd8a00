internal import ArgumentParser
internal import PealCore

/// `peal channel`: broadcast channels for Live Activities.
struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Make, list, show and delete APNs broadcast channels.",
        subcommands: [
            ChannelCreateCommand.self, ChannelListCommand.self, ChannelShowCommand.self, ChannelDeleteCommand.self,
        ])
}

/// `peal channel list`.
struct ChannelListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List an app's broadcast channels.")

    @Argument(help: "production or sandbox.")
    var environment: String

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("channels", environment)
        options.show(try await options.client().list(path, limit: list.limit), columns: ["id", "environment"])
    }
}

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

/// `peal channel create`: prints the id that APNs gives.
struct ChannelCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "create", abstract: "Make a broadcast channel.")

    @Argument(help: "production or sandbox.")
    var environment: String

    @Option(help: "none, or most_recent: APNs keeps the newest message for devices that are away.")
    var storagePolicy = "none"

    @Option(help: "Make this POST repeatable: the same key makes it once.")
    var idempotencyKey: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("channels", environment)
        let client = try options.client()
        options.show(
            try await client.send(
                .post, path, body: ["storage_policy": .string(storagePolicy)], idempotencyKey: idempotencyKey))
    }
}

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
