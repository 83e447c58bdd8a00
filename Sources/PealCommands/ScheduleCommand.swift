internal import ArgumentParser
internal import PealCore

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
