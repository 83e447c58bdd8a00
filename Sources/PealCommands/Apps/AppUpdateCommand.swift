internal import ArgumentParser

/// `peal app update`.
struct AppUpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change an app: what is not given stays.")

    @OptionGroup var app: AppOptions
    @OptionGroup var fields: AppFields
    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.show(try await options.client().send(.patch, try app.path(), body: try fields.document()))
    }
}
