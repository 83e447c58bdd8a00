internal import ArgumentParser
internal import PealCore

/// `peal segment`: the named conditions of an app.
struct SegmentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "segment", abstract: "List, show, create and delete segments.",
        subcommands: [
            ListCommand<SegmentResource>.self, ShowCommand<SegmentResource>.self, SegmentPutCommand.self,
            DeleteCommand<SegmentResource>.self,
        ])
}

/// `peal segment put`.
struct SegmentPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Create a segment, or replace its condition.",
        discussion: #"  peal segment put austria --where '{"time_zone":"Europe/Vienna"}'"#)

    @OptionGroup var name: SegmentResource.Name
    @OptionGroup var condition: ConditionOptions
    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = try app.path(name.segments)
        let document = try body.body([("where", try condition.document())])
        options.show(try await options.client().send(.put, path, body: document))
    }
}

/// The segments of an app.
enum SegmentResource: ListedResource, ShownResource, DeletedResource {
    static let listAbstract = "List segments and their conditions."
    static let columns = ["name", "where", "changed_at"]
    static let showAbstract = "Show a segment."
    static let deleteAbstract = "Delete a segment. Scheduled messages that refer to it will fail."

    static func deleted(_ name: Name) -> String { "Segment \(name.name) deleted." }

    struct Filter: ResourceFilter {
        func path(in app: AppOptions) throws(CommandFailure) -> APIPath { try app.path(["segments"]) }
    }

    struct Name: ResourceName {
        @Argument(help: "Name of the segment.")
        var name: String

        var segments: [String] { ["segments", name] }
    }
}

/// `peal audience`.
struct AudienceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audience", abstract: "Count the devices of an audience.",
        subcommands: [AudienceCountCommand.self])
}

/// `peal audience count`.
struct AudienceCountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count", abstract: "Count the devices of an audience exactly. No message is needed.",
        discussion: #"  peal audience count --where '{"app_version":{"gte":"2.1"}}'"#)

    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @OptionGroup var body: BodyOptions
    @OptionGroup var app: AppOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        let path = APIPath(["apps", try app.id()], verb: "/audience:count")
        let document = try body.body([("audience", try audience.document())])
        options.show(try await options.client().send(.post, path, body: document, isHarmless: true))
    }
}
