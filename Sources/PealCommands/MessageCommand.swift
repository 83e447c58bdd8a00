internal import ArgumentParser
internal import PealCore

/// `peal message`: sends messages and follows their progress.
struct MessageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message", abstract: "Send, test, validate, follow, change, pause and cancel messages.",
        subcommands: [
            MessageSendCommand.self, MessageTestCommand.self, MessageValidateCommand.self,
            ShowCommand<MessageResource>.self, ListCommand<MessageResource>.self, MessageWatchCommand.self,
            MessageUpdateCommand.self, MessageActionCommand<CancelAction>.self,
            MessageActionCommand<PauseAction>.self, MessageActionCommand<ResumeAction>.self,
            MessageExplainCommand.self,
        ])
}

/// `peal message send`.
struct MessageSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send", abstract: "Send a message.",
        discussion: """
              peal message send --topic news --title Hello --title-in de=Servus \\
                --body 'Hello from Peal.'

            Above 1,000 devices (--confirm-above) it asks for confirmation; without a terminal, give --yes, or --count \
            with the number. Options for the audience and the schedule replace those of --file.
            """)

    @OptionGroup var draft: DraftOptions

    @Option(help: "Idempotency key: repeated requests with the same key send only one message.")
    var idempotencyKey: String?

    @Flag(help: "Follow the message until it has ended.")
    var watch = false

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let sender = try MessageSender(app, options)
        let body = try draft.document()
        try await confirmation.confirm(body, sender)
        // With --json, a command prints one document: the end of the message, or the answer if the end stays unknown.
        let answer = try await sender.send(body, idempotencyKey: idempotencyKey, isQuiet: watch && options.json)
        guard watch, let answer, let id = answer["id"]?.stringValue else { return }
        let following = MessageWatch(client: sender.client, app: sender.app, id: id, options: options)
        try await following.run(otherwise: options.json ? answer : nil)
    }
}

/// `peal message test`: the same message to a few devices, outside campaigns and statistics.
struct MessageTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Send a test to named devices and users, outside campaigns and statistics.",
        discussion: "  peal message test --user ann --file message.json")

    @OptionGroup var draft: DraftOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let sender = try MessageSender(app, options)
        _ = try await sender.send(try draft.document([("test", true)]), idempotencyKey: nil)
    }
}

/// `peal message update`.
struct MessageUpdateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change a message that is still scheduled, or the rate of one that is being sent.",
        discussion: """
            Options for content and delivery change only what they name, such as --title 'Hello again' --ttl 600. The \
            audience, the schedule and each part in --file are replaced as a whole.
            """)

    @OptionGroup var name: MessageResource.Name
    @OptionGroup var draft: DraftOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let sender = try MessageSender(app, options)
        let (path, given) = (try app.path(name.segments), try draft.document())
        guard let parts = given.objectValue, !parts.isEmpty else {
            throw CommandFailure.usage("nothing to change; give at least one option, such as --title")
        }
        guard parts["campaign_id"] == nil else {
            throw CommandFailure.usage("the campaign of a message cannot be changed")
        }
        let isPartial = draft.body.file == nil && (parts["content"] ?? parts["options"]) != nil
        let audience = options.dryRun ? nil : parts["audience"]
        var change = parts
        if isPartial || audience != nil {
            let message = try await sender.client.send(.get, path)
            var whole = message["request"]?.objectValue ?? .init()
            // While a message is being sent, its rate alone can be changed.
            let isRate = parts.names == ["options"] && parts["options"]?.objectValue?.names == ["rate_per_second"]
            if isPartial, !isRate || message["state"] == "scheduled" {
                change["content"] = try draft.content.document(over: whole["content"])
                change = MessageChange(whole).change(change)
            }
            if let audience {
                whole["audience"] = audience
                for name in ["schedule", "method", "test"] { whole[name] = nil }
                try await confirmation.confirm(.object(whole), sender)
            }
        }
        options.show(try await sender.client.send(.patch, path, body: .object(change)))
    }
}

/// What options change in a message, on the server or in a file. The server replaces whole parts, so the members that
/// stay must be sent again.
struct MessageChange {
    private let present: JSON.Members

    init(_ present: JSON.Members) { self.present = present }

    /// - Parameter given: the parts with only the members that the options name.
    func change(_ given: JSON.Members) -> JSON.Members {
        var change = given
        if let content = given["content"]?.objectValue { change["content"] = .object(self.content(content)) }
        if let options = given["options"]?.objectValue { change["options"] = .object(self.options(options)) }
        return change
    }

    private func content(_ given: JSON.Members) -> JSON.Members {
        var content = present["content"]?.objectValue ?? .init()
        for (name, value) in given.pairs {
            guard ["title", "subtitle", "body"].contains(name), let texts = value.objectValue else {
                content[name] = value
                continue
            }
            // Texts for locales are added to those that are there; a plain text is that of the default locale.
            var all = content[name]?.objectValue ?? .init()
            if let plain = content[name]?.stringValue {
                let locale = given["default_locale"] ?? content["default_locale"]
                all[locale?.stringValue ?? "en"] = .string(plain)
            }
            for (locale, text) in texts.pairs { all[locale] = text }
            content[name] = .object(all)
        }
        return content
    }

    private func options(_ given: JSON.Members) -> JSON.Members {
        var options = present["options"]?.objectValue ?? .init()
        let ends = ["ttl_seconds", "expires_at"]
        if ends.contains(where: { given[$0] != nil }) {
            for end in ends { options[end] = nil }
        }
        for (name, value) in given.pairs { options[name] = value }
        return options
    }
}

/// `peal message watch`.
struct MessageWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Follow a message until it has ended.",
        discussion: "Exit code 0 if it was sent, 1 if it was cancelled, expired or failed.")

    @OptionGroup var name: MessageResource.Name
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await MessageWatch(
            client: try options.client(), app: try app.id(), id: name.id, options: options
        ).run()
    }
}

/// `peal message validate`.
struct MessageValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a message without sending it: count its audience and show the requests to the push networks.",
        discussion: "Exit code 1 if the message is not valid.")

    @OptionGroup var draft: DraftOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let sender = try MessageSender(app, options)
        try await sender.check(try draft.document())
    }
}

/// `peal message explain`: the deliveries of a message to one device, user or address.
struct MessageExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Show what happened to a message for one device.",
        aliases: ["deliveries"])

    @OptionGroup var name: MessageResource.Name

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
        guard [device, user, address].count(where: { $0 != nil }) == 1 else {
            throw CommandFailure.usage("give exactly one of --device, --user and --address")
        }
        let path = try app.path(name.segments + ["deliveries"]).adding("device", device).adding("user", user)
            .adding("address", address)
        options.show(
            try await options.client().list(path, limit: list.givenLimit), columns: ["at", "device", "event", "detail"])
    }
}

/// A command that changes the state of a message.
protocol MessageAction {
    /// Its name on the command line and at the end of the path.
    static var name: String { get }
    static var abstract: String { get }
}

/// `peal message pause`.
enum PauseAction: MessageAction {
    static let name = "pause"
    static let abstract = "Pause a message until it is resumed."
}

/// `peal message resume`.
enum ResumeAction: MessageAction {
    static let name = "resume"
    static let abstract = "Resume a paused message."
}

/// `peal message cancel`.
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
    static let columns = [
        "id", "state", "title", "audience_summary", "campaign_id", "created_at", "start_at", "counts.accepted",
    ]
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

        @Option(help: "Only messages accepted at this time (RFC 3339) or later.")
        var from: String?

        @Option(help: "Only messages accepted before this time (RFC 3339).")
        var to: String?

        @Option(help: "Only messages with this in title or text.")
        var text: String?

        func path(in app: AppOptions) throws(CommandFailure) -> APIPath {
            try app.path(["messages"]).adding("state", state).adding("campaign_id", campaign)
                .adding("dialect", dialect).adding("from", from).adding("to", to).adding("text", text)
        }
    }

    struct Name: ResourceName {
        @Argument(help: "Id of the message.")
        var id: String

        var segments: [String] { ["messages", id] }
    }
}

/// `peal schedule`: the messages that have not started yet.
struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule", abstract: "List, show, change and cancel messages that have not started.",
        subcommands: [
            ListCommand<ScheduleResource>.self, ShowCommand<ScheduleResource>.self, MessageUpdateCommand.self,
            MessageActionCommand<CancelAction>.self,
        ])
}

/// The scheduled messages of an app.
enum ScheduleResource: ListedResource, ShownResource {
    static let listAbstract = "List scheduled messages, newest first."
    static let columns = ["id", "title", "audience_summary", "campaign_id", "start_at", "created_at"]
    static let showAbstract = "Show a message and what it will send."

    struct Filter: ResourceFilter {
        @Option(help: "Only messages of this campaign.")
        var campaign: String?

        func path(in app: AppOptions) throws(CommandFailure) -> APIPath {
            try app.path(["messages"]).adding("state", Message.State.scheduled.name).adding("campaign_id", campaign)
        }
    }

    typealias Name = MessageResource.Name
}
