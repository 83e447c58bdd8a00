internal import ArgumentParser
internal import PealCore

/// `peal credential put`. The private key comes from a file, never from the command line, which others can read.
struct CredentialPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Store a credential; an earlier one is replaced.",
        discussion: """
            For APNs with a signing key:
              peal credential put apns production --key-id ABC123DEFG --team-id DEF123GHIJ \\
                --bundle-id com.example.app --private-key-file AuthKey_ABC123DEFG.p8
            """)

    @OptionGroup var name: CredentialName

    @Option(help: "APNs: id of the signing key.")
    var keyID: String?

    @Option(help: "APNs: id of the team.")
    var teamID: String?

    @Option(help: "APNs: bundle id of the app.")
    var bundleID: String?

    @Option(help: "APNs: file with the signing key (.p8), - for standard input.")
    var privateKeyFile: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try name.path(app)
        options.show(try await options.client().send(.put, path, body: try document()))
    }

    private func document() throws(CommandFailure) -> JSON {
        var privateKey: String?
        if let privateKeyFile {
            privateKey = String(validating: try BodyOptions.bytes(privateKeyFile), as: UTF8.self)
            guard privateKey != nil else { throw .usage("\(privateKeyFile) is not a PEM file") }
        }
        return try body.body([
            ("kind", privateKey == nil ? nil : "token"), ("key_id", .text(keyID)), ("team_id", .text(teamID)),
            ("bundle_id", .text(bundleID)), ("private_key", .text(privateKey)),
        ])
    }
}
