internal import ArgumentParser
internal import PealCore

/// `peal credential put`.
struct CredentialPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Store a credential; an earlier one is replaced, a VAPID key joins the others.",
        discussion: """
            peal credential put apns production --key-id ABC123DEFG --team-id DEF123GHIJ \\
              --bundle-id com.example.app --private-key-file AuthKey_ABC123DEFG.p8
            peal credential put apns production --bundle-id com.example.app --p12-file push.p12 --passphrase-file secret
            peal credential put fcm --service-account-file account.json
            peal credential put wns --package-sid ms-app://S-1-15-2-… --client-secret-file secret
            peal credential put webpush --subject mailto:push@example.com
            """)

    @OptionGroup var name: CredentialName

    @Option(help: "APNs: id of the signing key.")
    var keyID: String?

    @Option(help: "APNs: id of the team.")
    var teamID: String?

    @Option(help: "APNs: bundle id of the app.")
    var bundleID: String?

    @Option(help: "WNS: package SID of an app of the Store.")
    var packageSID: String?

    @Option(help: "WNS: tenant of an app that Microsoft Entra knows.")
    var tenantID: String?

    @Option(help: "WNS: the app's client id in that tenant.")
    var clientID: String?

    @Option(help: "Web Push: mailto: or https: URI of who answers for the messages.")
    var subject: String?

    @OptionGroup(title: "Files") var files: CredentialFiles
    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try name.path(app)
        options.show(try await options.client().send(.put, path, body: try document()))
    }

    private func document() throws(CommandFailure) -> JSON {
        try body.body(
            [
                ("kind", name.provider == ProviderName.apns.rawValue ? .text(files.kind) : nil),
                ("key_id", .text(keyID)), ("team_id", .text(teamID)), ("bundle_id", .text(bundleID)),
                ("package_sid", .text(packageSID)), ("tenant_id", .text(tenantID)), ("client_id", .text(clientID)),
                ("subject", .text(subject)),
            ] + (try files.members()))
    }
}
