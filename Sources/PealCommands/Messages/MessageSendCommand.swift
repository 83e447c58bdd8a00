internal import ArgumentParser

/// `peal message send`.
struct MessageSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a message.",
        discussion: "  peal message send --topic news --title 'Hello' --body 'Peal speaks.'")

    @OptionGroup var draft: DraftOptions

    @Option(help: "Make this POST repeatable: the same key sends once.")
    var idempotencyKey: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages")
        let client = try options.client()
        options.show(
            try await client.send(.post, path, body: try draft.document(), idempotencyKey: idempotencyKey))
    }
}
