internal import ArgumentParser
internal import PealCore

/// `peal topic`: the labels that devices subscribe to.
struct TopicCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic", abstract: "List, show, create and delete topics, and subscribe devices.",
        subcommands: [
            ListCommand<TopicResource>.self, ShowCommand<TopicResource>.self, TopicPutCommand.self,
            DeleteCommand<TopicResource>.self, SubscriptionCommand<Subscribe>.self,
            SubscriptionCommand<Unsubscribe>.self,
        ])
}

/// `peal topic put`.
struct TopicPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Create a topic, or change when it expires.")

    @OptionGroup var name: TopicResource.Name

    @Option(help: "Time (RFC 3339) when the topic expires: from then on it is not listed and cannot be targeted.")
    var expiresAt: String?

    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments)
        let document = try body.body([("expires_at", .text(expiresAt))])
        options.show(try await options.client().send(.put, path, body: document))
    }
}

/// A command that changes whether devices are in a topic.
protocol SubscriptionChange {
    static var name: String { get }
    static var abstract: String { get }
    static var method: APIClient.Method { get }
    static var done: String { get }
}

/// `peal topic subscribe`.
enum Subscribe: SubscriptionChange {
    static let name = "subscribe"
    static let abstract = "Subscribe devices to a topic, which is created if it does not exist."
    static let method = APIClient.Method.put
    static let done = "subscribed"
}

/// `peal topic unsubscribe`.
enum Unsubscribe: SubscriptionChange {
    static let name = "unsubscribe"
    static let abstract = "Remove devices from a topic."
    static let method = APIClient.Method.delete
    static let done = "unsubscribed"
}

/// `peal topic subscribe` and `unsubscribe`.
struct SubscriptionCommand<Change: SubscriptionChange>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: Change.name, abstract: Change.abstract)
    }

    @Argument(help: "Name of the topic.")
    var topic: String

    @Argument(help: "Ids of the devices.")
    var devices: [String]

    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let client = try options.client()
        for device in devices {
            _ = try await client.send(Change.method, try app.path(["devices", device, "topics", topic]))
        }
        options.showDone(
            options.json ? ["topic": .string(topic), "devices": .integer(devices.count)] : .empty,
            "\(Spelling.counted(devices.count, "device")) \(Change.done).")
    }
}

/// The topics of an app.
enum TopicResource: ListedResource, ShownResource, DeletedResource {
    static let listAbstract = "List topics and the number of devices subscribed to each."
    static let columns = ["name", "devices", "expires_at"]
    static let showAbstract = "Show a topic."
    static let deleteAbstract = "Delete a topic and its subscriptions."

    static func deleted(_ name: Name) -> String { "Topic \(name.name) deleted." }

    struct Filter: ResourceFilter {
        func path(in app: AppOptions) throws(CommandFailure) -> APIPath { try app.path(["topics"]) }
    }

    struct Name: ResourceName {
        @Argument(help: "Name of the topic.")
        var name: String

        var segments: [String] { ["topics", name] }
    }
}
