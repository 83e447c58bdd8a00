internal import ArgumentParser
internal import PealCore

/// `peal webhook`: where an app is told of what happened.
struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Put, list and delete an app's webhooks, and see what was delivered.",
        subcommands: [
            WebhookPutCommand.self, WebhookListCommand.self, WebhookShowCommand.self, WebhookDeleteCommand.self,
            WebhookDeliveriesCommand.self, WebhookRetryCommand.self,
        ])
}

/// `peal webhook list`.
struct WebhookListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List webhooks; never their secrets.")

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks")
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: ["name", "kind", "state", "url", "authentication.type"])
    }
}

/// `peal webhook show`.
struct WebhookShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show a webhook.")

    @Argument(help: "Name of the webhook.")
    var name: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name)
        options.show(try await options.client().send(.get, path))
    }
}

/// `peal webhook put`. The secret comes from a file, never from the command line, which others can read.
struct WebhookPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Make a webhook, or change it and take it into service again.",
        discussion: """
            peal webhook put main --url https://example.com/peal --kind events \\
              --authentication signature --secret-file whsec.txt
            """)

    @Argument(help: "Your name for the webhook.")
    var name: String

    @Option(help: "Where to: https.")
    var url: String?

    @Option(help: ArgumentHelp("One of \(Webhook.Kind.allCases.map(\.rawValue).joined(separator: ", "))."))
    var kind: String?

    @Option(help: "How requests prove who sent them: basic, bearer, header, signature or secret.")
    var authentication: String?

    @Option(help: "File with the password, token, value, key or secret; - for standard input.")
    var secretFile: String?

    @Option(help: "User name, for basic.")
    var username: String?

    @Option(help: "Name of the header, for header.")
    var header: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name)
        options.show(try await options.client().send(.put, path, body: try document()))
    }

    private func document() throws(CommandFailure) -> JSON {
        var secret: String?
        if let secretFile {
            guard let text = String(validating: try BodyOptions.bytes(secretFile), as: UTF8.self) else {
                throw .usage("\(secretFile) is not text")
            }
            // Editors end a file with a line feed.
            secret = String(text.reversed().drop(while: \.isNewline).reversed())
        }
        let secretName = ["basic": "password", "bearer": "token", "header": "value"][authentication ?? ""] ?? "secret"
        return try body.body([
            ("url", .text(url)), ("kind", .text(kind)),
            (
                "authentication",
                .filled([
                    ("type", .text(authentication)), ("username", .text(username)), ("name", .text(header)),
                    (secretName, .text(secret)),
                ])
            ),
        ])
    }
}

/// `peal webhook delete`.
struct WebhookDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a webhook with what waits for it.")

    @Argument(help: "Name of the webhook.")
    var name: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name)
        options.showDone(try await options.client().send(.delete, path), "Webhook \(name) is deleted.")
    }
}

/// `peal webhook deliveries`.
struct WebhookDeliveriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries", abstract: "List the requests to a webhook, the newest first.")

    @Argument(help: "Name of the webhook.")
    var name: String

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name, "deliveries")
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: [
                "id", "type", "state", "items", "attempts", "last_status", "last_error", "next_attempt_at",
                "ended_at",
            ])
    }
}

/// `peal webhook retry`.
struct WebhookRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Have a failed delivery tried for another day, a pending one at once.")

    @Argument(help: "Name of the webhook.")
    var name: String

    @Argument(help: "Id of the delivery.")
    var id: String

    @Option(help: "Make this POST repeatable: the same key retries once.")
    var idempotencyKey: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("webhooks", name, "deliveries", id, "retry")
        options.show(
            try await options.client().send(.post, path, body: .empty, idempotencyKey: idempotencyKey))
    }
}
