internal import ArgumentParser
internal import PealCore

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
