internal import ArgumentParser
internal import PealCore

/// `peal message`: sends, and what became of what was sent.
struct MessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message", abstract: "Send, validate, follow, pause and cancel messages.",
        subcommands: [
            MessageSendCommand.self, MessageValidateCommand.self, MessageShowCommand.self, MessageListCommand.self,
            MessageCancelCommand.self, MessagePauseCommand.self, MessageResumeCommand.self,
            MessageExplainCommand.self,
        ])
}

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

/// `peal message validate`.
struct MessageValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate", abstract: "Check a message, count its audience and show the provider requests.")

    @OptionGroup var draft: DraftOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = APIPath(["apps", try app.id(), "messages"], verb: ":validate")
        options.show(try await options.client().send(.post, path, body: try draft.document()))
    }
}

/// `peal message list`.
struct MessageListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List messages, newest first.")

    @Option(help: ArgumentHelp("Only those \(Message.State.allCases.map(\.name).joined(separator: ", "))."))
    var state: String?

    @Option(help: "Only those of this campaign.")
    var campaign: String?

    @Option(help: "Only those that came through this API.")
    var dialect: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages").adding("state", state).adding("campaign_id", campaign)
            .adding("dialect", dialect)
        options.show(
            try await options.client().list(path, limit: list.limit),
            columns: ["id", "state", "dialect", "campaign_id", "created_at", "start_at", "expires_at"])
    }
}

/// `peal message show`.
struct MessageShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a message: its state and what became of it, counted.")

    @Argument(help: "Id of the message.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id)
        options.show(try await options.client().send(.get, path))
    }
}

/// `peal message explain`: the trail of a message to one device, user or address.
struct MessageExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say what became of a message on its way to one device.",
        aliases: ["deliveries"])

    @Argument(help: "Id of the message.")
    var id: String

    @Option(help: "Id of the device.")
    var device: String?

    @Option(help: "The app's own id of the person.")
    var user: String?

    @Option(help: "An address, registered or not.")
    var address: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id, "deliveries").adding("device", device).adding("user", user)
            .adding("address", address)
        options.show(
            try await options.client().list(path, limit: list.limit), columns: ["at", "device", "event", "detail"])
    }
}

/// `peal message pause`.
struct MessagePauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "pause", abstract: "Hold a message where it stands.")

    @Argument(help: "Id of the message.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id, "pause")
        options.show(try await options.client().send(.post, path, body: .empty))
    }
}

/// `peal message resume`.
struct MessageResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "resume", abstract: "Let a paused message go on.")

    @Argument(help: "Id of the message.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id, "resume")
        options.show(try await options.client().send(.post, path, body: .empty))
    }
}

/// `peal message cancel`.
struct MessageCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel a message: nothing more is sent.")

    @Argument(help: "Id of the message.")
    var id: String

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path("messages", id, "cancel")
        options.show(try await options.client().send(.post, path, body: .empty))
    }
}
