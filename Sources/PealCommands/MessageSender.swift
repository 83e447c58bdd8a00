internal import ArgumentParser
internal import PealCore

/// Sends messages for the commands, and counts the devices that they would reach.
struct MessageSender {
    let client: APIClient
    let app: String
    let options: ClientOptions

    init(_ app: AppOptions, _ options: ClientOptions) throws(CommandFailure) {
        client = try options.client()
        self.app = try app.id()
        self.options = options
    }

    /// Lets the server check the message, and prints the result. Sends nothing, and also runs in a dry run.
    /// - Throws: `refused` for an invalid message.
    func check(_ body: JSON) async throws(CommandFailure) {
        let checked = try await validate(body)
        if client.isDryRun { warnIfEmpty(checked["audience"]?["devices"]?.integerValue) }
        options.show(checked)
        guard checked["valid"] == false else { return }
        let error = checked["requests"]?.arrayValue?.lazy.compactMap { $0["error"] }.first
        throw .refused("the message is not valid: " + (error.flatMap(APIClient.text) ?? "see the requests"))
    }

    /// The server's report on the message. Sends nothing and also runs in a dry run.
    func validate(_ body: JSON) async throws(CommandFailure) -> JSON {
        try await client.send(
            .post, APIPath(["apps", app, "messages"], verb: ":validate"), body: body, isHarmless: true)
    }

    /// Sends the message and prints the answer; in a dry run, only validates it. Warns if no device gets it.
    /// - Parameter isQuiet: the caller prints the answer.
    /// - Returns: the answer; nil in a dry run.
    func send(
        _ body: JSON, idempotencyKey: String?, isQuiet: Bool = false
    ) async throws(CommandFailure) -> JSON? {
        guard !client.isDryRun else {
            try await check(body)
            return nil
        }
        guard body["audience"] != nil else {
            throw .usage("no audience: give --topic, --user, --device, --address, --where or --all")
        }
        let answer = try await client.send(
            .post, APIPath(["apps", app, "messages"]), body: body, idempotencyKey: idempotencyKey)
        warnIfEmpty(answer["audience_estimate"]?.integerValue)
        if !isQuiet { options.show(answer) }
        return answer
    }

    private func warnIfEmpty(_ devices: Int64?) {
        if devices == 0 { Surroundings.current.warn("the audience is empty: no device receives this message") }
    }
}

/// Protects against messages to more devices than intended.
struct ConfirmationOptions: ParsableArguments {
    @Flag(help: "Send without asking for confirmation, however many devices there are.")
    var yes = false

    @Option(help: "Send if the audience has exactly this number of devices.")
    var count: Int64?

    @Option(
        help: ArgumentHelp(
            "Ask when there are more devices than this. Default: PEAL_CONFIRM_ABOVE, or \(ConfirmationOptions.aboveDefault)."
        ))
    var confirmAbove: Int64?

    private static let aboveDefault: Int64 = 1000

    func validate() throws {
        guard !yes || count == nil else { throw ValidationError("give either --yes or --count") }
    }

    /// Counts the audience if it may be large, and asks for confirmation.
    /// - Throws: `usage` without confirmation.
    func confirm(_ body: JSON, _ sender: MessageSender) async throws(CommandFailure) {
        guard !yes, !sender.client.isDryRun else { return }
        let most = try mostWithoutConsent()
        guard count != nil || Self.mayBeLarge(body["audience"] ?? .null, most: most) else { return }
        let checked = try await sender.validate(body)
        guard let devices = checked["audience"]?["devices"]?.integerValue else { return }
        let shown = Spelling.counted(devices, "device")
        if let count {
            guard count == devices else { throw .usage("the audience has \(shown), not \(count)") }
            return
        }
        guard devices > most else { return }
        guard let answer = Surroundings.current.ask("The audience has \(shown). Type the number to send:") else {
            throw .usage("the audience has \(shown): add --yes, or --count \(devices)")
        }
        guard Int64(answer.filter { !$0.isWhitespace }) == devices else { throw .usage("not sent") }
    }

    private func mostWithoutConsent() throws(CommandFailure) -> Int64 {
        if let confirmAbove { return confirmAbove }
        guard let text = Surroundings.current.environment["PEAL_CONFIRM_ABOVE"] else {
            return Self.aboveDefault
        }
        guard let number = Int64(text), number >= 0 else { throw .usage("PEAL_CONFIRM_ABOVE must be a number") }
        return number
    }

    /// Short lists of devices, users and addresses need no count. Everything else may be large.
    private static func mayBeLarge(_ audience: JSON, most: Int64) -> Bool {
        guard let members = audience.objectValue else { return false }
        let lists: Set = ["devices", "users", "addresses"]
        let narrowing: Set = ["platforms", "not_topics", "interactive_only"]
        let named = lists.reduce(0) { $0 + (members[$1]?.arrayValue?.count ?? 0) }
        return named > most || members.names.contains { !lists.contains($0) && !narrowing.contains($0) }
    }
}

/// Follows a message. Its progress goes to standard error, because with `--json` a command prints one document.
struct MessageWatch {
    let client: APIClient
    let app: String
    let id: String
    let options: ClientOptions

    /// How often an interrupted stream is reopened before a new event arrives.
    private static let attemptsMax = 5

    /// Returns when the message was sent.
    /// - Parameter answer: printed if the end of the message stays unknown.
    /// - Throws: `refused` when it ended otherwise, `unreachable` when the server is gone.
    func run(otherwise answer: JSON? = nil) async throws(CommandFailure) {
        let end: JSON
        do throws(CommandFailure) {
            end = try await follow()
        } catch {
            if let answer { options.show(answer) }
            throw error
        }
        options.show(end)
        let state = end["state"]?.stringValue ?? ""
        guard state == "sent" else { throw .refused("the message was not sent: it is \(state)") }
    }

    /// The end of the message.
    private func follow() async throws(CommandFailure) -> JSON {
        let path = APIPath(["apps", app, "messages", id, "events"])
        var end: JSON?
        var attempts = 0
        while end == nil, attempts < Self.attemptsMax {
            attempts += 1
            try await client.events(path) { name, data in
                attempts = 0
                if name == "end" { end = data } else { show(data) }
                return end == nil
            }
        }
        guard let end else { throw .unreachable("the server keeps closing the message's progress stream") }
        return end
    }

    private func show(_ progress: JSON) {
        let counts = progress["counts"]?.objectValue?.pairs.filter { $1 != 0 && $0 != "pending" } ?? []
        let pending = progress["counts"]?["pending"]?.integerValue ?? 0
        let devices = progress["devices"]?.integerValue ?? 0
        let line = Progress.line(
            Int(devices.saturated(subtracting: pending)), of: Int(devices), "device",
            counts.map { "\($1.text) \($0)" }.joined(separator: ", "),
            rate: progress["rate"]?.doubleValue ?? 0)
        Surroundings.current.warn("\(progress["state"]?.stringValue ?? ""): \(line)")
    }
}
