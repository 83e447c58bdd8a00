internal import ArgumentParser
internal import PealCore

/// `peal channel`: broadcast channels for Live Activities.
struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel", abstract: "Create, list, show and delete APNs broadcast channels.",
        subcommands: [
            ChannelCreateCommand.self, ListCommand<ChannelResource>.self, ShowCommand<ChannelResource>.self,
            DeleteCommand<ChannelResource>.self,
        ])
}

/// `peal channel create`.
struct ChannelCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create a broadcast channel and print the id that APNs assigns.")

    @Argument(help: "production or sandbox.")
    var environment: String

    @Option(help: "none, or most_recent: APNs stores the newest message for offline devices.")
    var storagePolicy = "none"

    @Option(help: "Idempotency key: repeated requests with the same key create only one channel.")
    var idempotencyKey: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(["channels", environment])
        let client = try options.client()
        options.show(
            try await client.send(
                .post, path, body: ["storage_policy": .string(storagePolicy)], idempotencyKey: idempotencyKey))
    }
}

/// Broadcast channels of one environment.
enum ChannelResource: ListedResource, ShownResource, DeletedResource {
    static let listAbstract = "List the broadcast channels of an environment."
    static let columns = ["id", "environment"]
    static let showAbstract = "Show a broadcast channel."
    static let deleteAbstract = "Delete a broadcast channel."

    static func deleted(_ name: Name) -> String { "Channel \(name.id) deleted." }

    struct Filter: ResourceFilter {
        @Argument(help: "production or sandbox.")
        var environment: String

        func path(in app: AppOptions) throws(CommandFailure) -> APIPath { try app.path(["channels", environment]) }
    }

    struct Name: ResourceName {
        @Argument(help: "production or sandbox.")
        var environment: String

        @Argument(help: "Id of the channel.")
        var id: String

        var segments: [String] { ["channels", environment, id] }
    }
}
