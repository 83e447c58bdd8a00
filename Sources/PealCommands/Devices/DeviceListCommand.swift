internal import ArgumentParser

/// `peal device list`.
struct DeviceListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List devices.")

    @Option(help: "Only those of this user.")
    var user: String?

    @Option(help: "Only the one with this address.")
    var address: String?

    @Option(help: "Only those subscribed to this topic.")
    var topic: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("devices").adding("user_id", user).adding("address", address).adding("topic", topic)
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: ["id", "platform", "environment", "state", "user_id", "topics", "registered_at"])
    }
}
