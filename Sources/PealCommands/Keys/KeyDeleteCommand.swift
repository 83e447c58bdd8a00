internal import ArgumentParser

/// `peal key delete`.
struct KeyDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Revoke a key at once.")

    @Argument(help: "Id of the key.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("keys", id)
        options.showDone(try await options.client().send(.delete, path), "Key \(id) is revoked.")
    }
}
