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
        guard ProviderName(rawValue: provider)?.hasEnvironments != true || environment != nil else {
            throw .usage("apns has two environments: add production or sandbox")
        }
        let segments = ["apps", try app.id(), "credentials", provider] + [environment, part].compactMap { $0 }
        return APIPath(segments)
    }
}

/// `peal credential list`.
struct CredentialListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List credentials and their health; never their secrets.")

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("credentials")
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: [
                "provider", "environment", "kind", "key_id", "bundle_id", "project_id", "health.state",
                "health.reason", "expires_at", "warning", "fingerprint",
            ])
    }
}

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

/// The secrets of a credential. They come from files, never from the command line, which others can read; `-` is
/// standard input.
struct CredentialFiles: ParsableArguments {
    @Option(help: "APNs: the signing key (.p8); certificates: their key in PEM; Web Push: the key in base64url.")
    var privateKeyFile: String?

    @Option(help: "APNs, MPNS: the certificate chain in PEM.")
    var certificateFile: String?

    @Option(name: .customLong("p12-file"), help: "APNs: certificate and key in a PKCS#12 archive (.p12).")
    var archiveFile: String?

    @Option(help: "APNs: the archive's passphrase.")
    var passphraseFile: String?

    @Option(help: "FCM: Google's JSON file of a service account.")
    var serviceAccountFile: String?

    @Option(help: "WNS: the client's secret.")
    var clientSecretFile: String?

    /// What APNs' credentials are told apart by; nil where no file says it.
    var kind: String? {
        if archiveFile != nil { return "p12" }
        if certificateFile != nil { return "certificate" }
        return privateKeyFile == nil ? nil : "token"
    }

    /// - Throws: `CommandFailure.usage` for a file that cannot be read or holds something else.
    func members() throws(CommandFailure) -> [(String, JSON?)] {
        [
            ("certificate", .text(try text(certificateFile))), ("private_key", .text(try privateKey())),
            ("data", .text(try archive())), ("passphrase", .text(try text(passphraseFile).map(Self.line))),
            ("service_account", try serviceAccountFile.map(BodyOptions.document)),
            ("client_secret", .text(try text(clientSecretFile).map(Self.line))),
        ]
    }

    private func text(_ file: String?) throws(CommandFailure) -> String? {
        guard let file else { return nil }
        guard let text = String(validating: try BodyOptions.bytes(file), as: UTF8.self) else {
            throw .usage("\(file) holds no text")
        }
        return text
    }

    /// PEM as it is; what is one line goes without its end.
    private func privateKey() throws(CommandFailure) -> String? {
        guard let text = try text(privateKeyFile) else { return nil }
        return text.hasPrefix("-----") ? text : Self.line(text)
    }

    /// The text without the line's end that editors put there.
    private static func line(_ text: String) -> String {
        var line = text
        while line.last?.isNewline == true { line.removeLast() }
        return line
    }

    private func archive() throws(CommandFailure) -> String? {
        guard let archiveFile else { return nil }
        return Base64URL.encode(try BodyOptions.bytes(archiveFile))
    }
}

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
