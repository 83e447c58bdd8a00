internal import ArgumentParser
internal import PealServer

/// `peal key`: the keys with which callers open an app.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make, list and revoke an app's keys.",
        subcommands: [KeyCreateCommand.self, KeyListCommand.self, KeyDeleteCommand.self])
}

/// `peal key list`.
struct KeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List keys, without secrets.")

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("keys")
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: ["id", "dialect", "scopes", "platform", "environment", "created_at", "expires_at"])
    }
}

/// `peal key create`: prints the secret, which the server tells only this once.
struct KeyCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make a key; its secret is shown only now.")

    @Argument(
        help: ArgumentHelp(
            "The API it opens: \(servedKeyKinds.joined(separator: ", "))."))
    var dialect: String?

    @Option(
        name: .customLong("scope"),
        help: "Right of a native key (repeatable): send, read, devices, manage; without any, the first three.")
    var scopes: [String] = []

    @Option(help: "Platform of a pivotal-platform key.")
    var platform: String?

    @Option(help: "Environment of a pivotal-platform key: production or sandbox.")
    var environment: String?

    @Option(help: "RFC 3339 time from which the key is refused.")
    var expiresAt: String?

    @Option(help: "Make this POST repeatable: the same key makes it once.")
    var idempotencyKey: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("keys")
        let document = try body.body([
            ("dialect", .text(dialect)), ("scopes", .texts(scopes)), ("platform", .text(platform)),
            ("environment", .text(environment)), ("expires_at", .text(expiresAt)),
        ])
        let client = try options.client()
        options.show(try await client.send(.post, path, body: document, idempotencyKey: idempotencyKey))
    }
}

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
