internal import ArgumentParser
internal import PealCore

/// `peal message`: sends messages, and follows them.
struct MessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message", abstract: "Send, validate, show, pause and cancel messages.",
        subcommands: [
            MessageSendCommand.self, MessageValidateCommand.self, ShowCommand<MessageResource>.self,
            ListCommand<MessageResource>.self, MessageActionCommand<CancelAction>.self,
            MessageActionCommand<PauseAction>.self, MessageActionCommand<ResumeAction>.self,
            MessageExplainCommand.self,
        ])
}

/// `peal message send`.
struct MessageSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a message.",
        discussion: "  peal message send --topic news --title 'Hello' --body 'Hello from Peal.'")

    @OptionGroup var draft: DraftOptions

    @Option(help: "Idempotency key: the server sends one message for it, however often you send it.")
    var idempotencyKey: String?

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(["messages"])
        let client = try options.client()
        options.show(
            try await client.send(.post, path, body: try draft.document(), idempotencyKey: idempotencyKey))
    }
}

/// `peal message validate`.
struct MessageValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a message without sending it: count its audience and show the requests to the push networks.")

    @OptionGroup var draft: DraftOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = APIPath(["apps", try app.id(), "messages"], verb: ":validate")
        options.show(try await options.client().send(.post, path, body: try draft.document()))
    }
}

/// `peal message explain`: the deliveries of a message to one device, user or address.
struct MessageExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Show what happened to a message for one device.",
        aliases: ["deliveries"])

    @Argument(help: "Id of the message.")
    var id: String

    @Option(help: "Id of the device.")
    var device: String?

    @Option(help: "The app's own id of the user.")
    var user: String?

    @Option(help: "An address, whether or not it is registered.")
    var address: String?

    @OptionGroup var list: ListOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(["messages", id, "deliveries"]).adding("device", device).adding("user", user)
            .adding("address", address)
        options.show(
            try await options.client().list(path, limit: list.limit), columns: ["at", "device", "event", "detail"])
    }
}

/// A command that changes the state of a message.
protocol MessageAction {
    /// Its name on the command line and at the end of the path.
    static var name: String { get }
    static var abstract: String { get }
}

enum PauseAction: MessageAction {
    static let name = "pause"
    static let abstract = "Pause a message until it is resumed."
}

enum ResumeAction: MessageAction {
    static let name = "resume"
    static let abstract = "Resume a paused message."
}

enum CancelAction: MessageAction {
    static let name = "cancel"
    static let abstract = "Cancel a message: nothing more is sent."
}

/// `peal message pause`, `resume` and `cancel`.
struct MessageActionCommand<Action: MessageAction>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: Action.name, abstract: Action.abstract)
    }

    @OptionGroup var name: MessageResource.Name
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments + [Action.name])
        options.show(try await options.client().send(.post, path, body: .empty))
    }
}

/// The messages of an app.
enum MessageResource: ListedResource, ShownResource {
    static let listAbstract = "List messages, newest first."
    static let columns = ["id", "state", "dialect", "campaign_id", "created_at", "start_at", "expires_at"]
    static let showAbstract = "Show a message, its state and its counts."

    struct Filter: ResourceFilter {
        @Option(
            help: ArgumentHelp(
                "Only messages in this state: \(Message.State.allCases.map(\.name).joined(separator: ", "))."))
        var state: String?

        @Option(help: "Only messages of this campaign.")
        var campaign: String?

        @Option(help: "Only messages sent through this API.")
        var dialect: String?

        func path(in app: AppOptions) throws(CommandFailure) -> APIPath {
            try app.path(["messages"]).adding("state", state).adding("campaign_id", campaign)
                .adding("dialect", dialect)
        }
    }

    struct Name: ResourceName {
        @Argument(help: "Id of the message.")
        var id: String

        var segments: [String] { ["messages", id] }
    }
}
