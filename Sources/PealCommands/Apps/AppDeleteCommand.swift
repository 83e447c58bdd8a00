internal import ArgumentParser

/// `peal app delete`. The id must be written out: an environment variable should not be able to delete an app.
struct AppDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete an app with everything it has (admin token only).")

    @Argument(help: "Id of the app.")
    var id: String

    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.showDone(try await options.client().send(.delete, APIPath(["apps", id])), "App \(id) is deleted.")
    }
}
