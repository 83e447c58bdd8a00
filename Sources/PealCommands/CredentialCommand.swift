internal import ArgumentParser
internal import PealCore

/// `peal credential`: how an app authenticates with the push networks.
struct CredentialCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential", abstract: "Store, list, verify and delete an app's credentials for push networks.",
        subcommands: [
            CredentialPutCommand.self, ListCommand<CredentialResource>.self, CredentialVerifyCommand.self,
            CredentialDeleteCommand.self,
        ])
}

/// The credentials of an app.
enum CredentialResource: ListedResource {
    static let listAbstract = "List credentials and their health, without secrets."
    static let columns = [
        "provider", "environment", "kind", "key_id", "bundle_id", "project_id", "health.state", "health.reason",
        "expires_at", "warning", "fingerprint",
    ]

    struct Filter: ResourceFilter {
        func path(in app: AppOptions) throws(CommandFailure) -> APIPath { try app.path(["credentials"]) }
    }
}

/// Arguments that name a credential.
struct CredentialName: ParsableArguments {
    @Argument(help: ArgumentHelp("One of \(ProviderName.allCases.map(\.rawValue).joined(separator: ", "))."))
    var provider: String

    @Argument(help: "production or sandbox, only for apns.")
    var environment: String?

    /// How the network's credential is supplied; nil for an unknown network.
    var form: CredentialForm? { ProviderName(rawValue: provider)?.network.credentials }

    /// The path of the credential.
    /// - Throws: `CommandFailure.usage` for an unknown network, APNs without a known environment, or another network
    ///   with one.
    func path(_ app: AppOptions, adding part: String? = nil) throws(CommandFailure) -> APIPath {
        guard let name = ProviderName(rawValue: provider) else {
            let names = ProviderName.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("\(provider) is not a push network; networks are \(names)")
        }
        switch (name.hasEnvironments, environment) {
        case (true, nil): throw .usage("\(provider) needs an environment: production or sandbox")
        case (true, let environment?) where Environment(alias: environment) == nil:
            throw .usage("\(environment) is not an environment; environments are production and sandbox")
        case (false, let environment?): throw .usage("\(provider) has no environments; leave out \(environment)")
        default: break
        }
        return try app.path(["credentials", provider] + [environment, part].compactMap { $0 })
    }
}

/// `peal credential put`.
struct CredentialPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Store a credential. It replaces an earlier one; a VAPID key is added to the others.",
        discussion: """
              peal credential put apns production --key-id ABC123DEFG \\
                --team-id DEF123GHIJ --bundle-id com.example.app \\
                --private-key-file AuthKey_ABC123DEFG.p8
              peal credential put apns production --bundle-id com.example.app \\
                --p12-file push.p12 --passphrase-file secret
              peal credential put fcm --service-account-file account.json
              peal credential put wns --package-sid ms-app://S-1-15-2-… \\
                --client-secret-file secret
              peal credential put webpush --subject mailto:push@example.com
            """)

    @OptionGroup var name: CredentialName

    @Option(help: "APNs: key ID of the signing key.")
    var keyID: String?

    @Option(help: "APNs: team ID.")
    var teamID: String?

    @Option(help: "APNs: bundle ID of the app.")
    var bundleID: String?

    @Option(help: "WNS: package SID of a Microsoft Store app.")
    var packageSID: String?

    @Option(help: "WNS: Microsoft Entra tenant of a Windows App SDK app.")
    var tenantID: String?

    @Option(help: "WNS: client ID of the app in that tenant.")
    var clientID: String?

    @Option(help: "Web Push: mailto: or https: URI where push services can reach you.")
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
        let hasKind = name.form?.choice == .named("kind")
        guard !hasKind || files.kind != nil || body.file != nil else {
            throw .usage("no credential: give --private-key-file, --certificate-file or --p12-file")
        }
        return try body.body(
            [
                ("kind", hasKind ? .text(files.kind) : nil),
                ("key_id", .text(keyID)), ("team_id", .text(teamID)), ("bundle_id", .text(bundleID)),
                ("package_sid", .text(packageSID)), ("tenant_id", .text(tenantID)), ("client_id", .text(clientID)),
                ("subject", .text(subject)),
            ] + (try files.members()))
    }
}

/// The secrets of a credential. They come from files, never from the command line, which other users can read; `-`
/// means standard input.
struct CredentialFiles: ParsableArguments {
    @Option(
        help:
            "APNs: signing key (.p8) or the certificate's private key (PEM); MPNS: same; Web Push: VAPID key (base64url).",
        completion: .file())
    var privateKeyFile: String?

    @Option(help: "APNs, MPNS: certificate chain in PEM.", completion: .file())
    var certificateFile: String?

    @Option(
        name: .customLong("p12-file"), help: "APNs: PKCS#12 archive (.p12) with certificate and private key.",
        completion: .file())
    var archiveFile: String?

    @Option(help: "APNs: file with the passphrase of the archive.", completion: .file())
    var passphraseFile: String?

    @Option(help: "FCM: JSON key file of the service account.", completion: .file())
    var serviceAccountFile: String?

    @Option(help: "WNS: file with the client secret.", completion: .file())
    var clientSecretFile: String?

    /// The kind of APNs credential; nil when the files do not determine it.
    var kind: String? {
        if archiveFile != nil { return "p12" }
        if certificateFile != nil { return "certificate" }
        return privateKeyFile == nil ? nil : "token"
    }

    /// - Throws: `CommandFailure.usage` for a file that cannot be read or is not text.
    func members() throws(CommandFailure) -> [(String, JSON?)] {
        [
            ("certificate", .text(try certificateFile.map(InputFile.text))), ("private_key", .text(try privateKey())),
            ("data", .text(try archiveFile.map(InputFile.bytes).map(Base64URL.encode))),
            ("passphrase", .text(try passphraseFile.map(InputFile.secret))),
            ("service_account", try serviceAccountFile.map(InputFile.json)),
            ("client_secret", .text(try clientSecretFile.map(InputFile.secret))),
        ]
    }

    /// PEM unchanged; a single line without its line break.
    private func privateKey() throws(CommandFailure) -> String? {
        guard let text = try privateKeyFile.map(InputFile.text) else { return nil }
        return text.hasPrefix("-----") ? text : text.withoutFinalLineBreaks
    }
}

/// `peal credential verify`.
struct CredentialVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check a credential with a harmless request to its push network.",
        discussion: "Exit code 1 if the push network refused it or did not answer.")

    @OptionGroup var name: CredentialName
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try name.path(app, adding: "verify")
        let answer = try await options.client().send(.post, path, body: .empty)
        options.show(answer)
        let reason = answer["reason"]?.stringValue ?? answer["result"]?.stringValue ?? ""
        guard answer["ok"] != false else {
            throw CommandFailure.refused("the push network refused the credential: \(reason)")
        }
        guard answer["result"] != "unreachable" else {
            throw CommandFailure.refused(
                "the push network did not answer: \(reason); run peal doctor on the server's machine")
        }
    }
}

/// `peal credential delete`: a credential, or one VAPID key of Web Push.
struct CredentialDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a credential.")

    @OptionGroup var name: CredentialName

    @Option(help: "Web Push: delete only the VAPID key with this fingerprint; see the list.")
    var fingerprint: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        guard fingerprint == nil || name.form?.keepsEarlierKeys == true else {
            let names = ProviderName.allCases.filter(\.network.credentials.keepsEarlierKeys).map(\.rawValue)
            throw CommandFailure.usage("--fingerprint is only for \(names.joined(separator: ", "))")
        }
        let path = try name.path(app, adding: fingerprint)
        options.showDone(try await options.client().send(.delete, path), "Credential deleted.")
    }
}
