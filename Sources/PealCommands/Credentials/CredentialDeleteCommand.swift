internal import ArgumentParser

/// `peal credential delete`.
struct CredentialDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a credential.")

    @OptionGroup var name: CredentialName
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try name.path(app)
        options.showDone(try await options.client().send(.delete, path), "The credential is deleted.")
    }
}
