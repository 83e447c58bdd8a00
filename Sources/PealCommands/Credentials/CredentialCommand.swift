internal import ArgumentParser
internal import PealCore

/// `peal credential`: what an app shows the push networks.
struct CredentialCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential", abstract: "Put, list, verify and delete an app's provider credentials.",
        subcommands: [
            CredentialPutCommand.self, CredentialListCommand.self, CredentialVerifyCommand.self,
            CredentialDeleteCommand.self,
        ])
}

/// Which credential of an app.
struct CredentialName: ParsableArguments {
    @Argument(help: ArgumentHelp("One of \(ProviderName.allCases.map(\.rawValue).joined(separator: ", "))."))
    var provider: String

    @Argument(help: "production or sandbox, for apns.")
    var environment: String?

    /// The path of the credential.
    /// - Throws: `CommandFailure.usage` where APNs lacks its environment.
    func path(_ app: AppOptions, adding part: String? = nil) throws(CommandFailure) -> APIPath {
        guard provider != ProviderName.apns.rawValue || environment != nil else {
            throw .usage("apns has two environments: add production or sandbox")
        }
        let segments = ["apps", try app.id(), "credentials", provider] + [environment, part].compactMap { $0 }
        return APIPath(segments)
    }
}
