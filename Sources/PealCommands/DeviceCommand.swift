internal import ArgumentParser
internal import PealCore

/// `peal device`: the installations of an app.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Register, show, list and delete devices.",
        subcommands: [
            DevicePutCommand.self, DeviceShowCommand.self, DeviceListCommand.self, DeviceDeleteCommand.self,
        ])
}

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

/// `peal device show`.
struct DeviceShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one device.")

    @Argument(help: "Id of the device.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("devices", id)
        options.show(try await options.client().send(.get, path))
    }
}

/// `peal device put`: registers a device, with the id given or one that the server makes.
struct DevicePutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Register or replace a device.", aliases: ["register"])

    @Argument(help: "Id of the device; the server makes one otherwise.")
    var id: String?

    @Option(help: ArgumentHelp("One of \(Platform.addressable.map(\.rawValue).joined(separator: ", "))."))
    var platform: String?

    @Option(help: "production or sandbox (APNs).")
    var environment: String?

    @Option(help: "Device token, channel URI, or for web the subscription as JSON.")
    var address: String?

    @Option(help: "The app's own id of the person.")
    var user: String?

    @Option(name: .customLong("topic"), help: "Topic it subscribes to (repeatable).")
    var topics: [String] = []

    @Option(help: "Locale, as de-AT.")
    var locale: String?

    @Option(help: "Time zone, as Europe/Vienna.")
    var timeZone: String?

    @Option(help: "Version of the operating system.")
    var osVersion: String?

    @Option(help: "Version of the app.")
    var appVersion: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try id.map { try app.path("devices", $0) } ?? app.path("devices")
        let client = try options.client()
        options.show(try await client.send(id == nil ? .post : .put, path, body: try document()))
    }

    private func document() throws(CommandFailure) -> JSON {
        try body.body([
            ("platform", .text(platform)), ("environment", .text(environment)),
            ("address", address.map(Self.addressValue)), ("user_id", .text(user)), ("topics", .texts(topics)),
            ("locale", .text(locale)), ("time_zone", .text(timeZone)), ("os_version", .text(osVersion)),
            ("app_version", .text(appVersion)),
        ])
    }

    /// A Web Push subscription is an object; every other address is a string, also one that looks like a number.
    private static func addressValue(_ text: String) -> JSON {
        guard text.hasPrefix("{"), let object = try? JSONParser.parse(text) else { return .string(text) }
        return object
    }
}

/// `peal device delete`.
struct DeviceDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a device.")

    @Argument(help: "Id of the device.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("devices", id)
        options.showDone(try await options.client().send(.delete, path), "Device \(id) is deleted.")
    }
}
