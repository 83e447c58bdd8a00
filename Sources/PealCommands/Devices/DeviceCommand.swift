internal import ArgumentParser

/// `peal device`: the installations of an app.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Register, show, list and delete devices.",
        subcommands: [
            DevicePutCommand.self, DeviceShowCommand.self, DeviceListCommand.self, DeviceDeleteCommand.self,
        ])
}
