internal import ArgumentParser
internal import PealCore

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
