internal import ArgumentParser
internal import PealCore

/// `peal credential delete`: a whole credential, or one VAPID key of Web Push.
struct CredentialDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a credential.")

    @OptionGroup var name: CredentialName

    @Option(help: "Web Push: only the VAPID key with this fingerprint, as the list shows it.")
    var fingerprint: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        guard fingerprint == nil || name.provider == ProviderName.webpush.rawValue else {
            throw CommandFailure.usage("--fingerprint names one of the keys of webpush")
        }
        let path = try name.path(app, adding: fingerprint)
        options.showDone(try await options.client().send(.delete, path), "The credential is deleted.")
    }
}
