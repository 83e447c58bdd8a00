internal import ArgumentParser

/// `peal message explain`: the trail of a message to one device, user or address.
struct MessageExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say what became of a message on its way to one device.",
        aliases: ["deliveries"])

    @Argument(help: "Id of the message.")
    var id: String

    @Option(help: "Id of the device.")
    var device: String?

    @Option(help: "The app's own id of the person.")
    var user: String?

    @Option(help: "An address, registered or not.")
    var address: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id, "deliveries").adding("device", device).adding("user", user)
            .adding("address", address)
        options.show(
            try await options.client().list(path, limit: list.limit), columns: ["at", "device", "event", "detail"])
    }
}
