internal import ArgumentParser

/// `peal app create`.
struct AppCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make an app (admin token only).")

    @Option(help: "UUID to give it; the server makes one otherwise.")
    var id: String?

    @OptionGroup var fields: AppFields
    @OptionGroup var options: ClientOptions

    func run() async throws {
        options.show(try await options.client().send(.post, APIPath(["apps"]), body: try fields.document(id: id)))
    }
}
