internal import ArgumentParser

/// `peal credential verify`.
struct CredentialVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Ask the provider with a harmless request and say what it answered.")

    @OptionGroup var name: CredentialName
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try name.path(app, adding: "verify")
        options.show(try await options.client().send(.post, path, body: .empty))
    }
}
