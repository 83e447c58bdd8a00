internal import ArgumentParser
internal import PealCore

/// A whole message, from a file, from options, or from both.
struct DraftOptions: ParsableArguments {
    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @OptionGroup(title: "Content") var content: ContentOptions
    @OptionGroup(title: "Delivery") var delivery: DeliveryOptions
    @OptionGroup var body: BodyOptions

    func document() throws(CommandFailure) -> JSON {
        try body.body([
            ("audience", try audience.document()), ("content", try content.document()),
            ("options", delivery.options), ("schedule", delivery.schedule),
            ("campaign_id", .text(delivery.campaignID)),
        ])
    }
}

/// Who a message is for.
struct AudienceOptions: ParsableArguments {
    @Flag(help: "Every device of the app.")
    var all = false

    @Option(name: .customLong("topic"), help: "Devices subscribed to this topic (repeatable).")
    var topics: [String] = []

    @Option(name: .customLong("user"), help: "Devices of this user (repeatable).")
    var users: [String] = []

    @Option(name: .customLong("device"), help: "Device with this id (repeatable).")
    var devices: [String] = []

    @Option(
        name: .customLong("address"),
        help: "An address that need not be registered (repeatable), as ios:DEVICETOKEN or ios:sandbox:DEVICETOKEN.")
    var addresses: [String] = []

    @Option(name: .customLong("platform"), help: "Only this platform (repeatable).")
    var platforms: [String] = []

    @Option(name: .customLong("not-topic"), help: "Nobody subscribed to this topic (repeatable).")
    var notTopics: [String] = []

    @Flag(help: "Only devices that can show interactive notifications.")
    var interactiveOnly = false

    func document() throws(CommandFailure) -> JSON? {
        var unregistered: [JSON] = []
        for text in addresses { unregistered.append(try Self.address(text)) }
        return .filled([
            ("all", .flag(all)), ("topics", .texts(topics)), ("users", .texts(users)), ("devices", .texts(devices)),
            ("addresses", unregistered.isEmpty ? nil : .array(unregistered)), ("platforms", .texts(platforms)),
            ("not_topics", .texts(notTopics)), ("interactive_only", .flag(interactiveOnly)),
        ])
    }

    /// `platform[:environment]:address`. A channel URI has colons of its own, so only known environments are cut off.
    static func address(_ text: String) throws(CommandFailure) -> JSON {
        guard let colon = text.firstIndex(of: ":") else {
            throw .usage("--address \(text): expected platform:address, as ios:DEVICETOKEN")
        }
        let platform = String(text[..<colon])
        var rest = text[text.index(after: colon)...]
        var environment: String?
        if let next = rest.firstIndex(of: ":"), Environment(alias: String(rest[..<next])) != nil {
            environment = String(rest[..<next])
            rest = rest[rest.index(after: next)...]
        }
        return .compact([
            ("platform", .string(platform)), ("environment", .text(environment)), ("address", .string(String(rest))),
        ])
    }
}

/// What a message says.
struct ContentOptions: ParsableArguments {
    @Option(help: "Title.")
    var title: String?

    @Option(help: "Second line of the title.")
    var subtitle: String?

    @Option(help: "Text.")
    var body: String?

    @Option(name: .customLong("image-url"), help: "https URL of an image.")
    var imageURL: String?

    @Option(help: "JSON object that the app receives beside the text.")
    var data: String?

    @Option(help: "Number on the app's icon; 0 removes it.")
    var badge: Int64?

    @Option(help: "Name of the sound.")
    var sound: String?

    @Option(name: .customLong("thread-id"), help: "Groups notifications on the device.")
    var threadID: String?

    @Option(help: "Category, which decides on the notification's buttons.")
    var category: String?

    func document() throws(CommandFailure) -> JSON? {
        .filled([
            ("title", .text(title)), ("subtitle", .text(subtitle)), ("body", .text(body)),
            ("image_url", .text(imageURL)), ("data", try dataObject()), ("badge", .whole(badge)),
            ("sound", .text(sound)), ("thread_id", .text(threadID)), ("category", .text(category)),
        ])
    }

    private func dataObject() throws(CommandFailure) -> JSON? {
        guard let data else { return nil }
        do {
            return try JSONParser.parse(data)
        } catch {
            throw .usage("--data: \(error)")
        }
    }
}

/// How and when a message is sent.
struct DeliveryOptions: ParsableArguments {
    @Option(help: "low, normal or high.")
    var priority: String?

    @Option(name: .customLong("ttl"), help: "Seconds that it is worth sending; 0 tries once.")
    var ttlSeconds: Int64?

    @Option(help: "RFC 3339 time after which it is not sent any more.")
    var expiresAt: String?

    @Option(help: "Replaces an undelivered notification with the same key.")
    var collapseKey: String?

    @Flag(help: "Wakes the app without showing anything.")
    var background = false

    @Option(help: "production or sandbox: narrows the APNs devices.")
    var environment: String?

    @Option(help: "RFC 3339 time to send it at; at once otherwise.")
    var at: String?

    @Option(name: .customLong("campaign"), help: "The author's own id of the campaign.")
    var campaignID: String?

    var options: JSON? {
        .filled([
            ("priority", .text(priority)), ("ttl_seconds", .whole(ttlSeconds)), ("expires_at", .text(expiresAt)),
            ("collapse_key", .text(collapseKey)), ("background", .flag(background)),
            ("environment", .text(environment)),
        ])
    }

    var schedule: JSON? { .filled([("at", .text(at))]) }
}
