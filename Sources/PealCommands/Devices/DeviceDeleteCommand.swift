internal import ArgumentParser

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
