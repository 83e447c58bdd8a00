internal import ArgumentParser
internal import PealServer

/// `peal key`: the API keys of an app.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Create, list and revoke an app's API keys, and replace the master key.",
        subcommands: [
            KeyCreateCommand.self, ListCommand<KeyResource>.self, DeleteCommand<KeyResource>.self,
            KeyRotateMasterCommand.self,
        ])
}

/// `peal key rotate-master`. Works on the database itself, not on a running server.
struct KeyRotateMasterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-master", abstract: "Replace the master key and encrypt every secret with the new one.",
        discussion: """
            Takes the options and the environment of serve. With SQLite, stop the server first. With PostgreSQL, run \
            it with --prepare, restart the servers one by one, and run it again. If it is interrupted, run it again; \
            until it has finished, servers start with either key.
            """)

    @Option(
        help: "File with the new key; created if it does not exist. Default: the file of the current key.",
        completion: .file())
    var toFile: String?

    @Flag(help: "Only make both keys valid, so that the servers can be restarted before the key is replaced.")
    var prepare = false

    @Flag(help: "Only check whether it is possible, and change nothing.")
    var dryRun = false

    @OptionGroup var options: ServerOptions

    func run() async throws {
        try await options.print {
            try await rotateMasterKey($0, to: toFile, prepares: prepare, isDry: dryRun)
        }
    }
}

/// `peal key create`. The server returns the secret in this answer only.
struct KeyCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create an API key and print its secret, which is shown only once.")

    @Argument(
        help: ArgumentHelp(
            "The API that accepts the key: \(servedKeyKinds.joined(separator: ", "))."))
    var dialect: String?

    @Option(help: "Name of the key, for display.")
    var name: String?

    @Option(
        name: .customLong("scope"),
        help: "Scope of a native key (repeatable): send, read, devices or manage. Default: send, read and devices.")
    var scopes: [String] = []

    @Option(help: "Platform of a pivotal-platform key.")
    var platform: String?

    @Option(help: "Environment of a pivotal-platform key: production or sandbox.")
    var environment: String?

    @Option(
        help: "Id of another app that a contextpush, richie or devtodev key is also for (repeatable). Admins only.")
    var alsoApp: [String] = []

    @Option(help: "Time (RFC 3339) when the key expires.")
    var expiresAt: String?

    @Option(help: "Idempotency key: repeated requests with the same key create only one API key.")
    var idempotencyKey: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(["keys"])
        let document = try body.body([
            ("dialect", .text(dialect)), ("name", .text(name)), ("scopes", .texts(scopes)),
            ("platform", .text(platform)), ("environment", .text(environment)),
            ("apps", .texts(try alsoApp.map(AppOptions.id))), ("expires_at", .text(expiresAt)),
        ])
        let client = try options.client()
        options.show(try await client.send(.post, path, body: document, idempotencyKey: idempotencyKey))
    }
}

/// The API keys of an app.
enum KeyResource: ListedResource, DeletedResource {
    static let listAbstract = "List API keys, without their secrets."
    static let columns = [
        "id", "name", "dialect", "scopes", "platform", "environment", "apps", "created_at", "last_used_at",
        "expires_at",
    ]
    static let deleteAbstract = "Revoke an API key immediately."

    static func deleted(_ name: Name) -> String { "Key \(name.id) revoked." }

    struct Filter: ResourceFilter {
        func path(in app: AppOptions) throws(CommandFailure) -> APIPath { try app.path(["keys"]) }
    }

    struct Name: ResourceName {
        @Argument(help: "Id of the key.")
        var id: String

        var segments: [String] { ["keys", id] }
    }
}
