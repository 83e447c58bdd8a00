internal import ArgumentParser

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
