internal import ArgumentParser
internal import PealCore
internal import PealServer

/// `peal webhook`: where the server sends an app's events and reports.
struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Set up an app's webhooks and inspect their deliveries.",
        subcommands: [
            WebhookPutCommand.self, ListCommand<WebhookResource>.self, ShowCommand<WebhookResource>.self,
            DeleteCommand<WebhookResource>.self, WebhookTestCommand.self,
            WebhookDeliveriesCommand.self, WebhookRetryCommand.self,
        ])
}

/// `peal webhook put`. The secret comes from a file, never from the command line, which other users can read.
struct WebhookPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Create or update a webhook. A disabled webhook is enabled again.",
        discussion: """
              peal webhook put main --url https://example.com/peal --kind events \\
                --authentication signature --secret-file whsec.txt
            """)

    @OptionGroup var name: WebhookResource.Name

    @Option(help: "URL of the receiver (https).")
    var url: String?

    @Option(help: ArgumentHelp("One of \(servedWebhookKinds.joined(separator: ", "))."))
    var kind: String?

    @Option(help: "How requests authenticate: basic, bearer, header, signature or secret.")
    var authentication: String?

    @Option(
        help: "File with the password, token, header value, signing key or secret; - for standard input.",
        completion: .file())
    var secretFile: String?

    @Option(help: "User name for basic.")
    var username: String?

    @Option(help: "Header name for header.")
    var header: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments)
        options.show(try await options.client().send(.put, path, body: try document()))
    }

    private func document() throws(CommandFailure) -> JSON {
        let secretName = ["basic": "password", "bearer": "token", "header": "value"][authentication ?? ""] ?? "secret"
        let parts: JSON? = .filled([
            ("type", .text(authentication)), ("username", .text(username)), ("name", .text(header)),
            (secretName, .text(try secretFile.map(InputFile.secret))),
        ])
        return try body.body(
            [("url", .text(url)), ("kind", .text(kind)), ("authentication", parts)], merging: ["authentication"])
    }
}

/// `peal webhook test`.
struct WebhookTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Send a test event to a webhook. `deliveries` shows what became of it.")

    @OptionGroup var name: WebhookResource.Name

    @Option(help: "Idempotency key: repeated requests with the same key send only one event.")
    var idempotencyKey: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments + ["test"])
        options.show(
            try await options.client().send(.post, path, body: .empty, idempotencyKey: idempotencyKey))
    }
}

/// `peal webhook deliveries`.
struct WebhookDeliveriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries", abstract: "List the requests to a webhook, newest first.")
    private static let columns = [
        "id", "type", "state", "items", "attempts", "last_status", "last_error", "next_attempt_at", "ended_at",
    ]

    @OptionGroup var name: WebhookResource.Name
    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments + ["deliveries"])
        options.show(try await options.client().list(path, limit: list.givenLimit), columns: Self.columns)
    }
}

/// `peal webhook retry`.
struct WebhookRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry", abstract: "Retry a failed delivery for another day, or a pending one immediately.")

    @OptionGroup var name: WebhookResource.Name

    @Argument(help: "Id of the delivery.")
    var id: String

    @Option(help: "Idempotency key: repeated requests with the same key cause only one retry.")
    var idempotencyKey: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments + ["deliveries", id, "retry"])
        options.show(
            try await options.client().send(.post, path, body: .empty, idempotencyKey: idempotencyKey))
    }
}

/// The webhooks of an app.
enum WebhookResource: ListedResource, ShownResource, DeletedResource {
    static let listAbstract = "List webhooks, without their secrets."
    static let columns = ["name", "kind", "state", "url", "authentication.type"]
    static let showAbstract = "Show a webhook."
    static let deleteAbstract = "Delete a webhook and its pending deliveries."

    static func deleted(_ name: Name) -> String { "Webhook \(name.name) deleted." }

    struct Filter: ResourceFilter {
        func path(in app: AppOptions) throws(CommandFailure) -> APIPath { try app.path(["webhooks"]) }
    }

    struct Name: ResourceName {
        @Argument(help: "Name of the webhook.")
        var name: String

        var segments: [String] { ["webhooks", name] }
    }
}
